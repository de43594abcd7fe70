"""Requests runs of Dagster's web server by GraphQL."""

from collections.abc import Mapping
from typing import Any, Final

import httpx

from news_assets.errors import RunRequestError

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


def request_run(
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
