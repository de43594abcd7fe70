"""Overhead of the fetcher compared with plain httpx: ms per URL over loopback, 20 kB
pages, no host delay; and what the slot of a host takes in files and in Postgres.

python -m news_assets_tests.bench.fetch
"""

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.host_slots import FileSlots, HostSlots, PostgresSlots
from news_assets.clients.web.politeness import Politeness
from news_assets.ports.services import PageRequest
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.support.servers import has_postgres, postgres

URLS = 500
HOSTS = 4


def ms_per_url(work: Callable[[], object]) -> float:
    """Return the best of three rounds."""
    took = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return min(took) / URLS * 1000


def main() -> None:
    sites = [Site(f"127.0.1.{number + 1}") for number in range(HOSTS)]
    for site in sites:
        site.put("*", answer(b"x" * 20_000))
    urls = [f"{sites[number % HOSTS].url}/{number}" for number in range(URLS)]
    requests = [PageRequest(url) for url in urls]
    with (
        tempfile.TemporaryDirectory() as folder,
        httpx.Client(trust_env=False) as client,
        HttpFetcher(
            user_agent="bench",
            delay_s=0,
            state_dir=Path(folder),
            allow_private_hosts=("127.0.0.0/8",),
        ) as fetcher,
    ):
        plain = ms_per_url(lambda: [client.get(url) for url in urls])
        one = ms_per_url(lambda: [fetcher.fetch(request) for request in requests])
        many = ms_per_url(lambda: list(fetcher.fetch_all(requests)))
    for site in sites:
        site.close()
    for name, took in (("httpx", plain), ("fetch", one), ("fetch_all", many)):
        print(f"{name:10} {took:6.2f} ms per URL  {took / plain:5.2f} x httpx")
    print_slots(plain)


def print_slots(plain: float) -> None:
    """Print what a slot takes without its request, compared with a request of httpx."""
    with tempfile.TemporaryDirectory() as folder:
        print_slot("files", FileSlots(Path(folder) / "hosts"), plain)
        if not has_postgres():
            return
        with postgres(Path(folder) / "postgres") as server:
            print_slot("Postgres", PostgresSlots(server.url("hosts")), plain)


def print_slot(name: str, slots: HostSlots, plain: float) -> None:
    stopping = threading.Event()

    def take_slots() -> None:
        for number in range(URLS):
            with politeness.slot(f"{number % HOSTS}.example", stopping, url="x"):
                pass

    with closing(Politeness(slots, 0.0)) as politeness:
        took = ms_per_url(take_slots)
    print(f"{name:10} {took:6.2f} ms per slot {took / plain:5.2f} x httpx")


if __name__ == "__main__":
    main()
