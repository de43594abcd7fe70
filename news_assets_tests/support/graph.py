"""The graph executed in this process: polls, range runs, checks, and sensors with the
runs they request.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import dagster as dg

from news_assets.definitions import build_definitions
from news_assets.defs.desk_sensors import build_desk_sensors
from news_assets.defs.jobs import build_desk_jobs
from news_assets.defs.resources import build_resources, opener_of
from news_assets.demo import PORT, SampleSite
from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake

_RANGE_START, _RANGE_END = (
    "dagster/asset_partition_range_start",
    "dagster/asset_partition_range_end",
)


def sample_desk(site: SampleSite) -> Desk:
    """Return the sample desk with sources at the address of this site.

    No test polls them twice by their age: `settle` would poll them again five minutes
    after the first. Its themes are found by words, because to export and load a model
    takes 5 s of CPU.
    """
    (desk,) = load_desks(["sample"], KINDS)
    here = f"http://127.0.0.1:{PORT}"
    agencies = tuple(
        replace(
            a,
            sources=tuple(
                replace(s, url=s.url.replace(here, site.base), every_minutes=None)
                for s in a.sources
            ),
        )
        for a in desk.agencies
    )
    by_words = replace(desk.enrich, themes="words")
    return replace(desk, agencies=agencies, enrich=by_words)


class Graph:
    """One desk's graph over a lake and an index below `home`; `resources` replace those
    of the settings.
    """

    def __init__(
        self,
        desk: Desk,
        home: Path,
        instance: dg.DagsterInstance,
        resources: Mapping[str, object] | None = None,
        **settings: str,
    ) -> None:
        self.desk = desk
        values = {
            "home": home,
            "host_delay_s": 0,
            "allow_private_hosts": "127.0.0.0/8",
            **settings,
        }
        self.settings = Settings.model_validate(values)
        self.resources = build_resources(self.settings) | dict(resources or {})
        self.definitions = build_definitions(self.settings, (desk,), self.resources)
        self.instance = instance
        jobs = build_desk_jobs(desk)
        self.sensors = build_desk_sensors(
            (desk,), jobs, opener_of(self.resources["lake"]), tick_s=0
        )
        self._cursors: dict[str, str | None] = {}
        self.reasons: list[str] = []  # skip reasons of the sensors' last ticks

    def poll(
        self, agencies: Collection[str] | None = None
    ) -> dg.ExecuteInProcessResult:
        """Materialise `feed_entries` of these agencies, or of all."""
        keys = sorted(agencies or [agency.key for agency in self.desk.agencies])
        return self._run(f"{self.desk.key}_poll", keys[0], keys[-1])

    def run(
        self, first: date, last: date, agencies: Collection[str] | None = None
    ) -> dg.ExecuteInProcessResult:
        """Materialise everything from fetching to the index over these days, in one
        run.
        """
        keys = sorted(agencies or [agency.key for agency in self.desk.agencies])
        return self._run(
            f"{self.desk.key}_articles", f"{keys[0]}|{first}", f"{keys[-1]}|{last}"
        )

    def check(self) -> dg.ExecuteInProcessResult:
        """Run every check of the desk."""
        definition = self.definitions.resolve_job_def(f"{self.desk.key}_checks")
        return definition.execute_in_process(
            instance=self.instance, raise_on_error=False
        )

    def _run(self, job: str, start: str, end: str) -> dg.ExecuteInProcessResult:
        tags = {_RANGE_START: start, _RANGE_END: end}
        definition = self.definitions.resolve_job_def(job)
        return definition.execute_in_process(
            instance=self.instance, tags=tags, raise_on_error=False
        )

    def tick(self, name: str) -> dg.SensorResult:
        """Evaluate a sensor; its next tick starts from the cursor of this one."""
        sensor = next(sensor for sensor in self.sensors if sensor.name == name)
        resources = {key: self.resources[key] for key in sensor.required_resource_keys}
        context = dg.build_sensor_context(
            self.instance, cursor=self._cursors.get(name), resources=resources
        )
        with context:
            result = sensor(context)
        assert isinstance(result, dg.SensorResult)
        self._cursors[name] = result.cursor
        return result

    def execute(self, result: dg.SensorResult) -> list[dg.ExecuteInProcessResult]:
        """Execute the runs that a sensor requested."""
        return [self._execute(request) for request in result.run_requests or ()]

    def settle(self, most_rounds: int = 10) -> list[dg.RunRequest]:
        """Evaluate the sensors of the backlog and execute their requests until there
        are none; return all requests.
        """
        requested: list[dg.RunRequest] = []
        for _ in range(most_rounds):
            results = [
                self.tick(sensor.name)
                for sensor in self.sensors
                if sensor.name != "first_checks"
            ]
            requests = [
                request for result in results for request in result.run_requests or ()
            ]
            for result in results:
                self.execute(result)
            requested += requests
            if not requests:
                self.reasons = [str(result.skip_reason) for result in results]
                return requested
        raise AssertionError(
            f"the sensors request runs after {most_rounds} rounds: {requested[-3:]}"
        )

    def skip_pauses(self) -> None:
        """End the pauses before the sensors' next requests for the same rows."""
        for name, cursor in self._cursors.items():
            written = json.loads(cursor or "{}")
            for request in (
                row
                for attempts in written.get("attempts", {}).values()
                for row in attempts
            ):
                request[3] = 0.0
            self._cursors[name] = json.dumps(
                written | {"evaluated_at": 0.0, "swept_at": 0.0}
            )

    def _execute(self, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
        assert request.job_name
        job = self.definitions.resolve_job_def(request.job_name)
        if request.asset_selection:
            job = job.get_subset(
                asset_selection=set(request.asset_selection),
                asset_check_selection=set(),
            )
        return job.execute_in_process(
            instance=self.instance,
            run_config=request.run_config,
            tags=request.tags,
            raise_on_error=False,
        )

    def lake(self) -> Lake:
        """Return the lake, open."""
        return Lake.open(self.settings.catalog, self.settings.data)
