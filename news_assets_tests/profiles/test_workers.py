"""The profiles with workers, local and scale-out, as real processes: runs,
cancellation, killed workers.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from dagster import DagsterEventType

from news_assets.defs.instance.celery_launcher import EXECUTE_RUN, DeskRunLauncher
from news_assets.defs.instance.run_guards import WORKER_TAG
from news_assets_tests.profiles.conftest import home_in
from news_assets_tests.support import profiles, servers
from news_assets_tests.support.profiles import Profile, ScaleoutProfile, Site
from news_assets_tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.slow,  # starts the profile with its workers
    pytest.mark.timeout(600),
]

_MISSING = not (servers.has_rabbitmq() and servers.has_postgres())
_SCALEOUT = pytest.param(
    "scaleout",
    marks=[
        pytest.mark.slow,  # Postgres, RabbitMQ and seven processes
        pytest.mark.skipif(
            _MISSING,
            reason="rabbitmq-server is not installed: apt-get install rabbitmq-server",
        ),
    ],
)


@pytest.fixture(scope="module", params=["local", _SCALEOUT])
def place(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    models_dir: Path,
) -> Iterator[tuple[Profile, Site]]:
    """A running profile with workers and the site that its desk polls, with all sensors
    stopped.

    At the end, Ctrl-C has to stop every process and fail the run in progress.
    """
    home = home_in(tmp_path_factory.mktemp(request.param), models_dir)
    with (
        Site(home) as site,
        getattr(profiles, request.param)(home, site.env) as profile,
    ):
        site.is_open.catalog = profile.env.get("NEWS_CATALOG", "")
        profile.silence()
        yield profile, site
        site.is_open.clear()
        run = profile.wait(
            profile.launch("sample_poll", partition="prefeitura"), until_started=True
        )
        profile.stop()
        site.is_open.set()  # while there is a Postgres
        assert (profile.tree(), profile.run(run.run_id).status.value) == ([], "FAILURE")


def test_a_run_is_executed_by_a_running_worker_from_the_queue_of_its_desk(
    place: tuple[Profile, Site],
) -> None:
    profile, _ = place
    run = profile.succeed(profile.launch("sample_poll", partition="prefeitura"))
    assert run.tags["dagster-celery/queue"] == "sample"
    assert profile.pid_of_worker(run) in profile.worker_pids()


def test_a_run_starts_at_once_while_workers_are_free_and_otherwise_waits_in_the_queue(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    site.is_open.clear()
    # else one skips what the other polls
    config = {"ops": {"sample__feed_entries": {"config": {"ask_again": True}}}}
    runs = [profile.launch("sample_poll", "prefeitura", config) for _ in range(3)]
    for run_id in runs[:2]:
        profile.wait(run_id, until_started=True)
    assert profile.run(runs[2]).status.value == "QUEUED"
    site.is_open.set()
    for run_id in runs:
        profile.succeed(run_id)
    with profile.instance as instance:
        has_queued = [
            bool(instance.all_logs(run_id, of_type=DagsterEventType.RUN_ENQUEUED))
            for run_id in runs
        ]
    assert has_queued == [False, False, True]


def test_a_worker_that_executes_a_run_reserves_no_other(
    place: tuple[Profile, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile, site = place
    address = "DAGSTER_CELERY_BROKER_URL"
    monkeypatch.setenv(address, profile.env.get(address, ""))
    site.is_open.set()
    ended = profile.succeed(profile.launch("sample_poll", partition="prefeitura"))
    site.is_open.clear()
    run = profile.wait(
        profile.launch("sample_poll", partition="prefeitura"), until_started=True
    )
    ignored = f"Run {ended.run_id} has already begun or ended"
    with profile.instance as instance:
        launcher = instance.run_launcher
        assert isinstance(launcher, DeskRunLauncher)
        for _ in range(4):
            launcher.celery.send_task(EXECUTE_RUN, task_id=ended.run_id, queue="sample")
    wait_for(lambda: profile.log.read_text().count(ignored) == 4, log=profile.log)
    assert profile.run(run.run_id).status.value == "STARTED"
    site.is_open.set()
    profile.wait(run.run_id)


def test_the_run_of_a_killed_worker_fails_and_another_worker_executes_the_next(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    site.is_open.clear()
    run = profile.wait(
        profile.launch("sample_poll", partition="prefeitura"), until_started=True
    )
    killed = profile.kill_worker(profile.pid_of_worker(run))
    site.is_open.set()
    assert profile.wait(run.run_id).status.value == "FAILURE"
    following = profile.succeed(profile.launch("sample_poll", partition="prefeitura"))
    assert profile.pid_of_worker(following) != killed


def test_a_canceled_run_stops_and_the_workers_execute_the_next(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    site.is_open.clear()
    run = profile.wait(
        profile.launch("sample_poll", partition="prefeitura"), until_started=True
    )
    workers = set(profile.worker_pids())
    profile.graphql(
        "mutation($id: String!) { terminateRun(runId: $id) { __typename } }",
        id=run.run_id,
    )
    assert profile.wait(run.run_id).status.value == "CANCELED"
    site.is_open.set()
    profile.succeed(profile.launch("sample_poll", partition="prefeitura"))
    assert profile.pid_of_worker(run) in workers
    assert workers <= set(profile.worker_pids())


def test_a_run_continues_when_a_restarted_broker_sends_its_message_again(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    if not isinstance(profile, ScaleoutProfile):
        pytest.skip("the local profile has no broker to restart")
    site.is_open.clear()
    run = profile.wait(
        profile.launch("sample_poll", partition="prefeitura"), until_started=True
    )
    profile.rabbitmq.stop()
    profile.rabbitmq.start()
    # the second worker ignores it
    profile.wait_for_line(f"Run {run.run_id} has already begun")
    site.is_open.set()
    ended = profile.wait(run.run_id)
    with profile.instance as instance:
        failures = [
            entry.message
            for entry in instance.all_logs(run.run_id)
            if "stopped executing" in entry.message
        ]
    assert (ended.tags[WORKER_TAG], failures) == (run.tags[WORKER_TAG], [])


def test_a_run_that_is_launched_without_a_broker_waits_for_it(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    if not isinstance(profile, ScaleoutProfile):
        pytest.skip("the local profile has no broker to stop")
    site.is_open.set()
    profile.rabbitmq.stop()
    run_id = profile.launch("sample_poll", partition="prefeitura")
    profile.rabbitmq.start()
    profile.succeed(run_id)


def test_a_malformed_message_does_not_stop_the_workers(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    if isinstance(profile, ScaleoutProfile):
        pytest.skip("only the local profile keeps messages in files")
    messages = profile.home / ".news" / "queue" / "messages"
    ready = profile.ready_workers()
    (messages / "1_torn.sample.msg").write_bytes(b"")
    site.is_open.set()
    profile.succeed(profile.launch("sample_poll", partition="prefeitura"))
    # the worker that read it has ended, and another one takes its place
    wait_for(lambda: profile.ready_workers() > ready, log=profile.log)


# a worker that is idle a second after it is ready, as after a run
_IDLE_WORKER = """
import sys
from celery import signals
from celery.__main__ import main
from news_assets.defs.instance import worker

@signals.worker_ready.connect
def end_a_run(**_):
    worker._idle._idle_s = 1.0
    with worker._idle:
        pass

sys.argv[1:] = ["-A", worker.__name__, "worker", "--pool", "solo", "--queues", "none"]
main()
"""


def test_a_worker_without_work_restarts_itself_until_it_is_stopped(
    place: tuple[Profile, Site], tmp_path: Path
) -> None:
    profile, _ = place
    log = tmp_path / "worker.log"
    with log.open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "-c", _IDLE_WORKER],
            env=profile.env,
            cwd=profile.home,
            stdout=output,
            stderr=output,
        )
    try:
        wait_for(lambda: log.read_text().count(" ready.") >= 3, pause_s=0.1, log=log)
        assert worker.poll() is None
        assert psutil.Process(worker.pid).children() == []
        worker.terminate()
        assert worker.wait(timeout=60) == 0
    finally:
        worker.kill()
