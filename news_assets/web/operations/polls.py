"""POST /api/v1/polls: a poll of agencies, now or of past days, requested of Dagster."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, Any, Final

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from news_assets.errors import RunRequestError
from news_assets.records.desks import Agency, Desk
from news_assets.web.operations.sessions import Access
from news_assets.web.parameters import ParameterError

PATH: Final = "polls"
_RANGE_START, _RANGE_END = (
    "dagster/asset_partition_range_start",
    "dagster/asset_partition_range_end",
)


class PollRequest(BaseModel):
    """The agencies of one desk to poll, by key or as `desk/agency`; `days` are past
    days to ask for, in a row.
    """

    model_config = ConfigDict(extra="forbid")

    agencies: Annotated[
        list[str],
        Field(min_length=1, max_length=1000, description="keys, or desk/agency"),
    ]
    days: Annotated[
        list[date],
        Field(max_length=366, description="past days without a gap; none for now"),
    ] = []


def request_polls(
    desks: Sequence[Desk], access: Access, who: str, body: bytes
) -> Response:
    """Request a run that polls these agencies, and answer 202 with its id.

    Raises:
        ParameterError: The body is wrong, or names agencies that cannot be polled
            together.
        HTTPException: NEWS_DAGSTER_URL is not set (503).
        RunRequestError: Dagster does not take the request.
    """
    if not access.dagster_url:
        raise HTTPException(
            503,
            "NEWS_DAGSTER_URL is not set: it names Dagster's web server, which runs polls",
        )
    try:
        wanted = PollRequest.model_validate_json(body)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, wrong["loc"])) or "body"
        raise ParameterError(f"{place}: {wrong['msg']}") from None
    desk, agencies = _agencies(desks, wanted.agencies)
    keys = sorted(agency.key for agency in agencies)
    source_ids: list[str] = []
    for agency in agencies:
        for source in agency.sources:
            source_ids.append(source.source_id)
    config = {"sources": source_ids, "ask_again": True, **_past(wanted.days)}
    run_id = _request_run(
        access.dagster_url,
        f"{desk.key}_poll",
        {"ops": {f"{desk.key}__feed_entries": {"config": config}}},
        {
            _RANGE_START: keys[0],
            _RANGE_END: keys[-1],
            "news/desk": desk.key,
            "news/requested_by": who,
        },
    )
    url = f"{access.links_url}/runs/{run_id}"
    return JSONResponse({"run_id": run_id, "url": url}, 202, {"Location": url})


def _agencies(desks: Sequence[Desk], names: Sequence[str]) -> tuple[Desk, list[Agency]]:
    """Return the desk and the agencies of these names. Raises ParameterError."""
    found: dict[str, Desk] = {}
    agencies: dict[str, Agency] = {}
    for name in names:
        matching = _named(desks, name)
        if not matching:
            raise ParameterError(f"agencies: `{name[:80]}` is no active agency")
        if len(matching) > 1:
            where = "is in several desks; write desk/agency"
            raise ParameterError(f"agencies: `{name[:80]}` {where}")
        [(desk, agency)] = matching
        found[desk.key] = desk
        agencies[agency.key] = agency
    if len(found) > 1:
        raise ParameterError(
            "agencies: these are of several desks; request a poll of each"
        )
    [desk] = found.values()
    return desk, list(agencies.values())


def _named(desks: Sequence[Desk], name: str) -> list[tuple[Desk, Agency]]:
    found = []
    for desk in desks:
        for agency in desk.agencies:
            names = (agency.key, f"{desk.key}/{agency.key}")
            if agency.is_active and name in names:
                found.append((desk, agency))
    return found


def _past(days: Sequence[date]) -> dict[str, str]:
    if not days:
        return {}
    first, last = min(days), max(days)
    if last - first != timedelta(days=len(set(days)) - 1):
        raise ParameterError(
            "days: there is a gap between them; request each range on its own"
        )
    return {"from_day": first.isoformat(), "to_day": last.isoformat()}


# --- Dagster's web server, by GraphQL --------------------------------------------------

_TIMEOUT_S: Final = 20.0
_LOCATIONS: Final = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
  name location { name } jobs { name }
} } } }"""
_LAUNCH: Final = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename
  ... on LaunchRunSuccess { run { runId } }
  ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } }
  ... on UnauthorizedError { message }
} }"""


def _request_run(
    url: str, job: str, config: Mapping[str, Any], tags: Mapping[str, str]
) -> str:
    """Request a run of a job, as the UI does, and return its id.

    Raises:
        RunRequestError: The server cannot be reached, has no such job, or refuses the
            run.
    """
    listed_tags = [{"key": key, "value": value} for key, value in tags.items()]
    with httpx.Client(timeout=_TIMEOUT_S, trust_env=False) as client:
        repository = _repository_with(client, url, job)
        params = {
            "selector": {**repository, "jobName": job},
            "runConfigData": dict(config),
            "executionMetadata": {"tags": listed_tags},
        }
        answer = _answer_to(client, url, _LAUNCH, {"params": params})["launchRun"]
    if answer["__typename"] != "LaunchRunSuccess":
        raise RunRequestError(f"Dagster refused the run: {_reason(answer)}")
    return str(answer["run"]["runId"])


def _reason(answer: Mapping[str, Any]) -> str:
    for one in answer.get("errors", [answer]):
        if one.get("message"):
            return str(one["message"])
    return str(answer["__typename"])


def _repository_with(client: httpx.Client, url: str, job: str) -> dict[str, str]:
    found = _answer_to(client, url, _LOCATIONS, {})["repositoriesOrError"].get(
        "nodes", []
    )
    for repository in found:
        if any(one["name"] == job for one in repository["jobs"]):
            return {
                "repositoryLocationName": repository["location"]["name"],
                "repositoryName": repository["name"],
            }
    raise RunRequestError(
        f"Dagster has no job `{job}`; it runs with other desks than this server (NEWS_DESKS)"
    )


def _answer_to(
    client: httpx.Client, url: str, query: str, variables: Mapping[str, Any]
) -> Any:
    try:
        answer = client.post(
            f"{url.rstrip('/')}/graphql", json={"query": query, "variables": variables}
        )
        answer.raise_for_status()
        value = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise RunRequestError(
            f"Dagster's web server at NEWS_DAGSTER_URL does not answer: {error}"
        ) from error
    if "data" not in value or value["data"] is None:
        raise RunRequestError(
            f"Dagster's web server does not know the request: {str(value.get('errors'))[:200]}"
        )
    return value["data"]
