"""The synthetic desk on a running profile, for benchmarks of the running graph."""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType

from dagster import RunsFilter
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets_tests.support import profiles
from news_assets_tests.support.profiles import Profile
from news_assets_tests.support.synthetic_desk import ENV, SyntheticSite, desk_file

ALL = ("plain", "local", "scaleout")


@dataclass(frozen=True)
class RunningDesk:
    """A profile that runs the synthetic desk, with the desk's site, lake and index."""

    profile: Profile
    site: SyntheticSite
    desk: Desk
    home: Path
    lake: Lake
    index: SqliteSearchIndex

    @property
    def today(self) -> date:
        return datetime.now(UTC).date()

    def is_current(self) -> bool:
        """Return whether the backlog is empty."""
        now = datetime.now(UTC)
        return (
            pending_entries(self.lake, self.desk, now).is_empty()
            and stale_rows(self.lake, self.desk, now).is_empty()
        )

    def wait_until_current(self, timeout_s: float = 1800.0) -> float:
        """Wait until the backlog is empty and return how long that took, in seconds."""
        started = time.perf_counter()
        while not self.is_current():
            assert time.perf_counter() - started < timeout_s, (
                f"not current after {timeout_s} s"
            )
            time.sleep(2)  # each query takes 0.3 s of a core from what is measured
        return time.perf_counter() - started

    def wait_until_quiet(self) -> None:
        """Wait until no run is queued or in progress."""
        with self.profile.instance as instance:
            while instance.get_runs_count(RunsFilter(statuses=NOT_FINISHED_STATUSES)):
                time.sleep(0.1)


@contextmanager
def profile_with_desk(
    name: str,
    models_dir: Path,
    first_day: date,
    agencies: int = 160,
    every_minutes: int | None = 15,
    env: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[RunningDesk]:
    """Run a profile over the synthetic desk with the default sensors and these
    settings; SIGTERM stops everything.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with (
        tempfile.TemporaryDirectory() as folder,
        SyntheticSite(agencies=agencies) as site,
    ):
        home = Path(folder)
        (home / ".news").mkdir()
        (home / ".news" / "models").symlink_to(models_dir)
        file = desk_file(home, first_day, site.base, agencies, every_minutes)
        (desk,) = load_desks([str(file)], KINDS)
        with getattr(profiles, name)(
            home, {**ENV, **env, "NEWS_DESKS": str(file)}
        ) as profile:
            catalog = profile.env.get("NEWS_CATALOG") or str(
                home / ".news" / "catalog.sqlite"
            )
            with (
                Lake.open(catalog, home / ".news" / "data") as lake,
                SqliteSearchIndex.open(home / ".news" / "search.sqlite") as index,
            ):
                yield RunningDesk(profile, site, desk, home, lake, index)


@contextmanager
def exported_model() -> Iterator[Path]:
    """Export the default model once for several profiles."""
    with tempfile.TemporaryDirectory() as models:
        OnnxEmbedder.open(Settings.read().embedding_model, Path(models), 1)
        yield Path(models)
