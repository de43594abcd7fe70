"""Runs of the plain profile by this project's launcher and by Dagster's own: seconds
until a run starts and has ended.

    python -m news_assets_tests.bench.launchers [--runs 8]

Each run polls the sample site, with nothing else running.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from news_assets_tests.support.profiles import Profile, Site, plain

_LAUNCHERS = {"ProcessRunLauncher": False, "DefaultRunLauncher": True}


def seconds_of(profile: Profile) -> tuple[float, float]:
    """Return the seconds from the submission of a poll to its start and to its end."""
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
    assert run.status.value == "SUCCESS", run.status
    with profile.instance as instance:
        record = instance.get_run_record_by_id(run.run_id)
    assert record is not None
    assert record.start_time is not None
    assert record.end_time is not None
    submitted_at = record.create_timestamp.timestamp()
    return record.start_time - submitted_at, record.end_time - submitted_at


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Time the launchers of the plain profile."
    )
    parser.add_argument("--runs", type=int, default=8)
    runs: int = parser.parse_args().runs
    print(
        f"{'launcher':<20}{'start s':>10}{'end s':>10}   medians of {runs} runs, after one that is not counted"
    )
    medians = {}
    for name, is_stock in _LAUNCHERS.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            Site(Path(folder)) as site,
            plain(Path(folder), site.env, has_stock_launcher=is_stock) as profile,
        ):
            profile.silence()
            times = [seconds_of(profile) for _ in range(runs + 1)][1:]
        started, ended = (
            statistics.median(column) for column in zip(*times, strict=True)
        )
        medians[name] = ended
        print(f"{name:<20}{started:>10.2f}{ended:>10.2f}")
    print(
        f"ratio of the ends    {medians['ProcessRunLauncher'] / medians['DefaultRunLauncher']:.2f}"
    )


if __name__ == "__main__":
    main()
