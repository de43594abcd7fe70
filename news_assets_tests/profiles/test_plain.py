"""The plain profile, `dagster dev`, as real processes: runs, cancellation, a killed
run.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets_tests.profiles.conftest import home_in
from news_assets_tests.support import profiles
from news_assets_tests.support.profiles import Profile, Site

pytestmark = [
    pytest.mark.slow,  # starts the profile
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def plain(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path
) -> Iterator[tuple[Profile, Site]]:
    """The running profile and the site that its desk polls, with all sensors stopped."""
    home = home_in(tmp_path_factory.mktemp("plain"), models_dir)
    with Site(home) as site, profiles.plain(home, site.env) as profile:
        profile.silence()
        yield profile, site


def test_a_run_is_executed(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    site.is_open.set()
    profile.succeed(profile.launch("sample_poll", partition="prefeitura"))


def waiting_run(profile: Profile, site: Site) -> str:
    """Start a run that waits for the site and return its id."""
    site.is_open.clear()
    return profile.wait(
        profile.launch("sample_poll", partition="prefeitura"), until_started=True
    ).run_id


def test_a_process_executes_one_run_after_another(
    plain: tuple[Profile, Site],
) -> None:
    profile, site = plain
    site.is_open.set()
    used = set()
    for _ in range(2):
        run_id = profile.launch("sample_poll", partition="prefeitura")
        used.add(profile.pid_of_worker(profile.succeed(run_id)))
    assert len(used) == 1


def test_two_runs_at_once_have_two_processes(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    first = waiting_run(profile, site)
    second = profile.launch("sample_poll", partition="gazeta")
    profile.wait(second, until_started=True)
    assert len(set(profile.worker_pids())) == 2
    site.is_open.set()
    profile.succeed(first)
    profile.succeed(second)


def test_a_run_whose_process_was_killed_fails(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    run_id = waiting_run(profile, site)
    profile.kill_worker()
    site.is_open.set()
    assert profile.wait(run_id).status.value == "FAILURE"


def test_a_canceled_run_stops(plain: tuple[Profile, Site]) -> None:
    profile, site = plain
    run_id = waiting_run(profile, site)
    profile.graphql(
        "mutation($id: String!) { terminateRun(runId: $id) { __typename } }", id=run_id
    )
    assert profile.wait(run_id).status.value == "CANCELED"
    site.is_open.set()
    profile.succeed(profile.launch("sample_poll", partition="prefeitura"))


def test_each_run_reads_the_desk_file_again(plain: tuple[Profile, Site]) -> None:
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
