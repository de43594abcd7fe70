"""Which runs start side by side with the shipped configuration of one machine."""

from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._daemon import sensor

from news_assets.defs.active_runs import MODEL_TAGS, poll_tags
from news_assets.defs.instance.run_coordinator import ROUND_S, ImmediateRunCoordinator
from news_assets.pipeline.schedule import Speed
from news_assets_tests.defs.instance.test_stock_classes import ROOT, loaded


def run_with(tags: dict[str, str], status: dg.DagsterRunStatus) -> dg.DagsterRun:
    origin = RemoteJobOrigin(
        RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("d"), "d"), "d"
    )
    return dg.DagsterRun(
        job_name="d", status=status, tags=tags, remote_job_origin=origin
    )


def poll(
    speed: Speed, status: dg.DagsterRunStatus = dg.DagsterRunStatus.NOT_STARTED
) -> dg.DagsterRun:
    return run_with(poll_tags("d", speed), status)


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/local/dagster.yaml"])
def test_a_poll_starts_beside_a_slow_one_and_a_second_slow_one_waits(
    file: str, tmp_path: Path
) -> None:
    with loaded(yaml.safe_load((ROOT / file).read_text()), tmp_path) as instance:
        coordinator = instance.run_coordinator
        assert isinstance(coordinator, ImmediateRunCoordinator)
        instance.add_run(poll("slow", dg.DagsterRunStatus.STARTED))
        assert (
            coordinator._is_free(poll("quick")),
            coordinator._is_free(poll("slow")),
        ) == (True, False)


def of_models(status: dg.DagsterRunStatus) -> dg.DagsterRun:
    return run_with({"news/desk": "d", **MODEL_TAGS}, status)


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/local/dagster.yaml"])
def test_a_queued_run_that_waits_for_a_language_model_delays_no_other(
    file: str, tmp_path: Path
) -> None:
    with loaded(yaml.safe_load((ROOT / file).read_text()), tmp_path) as instance:
        coordinator = instance.run_coordinator
        assert isinstance(coordinator, ImmediateRunCoordinator)
        instance.add_run(of_models(dg.DagsterRunStatus.STARTED))
        instance.add_run(of_models(dg.DagsterRunStatus.QUEUED))
        assert coordinator._is_free(poll("quick"))


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/local/dagster.yaml"])
def test_a_slow_poll_and_a_language_model_never_hold_both_runs(
    file: str, tmp_path: Path
) -> None:
    with loaded(yaml.safe_load((ROOT / file).read_text()), tmp_path) as instance:
        coordinator = instance.run_coordinator
        assert isinstance(coordinator, ImmediateRunCoordinator)
        instance.add_run(of_models(dg.DagsterRunStatus.STARTED))
        assert (
            coordinator._is_free(poll("quick")),
            coordinator._is_free(poll("slow")),
        ) == (True, False)


@pytest.mark.parametrize("file", ["dagster.yaml", "deploy/local/dagster.yaml"])
def test_a_run_waits_for_a_queued_one_that_may_start(file: str, tmp_path: Path) -> None:
    with loaded(yaml.safe_load((ROOT / file).read_text()), tmp_path) as instance:
        coordinator = instance.run_coordinator
        assert isinstance(coordinator, ImmediateRunCoordinator)
        instance.add_run(poll("quick", dg.DagsterRunStatus.QUEUED))
        assert not coordinator._is_free(poll("quick"))


@pytest.mark.parametrize(
    "file",
    ["dagster.yaml", "deploy/local/dagster.yaml", "deploy/scaleout/dagster.yaml"],
)
def test_the_daemon_of_each_profile_starts_a_round_of_sensors_each_two_seconds(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_MAX_RUNS", "2")
    # fails where Dagster has renamed it
    monkeypatch.setattr(sensor, "MIN_INTERVAL_LOOP_TIME", 5)
    config = {
        "run_coordinator": yaml.safe_load((ROOT / file).read_text())["run_coordinator"]
    }
    with loaded(config, tmp_path) as instance:
        assert isinstance(instance.run_coordinator, ImmediateRunCoordinator)
    assert sensor.MIN_INTERVAL_LOOP_TIME == ROUND_S == 2
