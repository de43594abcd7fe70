"""Slots that machines share in Postgres: sessions, clocks, killed processes, and a
server that restarts.
"""

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import psycopg2
import pytest

from news_assets.clients.factory import open_ports
from news_assets.clients.web.host_slots import FileSlots, HostTimes, PostgresSlots
from news_assets.clients.web.politeness import Politeness, RetryAfterError
from news_assets.records.reading import Page
from news_assets.settings import Settings
from news_assets_tests.clients.web.conftest import (
    Site,
    answer,
    requests,
    shortest_pause,
)
from news_assets_tests.support import servers
from news_assets_tests.support.servers import Postgres
from news_assets_tests.support.waiting import HANG_S, wait_for

HOST, URL = "example.org", "https://example.org/1?a=b c"
OpenSlots = Callable[..., PostgresSlots]
_NUMBERS = count(1)


@pytest.fixture
def catalog(postgres: Postgres) -> str:
    """The address of an empty database."""
    return postgres.url(f"hosts_{os.getpid()}_{next(_NUMBERS)}")


@pytest.fixture
def open_slots(catalog: str) -> Iterator[OpenSlots]:
    """Sessions that share the database, each as if of another machine."""
    with ExitStack() as stack:

        def open_one(clock: Callable[[], float] = time.time) -> PostgresSlots:
            return stack.enter_context(closing(PostgresSlots(catalog, clock)))

        yield open_one


class PassingTime(threading.Event):
    """An event that records each wait, and lets its time pass in Postgres."""

    def __init__(self, catalog: str) -> None:
        super().__init__()
        self._catalog = catalog
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        with closing(psycopg2.connect(self._catalog)) as connection, connection:
            connection.cursor().execute(
                "UPDATE news_hosts SET responded_at = responded_at - make_interval(secs => %s)",
                [timeout],
            )
        return False


def waits_for_slot(slots: PostgresSlots, stopping: PassingTime) -> list[float]:
    """Take the host's slot with a pause of 1,000 s; return the waits for it."""
    with Politeness(slots, 1000.0).slot(HOST, stopping):
        return stopping.waits


def test_a_slot_belongs_to_one_session_which_leaves_the_next_its_times(
    open_slots: OpenSlots,
) -> None:
    first, second = open_slots(), open_slots()
    assert first.take(HOST, "") == HostTimes()
    assert second.take(HOST, "") is None
    now = time.time()
    first.release(HOST, HostTimes(now - 100, 7.0, now + 900, "served.example"))
    times = second.take(HOST, "")
    assert times is not None
    found = times.responded_at - now, times.retry_at - now
    assert found == (pytest.approx(-100, abs=50), pytest.approx(900, abs=50))
    assert (times.pause_s, times.served) == (7.0, "served.example")


def test_the_pause_is_kept_by_machines_whose_clocks_differ(
    catalog: str, open_slots: OpenSlots
) -> None:
    stopping = PassingTime(catalog)
    waits_for_slot(open_slots(), stopping)
    waits_for_slot(open_slots(lambda: time.time() - 86_400), stopping)
    waits_for_slot(open_slots(lambda: time.time() + 86_400), stopping)
    assert stopping.waits == [pytest.approx(950, abs=51)] * 2


def test_a_long_retry_after_holds_for_all_machines(open_slots: OpenSlots) -> None:
    with Politeness(open_slots(), 0.0).slot(HOST, threading.Event()) as slot:
        slot.retry_after_s = 3600.0
    with (
        pytest.raises(RetryAfterError),
        Politeness(open_slots(), 0.0).slot(HOST, threading.Event()),
    ):
        pass


def test_a_slot_is_free_as_soon_as_its_session_ends_and_its_pause_is_kept(
    catalog: str, open_slots: OpenSlots
) -> None:
    killed, other = open_slots(), open_slots()
    killed.take(HOST, URL)
    assert [one.url for one in other.requests_now()] == [URL]
    killed.close()
    wait_for(lambda: not other.requests_now(), pause_s=0.01)
    assert waits_for_slot(other, PassingTime(catalog)) == [pytest.approx(950, abs=51)]


def test_requests_of_all_machines_are_in_progress_until_they_end(
    open_slots: OpenSlots,
) -> None:
    slots = [open_slots() for _ in range(3)]
    for number, one in enumerate(slots):
        one.take(f"{number}.example", f"https://{number}.example/")
    slots[0].take("vendor/x/1", "")
    slots[1].release("1.example", HostTimes())
    assert [one.url for one in slots[2].requests_now()] == [
        "https://0.example/",
        "https://2.example/",
    ]


def test_a_lost_connection_is_replaced(catalog: str, open_slots: OpenSlots) -> None:
    slots = open_slots()
    slots.take(HOST, "")
    with closing(psycopg2.connect(catalog)) as connection, connection:
        connection.cursor().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    slots.release(HOST, HostTimes(time.time(), 7.0))
    times = open_slots().take(HOST, "")
    assert times is not None
    assert times.pause_s == 7.0


def test_a_request_that_ends_after_its_slots_were_closed_keeps_no_connection(
    catalog: str, open_slots: OpenSlots
) -> None:
    slots = open_slots()
    slots.take(HOST, "")
    slots.close()
    slots.release(HOST, HostTimes(time.time(), 7.0))
    with closing(psycopg2.connect(catalog)) as connection, connection.cursor() as rows:

        def others() -> int:
            rows.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return int(rows.fetchall()[0][0])

        connection.autocommit = True
        wait_for(lambda: others() == 0, pause_s=0.01)


def test_a_slot_that_cannot_be_noted_is_free_for_others(
    catalog: str, open_slots: OpenSlots, tmp_path: Path
) -> None:
    slots = open_slots()
    slots.take("other.example", "")
    with closing(psycopg2.connect(catalog)) as connection, connection:
        connection.cursor().execute("DROP TABLE news_hosts")
    with pytest.raises(ConnectionError):
        slots.take(HOST, "")
    assert open_slots().take(HOST, "") == HostTimes()

    files = FileSlots(tmp_path)
    files.take(HOST, URL)
    (noted,) = tmp_path.glob("*.request")
    files.release(HOST)
    noted.mkdir()
    with pytest.raises(IsADirectoryError):
        files.take(HOST, URL)
    assert FileSlots(tmp_path).take(HOST, "") == HostTimes()


def test_an_unavailable_server_is_an_error_without_the_password() -> None:
    slots = PostgresSlots(f"postgresql://me:secret@127.0.0.1:{servers.free_port()}/x")
    with pytest.raises(ConnectionError) as raised:
        slots.requests_now()
    assert "secret" not in str(raised.value)


# --- processes ------------------------------------------------------------------------


DELAY_S = 0.2


def _fetch(home: Path, catalog: str, urls: list[str]) -> None:
    """Fetch as a worker with this home and catalog does, by settings alone."""
    os.environ |= {
        "NEWS_HOME": str(home),
        "NEWS_CATALOG": catalog,
        "NEWS_HOST_DELAY_S": str(DELAY_S),
        "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
    }
    with open_ports(Settings.read(), ["fetcher"]) as ports:
        found = list(ports["fetcher"].fetch_all(requests(*urls)))
    assert [isinstance(page, Page) for _, page in found] == [True] * len(urls), found


class Machines:
    """Processes that share a Postgres and nothing else."""

    def __init__(self, folder: Path, catalog: str) -> None:
        self._folder, self._catalog = folder, catalog
        self._running: list[multiprocessing.context.SpawnProcess] = []

    def fetch(self, *urls: str) -> multiprocessing.context.SpawnProcess:
        home = self._folder / f"home{len(self._running)}"
        process = multiprocessing.get_context("spawn").Process(
            target=_fetch, args=(home, self._catalog, list(urls))
        )
        process.start()
        self._running.append(process)
        return process

    def exit_codes(self) -> list[int | None]:
        for process in self._running:
            process.join(HANG_S)
        return [process.exitcode for process in self._running]


def slowly(connection: socket.socket, _: object) -> None:
    time.sleep(0.05)
    connection.sendall(answer(b"x"))


def until_closed(connection: socket.socket, _: object) -> None:
    """Answer nothing, until the client has gone."""
    connection.recv(1)


@pytest.mark.slow  # three processes, one of them killed
def test_machines_keep_the_pause_of_a_host_together_and_a_killed_one_blocks_nobody(
    site: Site, tmp_path: Path, catalog: str
) -> None:
    site.put("*", slowly)
    hanging = site.put("/hanging", until_closed)
    machines = Machines(tmp_path, catalog)
    killed = machines.fetch(hanging)
    wait_for(lambda: "/hanging" in site.paths, pause_s=0.01)
    for name in ("a", "b"):
        machines.fetch(*(f"{site.url}/{name}{number}" for number in range(8)))
    time.sleep(2)  # both wait for the slot
    before = list(site.paths)
    killed.kill()
    assert machines.exit_codes() == [-9, 0, 0]
    assert before == ["/hanging"]
    assert (len(site.requests), site.most_at_once) == (17, 1)
    assert shortest_pause(site.every_request) >= DELAY_S


@pytest.mark.slow  # a Postgres server of its own, started twice, and two processes
def test_a_restart_of_postgres_fails_no_request_and_no_host_gets_two_at_once(
    site: Site, tmp_path: Path
) -> None:
    is_restarted = threading.Event()

    def during_restart(connection: socket.socket, _: object) -> None:
        is_restarted.wait(HANG_S)
        time.sleep(2)  # the other process is connected again
        connection.sendall(answer(b"x"))

    site.put("*", slowly)
    site.put("/a4", during_restart)
    with servers.postgres(tmp_path / "postgres") as server:
        machines = Machines(tmp_path, server.url("hosts"))
        for name in ("a", "b"):
            machines.fetch(*(f"{site.url}/{name}{number}" for number in range(8)))
        wait_for(lambda: "/a4" in site.paths, pause_s=0.01)
        server.stop()
        server.start()
        is_restarted.set()
        assert machines.exit_codes() == [0, 0]
    assert (len(site.requests), site.most_at_once) == (16, 1)
    assert shortest_pause(site.every_request) >= DELAY_S
