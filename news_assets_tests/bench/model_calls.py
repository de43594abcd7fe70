"""Enriches 1,000 made articles by a simulated model in another process: calls, CPU per
call, and a second run.

The CPU is that of this process, held to one core. Of it, that of the local enricher,
which reads every text, and that of the libraries of pydantic-ai and the provider, which
send requests and read responses, are measured apart; the rest is our own. Run: python
-m news_assets_tests.bench.model_calls
"""

import multiprocessing
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from multiprocessing.connection import Connection

from news_assets.clients.llm.calls import ConcurrentModel
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.records.desks import EnrichRules
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import (
    enrich,
    enricher,
    honest,
    local,
    made,
    served,
)
from news_assets_tests.support.model_server import model_server

ARTICLES, IN_FLIGHT, LATENCY_S = 1000, 50, 1.0
LIMIT_MS = 5.0
NAME = "openai:gpt-5-mini"


def serve(parent: Connection) -> None:
    """Run the server; tell its environment, and then at each request the calls and the
    most of them in flight.
    """
    with model_server() as server:
        server.answer, server.latency_s = honest, LATENCY_S
        parent.send(server.environment)
        while parent.recv():
            parent.send((len(server.seen), server.most_in_flight))


def answered(
    model: ConcurrentModel, requests: list[ModelRequest]
) -> Iterator[ModelAnswer]:
    """Send the requests, as many at a time as the model takes, and yield the answers."""
    calls: deque[Future[ModelAnswer]] = deque()
    for request in requests:
        if not model.slots():
            yield calls.popleft().result()
        calls.append(model.send(request))
    for call in calls:
        yield call.result()


def main() -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(there,), daemon=True
    )
    process.start()
    os.environ.update(here.recv())
    os.sched_setaffinity(0, {0})
    articles = [made(number) for number in range(ARTICLES)]
    with (
        tempfile.TemporaryDirectory() as folder,
        Lake.open(f"{folder}/catalog.sqlite", f"{folder}/data") as lake,
    ):
        upsert(lake, articles)
        begun = time.process_time()
        for article in articles:
            local().enrich(article.title or "", article.text or "", article.language)
        local_s = time.process_time() - begun
        model = served(NAME, concurrency=IN_FLIGHT, timeout_s=60)
        by = enricher(model)
        # imports, connects
        model.send(by.request(made(-1), NAME, by.prompt, None, EnrichRules())).result()
        figures = []
        for _ in range(2):
            here.send(True)
            before = here.recv()[0]
            cpu, wall = time.process_time(), time.monotonic()
            enrich(lake, by, re_enrich=True)
            cpu, wall = time.process_time() - cpu, time.monotonic() - wall
            here.send(True)
            calls, most = here.recv()
            figures.append((calls - before, cpu, wall, most))
        requests = [
            by.request(article, NAME, by.prompt, None, EnrichRules())
            for article in articles
        ]
        begun = time.process_time()
        for _ in answered(model, requests):
            pass
        library_s = time.process_time() - begun
        model.close()
    here.send(False)
    (calls, cpu, wall, most), (again, *_) = figures
    own_ms = 1000 * (cpu - local_s - library_s) / max(calls, 1)
    print(
        f"{calls} calls in {wall:.1f} s, at most {most} in flight, on one core; each answer took {LATENCY_S:g} s"
    )
    print(
        f"CPU {1000 * cpu / calls:.2f} ms a call, of which {1000 * local_s / calls:.2f} ms the local enricher, "
        f"{1000 * library_s / calls:.2f} ms the libraries"
    )
    print(f"own overhead {own_ms:.2f} ms a call; limit {LIMIT_MS:g}")
    print(f"second run: {again} calls")
    sys.exit(0 if own_ms <= LIMIT_MS and again == 0 and most >= IN_FLIGHT else 1)


if __name__ == "__main__":
    main()
