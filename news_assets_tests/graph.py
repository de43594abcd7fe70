"""The graph run in this process: definitions on a folder of their own, polls, and range runs."""

from collections.abc import Collection
from datetime import date
from pathlib import Path

import dagster as dg

from news_assets.definitions import build_definitions
from news_assets.records import Desk
from news_assets.settings import Settings
from news_assets.store.lake import Lake

_RANGE_START, _RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


class Graph:
    """One desk's graph over a lake and an index below `home`."""

    def __init__(self, desk: Desk, home: Path, models_dir: Path, instance: dg.DagsterInstance, **settings: str) -> None:
        (home / "models").parent.mkdir(parents=True, exist_ok=True)
        if not (home / "models").exists():
            (home / "models").symlink_to(models_dir, target_is_directory=True)
        self.desk = desk
        values = {"home": home, "host_delay_s": 0, "allow_private_hosts": "127.0.0.0/8", **settings}
        self.settings = Settings.model_validate(values)
        self.definitions = build_definitions(self.settings, (desk,))
        self.instance = instance

    def poll(self, agencies: Collection[str] | None = None) -> dg.ExecuteInProcessResult:
        """Materialise `feed_entries` of these agencies, or of all."""
        keys = sorted(agencies or [agency.key for agency in self.desk.agencies])
        return self._run(f"{self.desk.key}_poll", keys[0], keys[-1])

    def run(self, first: date, last: date, agencies: Collection[str] | None = None) -> dg.ExecuteInProcessResult:
        """Materialise everything from fetching to the index over these days, in one run."""
        keys = sorted(agencies or [agency.key for agency in self.desk.agencies])
        return self._run(f"{self.desk.key}_articles", f"{keys[0]}|{first}", f"{keys[-1]}|{last}")

    def _run(self, job: str, start: str, end: str) -> dg.ExecuteInProcessResult:
        tags = {_RANGE_START: start, _RANGE_END: end}
        definition = self.definitions.resolve_job_def(job)
        return definition.execute_in_process(instance=self.instance, tags=tags, raise_on_error=False)

    def lake(self) -> Lake:
        """Return the lake, open."""
        return Lake.open(self.settings.catalog, self.settings.data)
