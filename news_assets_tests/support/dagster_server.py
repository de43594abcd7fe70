"""Dagster's web server, by GraphQL, as the UI uses it."""

import json
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

ANSWER_S: Final = 180.0  # on a busy machine
_HEALTH = """{
  instance { daemonHealth { allDaemonStatuses { required healthy } } }
  workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError { __typename } } } }
}"""
_LAUNCH = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
} }"""
_SENSORS = """query($repository: RepositorySelector!) { sensorsOrError(repositorySelector: $repository) {
  ... on Sensors { results { name sensorState { id ticks(statuses: [STARTED], dayRange: 1) { id } } } }
} }"""
_START_SENSOR = """mutation($selector: SensorSelector!) { startSensor(sensorSelector: $selector) {
  __typename ... on PythonError { message }
} }"""
_STOP_SENSOR = "mutation($id: String!) { stopSensor(id: $id) { __typename ... on PythonError { message } } }"
_RUN = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status tags { key value } } } }"
_REPOSITORY = {
    "repositoryLocationName": "news_assets",
    "repositoryName": "__repository__",
}


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run: `status` such as STARTED, SUCCESS or FAILURE."""

    status: str
    tags: dict[str, str]


class DagsterServer:
    """The web server on a port of loopback."""

    def __init__(self, port: int) -> None:
        self.port = port

    def graphql(self, query: str, **variables: Any) -> Any:
        """Return the data of one GraphQL query."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
            return json.load(answer)["data"]

    def launch(
        self,
        job: str,
        partition: str | None = None,
        config: Mapping[str, object] | None = None,
        **tags: str,
    ) -> str:
        """Submit a run of a job as the UI does and return its id; in names of `tags`,
        `__` stands for `/`.
        """
        tags = {name.replace("__", "/"): value for name, value in tags.items()}
        tags |= {"dagster/partition": partition} if partition else {}
        params = {
            "selector": {**_REPOSITORY, "jobName": job},
            "runConfigData": config or {},
            "executionMetadata": {
                "tags": [{"key": key, "value": value} for key, value in tags.items()]
            },
        }
        answer = self.graphql(_LAUNCH, params=params)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        return str(answer["run"]["runId"])

    def state_of(self, run_id: str) -> RunState:
        """Return the present state of a run."""
        run = self.graphql(_RUN, id=run_id)["runOrError"]
        return RunState(
            run["status"], {tag["key"]: tag["value"] for tag in run["tags"]}
        )

    def switch(self, sensor: str, *, on: bool) -> None:
        """Start or stop one sensor."""
        selector = {**_REPOSITORY, "sensorName": sensor}
        if on:
            answer = self.graphql(_START_SENSOR, selector=selector)["startSensor"]
            assert answer["__typename"] == "Sensor", answer
            return
        for found in self._sensors():
            if found["name"] == sensor:
                self._stop(found["sensorState"])

    def stop_sensors(self) -> None:
        """Stop every sensor; a tick in progress continues."""
        for found in self._sensors():
            self._stop(found["sensorState"])

    def has_tick(self) -> bool:
        """Return whether a tick of a sensor is in progress."""
        return any(found["sensorState"]["ticks"] for found in self._sensors())

    def _sensors(self) -> list[Any]:
        return list(
            self.graphql(_SENSORS, repository=_REPOSITORY)["sensorsOrError"]["results"]
        )

    def _stop(self, sensor: Any) -> None:
        answer = self.graphql(_STOP_SENSOR, id=sensor["id"])["stopSensor"]
        assert answer["__typename"] == "StopSensorMutationResult", answer

    def has_reported(self) -> bool:
        """Return whether the code is loaded and every daemon has reported; False while
        the server does not answer.
        """
        with suppress(OSError):
            return _is_healthy(self.graphql(_HEALTH))
        return False


def _is_healthy(answer: Any) -> bool:
    daemons = answer["instance"]["daemonHealth"]["allDaemonStatuses"]
    locations = answer["workspaceOrError"].get("locationEntries", [])
    is_loaded = [
        (entry["locationOrLoadError"] or {}).get("__typename") == "RepositoryLocation"
        for entry in locations
    ]
    return all(
        daemon["healthy"] for daemon in daemons if daemon["required"]
    ) and is_loaded == [True]
