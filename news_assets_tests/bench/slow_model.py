"""A language model that takes 60 s: when a new article is found, and when its row is
the model's.

    python -m news_assets_tests.bench.slow_model [plain local scaleout] [--articles 3]
    [--model-s 60]

Runs the shipped profiles over a synthetic site: without a language model, and with one
that answers as it should, each time after `--model-s` seconds. `found`: from the stored
entry until a search finds the article, while other articles wait for the model.
`enriched`: from the model's answer until the article's row is the model's. Exits 1
above a target.
"""

import argparse
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.records.derived import EnrichedArticle
from news_assets.settings import Settings
from news_assets_tests.bench.latency import TARGETS_S, Waiter, launch
from news_assets_tests.support.model_enrichment import honest
from news_assets_tests.support.model_server import ModelServer, model_server
from news_assets_tests.support.profile_with_desk import (
    RunningDesk,
    exported_model,
    profile_with_desk,
)
from news_assets_tests.support.waiting import wait_for

MODEL: Final = "openai:gpt-5-mini"
ENRICHED_S: Final = 2.0
AGENCIES: Final = 8


def times_of_answers(server: ModelServer) -> dict[str, float]:
    """Let the model answer as it should; return when, by the title of the article,
    epoch seconds.
    """
    times: dict[str, float] = {}

    def answer(text: str) -> dict[str, Any]:
        times[text.split("Title: ", 1)[1].partition("\n")[0]] = time.time()
        return honest(text)

    server.answer = answer
    return times


def found_after(running: RunningDesk, waiter: Waiter, agency: str) -> tuple[str, float]:
    """Publish an article; return its title, and the seconds from its stored entry until
    it is found.
    """
    published = running.site.publish(agency, running.today)
    launch(running, "feed_entries", agency)
    stored_at = waiter.stored(published.url)
    return published.title, waiter.found(published.title, published.words) - stored_at


def enriched_at(running: RunningDesk, title: str) -> float:
    """Wait until the row of an article is the model's; return the time of that, epoch
    seconds.
    """
    sql = "SELECT article_id FROM raw_articles WHERE title = ?"
    [article_id] = running.lake.query(sql, [title]).to_series()

    def is_of_model() -> bool:
        return [
            row.enricher
            for row in running.lake.read(EnrichedArticle, article_id=[article_id])
        ] == ["model"]

    wait_for(is_of_model, limit_s=600)
    return time.time()


def without_model(
    name: str, articles: int, models_dir: Path, embedder: OnnxEmbedder
) -> list[float]:
    """Return the seconds from stored entries until the articles are found where no
    language model is used.
    """
    with profile_with_desk(
        name, models_dir, datetime.now(UTC).date(), AGENCIES
    ) as running:
        running.profile.switch("due_sources", on=False)
        waiter = Waiter(running, embedder)
        found_after(running, waiter, "a000")  # warm-up
        return [
            found_after(running, waiter, f"a{1 + number:03}")[1]
            for number in range(articles)
        ]


def with_model(
    name: str, articles: int, model_s: float, models_dir: Path, embedder: OnnxEmbedder
) -> tuple[list[float], list[float]]:
    """Return the seconds until articles are found, and those from answers until rows
    are the model's.
    """
    with model_server() as server:
        times = times_of_answers(server)
        env = server.environment | {
            "NEWS_ENRICHER": MODEL,
            "NEWS_MODEL_TIMEOUT_S": f"{model_s + 60:g}",
        }
        with profile_with_desk(
            name, models_dir, datetime.now(UTC).date(), AGENCIES, env=env
        ) as running:
            running.profile.switch("due_sources", on=False)
            waiter = Waiter(running, embedder)
            warm_up, _ = found_after(running, waiter, "a000")
            enriched_at(running, warm_up)
            server.latency_s = model_s
            found = dict(
                found_after(running, waiter, f"a{1 + number:03}")
                for number in range(articles)
            )
            return list(found.values()), [
                enriched_at(running, title) - times[title] for title in found
            ]


def measure(name: str, articles: int, model_s: float, models_dir: Path) -> bool:
    """Print the times of one profile; return whether all are within their targets."""
    embedder = OnnxEmbedder.open(Settings.read().embedding_model, models_dir, 1)
    usual = without_model(name, articles, models_dir, embedder)
    show(name, "found without a model", usual)
    found, enriched = with_model(name, articles, model_s, models_dir, embedder)
    show(name, f"found with a model that takes {model_s:g} s", found)
    show(name, "enriched after the model's answer", enriched)
    return (
        statistics.median(found) <= TARGETS_S[name][1] and max(enriched) <= ENRICHED_S
    )


def show(name: str, what: str, seconds: list[float]) -> None:
    each = " ".join(f"{one:.2f}" for one in seconds)
    print(
        f"{name}: {what}: median {statistics.median(seconds):.2f} s [{each}]",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=["plain", "local"])
    parser.add_argument("--articles", type=int, default=3)
    parser.add_argument("--model-s", type=float, default=60.0)
    options = parser.parse_args()
    with exported_model() as models:
        sys.exit(
            not all(
                [
                    measure(name, options.articles, options.model_s, models)
                    for name in options.profiles
                ]
            )
        )


if __name__ == "__main__":
    main()
