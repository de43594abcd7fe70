"""Runs killed at random moments pay nothing twice but the calls in flight."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.lakes import SqliteCatalogs
from news_assets_tests.support.model_enrichment import honest, made, rows
from news_assets_tests.support.model_server import ModelServer, model_server
from news_assets_tests.support.waiting import HANG_S

IN_FLIGHT, COUNT = 4, 20


def started(
    place: tuple[str, str], server: ModelServer, timeout_s: int = 2
) -> "subprocess.Popen[bytes]":
    arguments = *place, str(IN_FLIGHT), str(timeout_s)
    command = [
        sys.executable,
        "-m",
        "news_assets_tests.support.enriching_process",
        *arguments,
    ]
    return subprocess.Popen(
        command, env=os.environ | server.environment, stderr=subprocess.PIPE
    )


def wait_for_calls(
    server: ModelServer, count: int, process: "subprocess.Popen[bytes]"
) -> None:
    while len(server.seen) < count and process.poll() is None:
        time.sleep(0.005)


@pytest.mark.slow  # processes, each of which imports everything
@pytest.mark.parametrize(
    ("kills", "count"), [(1, 20), pytest.param(3, 60, marks=pytest.mark.exhaustive)]
)
def test_killed_runs_repeat_at_most_the_calls_in_flight(
    tmp_path: Path, kills: int, count: int
) -> None:
    place = SqliteCatalogs(tmp_path).new(tmp_path / "lake")
    with Lake.open(*place) as lake:
        upsert(lake, [made(number) for number in range(count)])
    moments = random.Random(14)
    with model_server() as server:
        server.answer, server.latency_s = honest, 0.05
        for _ in range(kills):
            process = started(place, server)
            wait_for_calls(server, len(server.seen) + moments.randint(2, 15), process)
            time.sleep(moments.random() * 0.3)
            process.kill()
            process.communicate()
        last = started(place, server)
        assert last.wait(HANG_S) == 0, last.communicate()[1].decode()
        last.communicate()
        calls = server.calls

    with Lake.open(*place) as lake:
        assert len(calls) == count
        assert sum(calls.values()) - count <= kills * IN_FLIGHT
        assert {row.enricher for row in rows(lake).values()} == {"model"}
        of_killed = [call for call in lake.read(ModelCall) if call.outcome == "sent"]
        assert len({call.input_hash for call in lake.read(ModelCall)}) == count
        assert len(lake.read(ModelCall)) == count + len(of_killed)
        assert len(of_killed) <= kills * IN_FLIGHT


@pytest.mark.slow  # two processes, each of which imports everything
# test_direct_requests.py waits for the claim of another run, and
# store/test_write_lock.py has processes that write the same rows
@pytest.mark.exhaustive
def test_processes_at_the_same_time_send_each_input_once(tmp_path: Path) -> None:
    place = SqliteCatalogs(tmp_path).new(tmp_path / "lake")
    with Lake.open(*place) as lake:
        upsert(lake, [made(number) for number in range(COUNT)])
    with model_server() as server:
        server.answer, server.latency_s = honest, 0.3
        running = [started(place, server, timeout_s=60) for _ in range(2)]
        for process in running:
            assert process.wait(HANG_S) == 0, process.communicate()[1].decode()
            process.communicate()
        calls = server.calls

    with Lake.open(*place) as lake:
        assert (len(calls), calls.total()) == (COUNT, COUNT)
        assert {row.enricher for row in rows(lake).values()} == {"model"}
        assert {call.outcome for call in lake.read(ModelCall)} == {"ok"}
