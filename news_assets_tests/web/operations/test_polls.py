"""POST /api/v1/polls, with a server that answers as Dagster's web server does."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from news_assets.desks.desk_files import load_desks
from news_assets.search import Index
from news_assets.sources.source_kinds import KINDS
from news_assets.store.lake import Lake
from news_assets.web.archive import Archive
from news_assets.web.operations.sessions import Access
from news_assets_tests.web.conftest import served
from news_assets_tests.web.operations.conftest import TOKEN, Site

AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


class Dagster:
    """The answers of a web server, and the runs that were requested."""

    def __init__(self) -> None:
        self.jobs = ["sample_poll"]
        self.launched: dict[str, Any] = {
            "__typename": "LaunchRunSuccess",
            "run": {"runId": "r-1"},
        }
        self.requests: list[Any] = []
        self.address = ""

    def answer(self, asked: Any) -> Any:
        if "repositoriesOrError" in asked["query"]:
            node = {
                "name": "__repository__",
                "location": {"name": "here"},
                "jobs": [{"name": name} for name in self.jobs],
            }
            return {"data": {"repositoriesOrError": {"nodes": [node]}}}
        self.requests.append(asked["variables"]["params"])
        return {"data": {"launchRun": self.launched}}


@contextmanager
def dagster() -> Iterator[Dagster]:
    state = Dagster()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(state.answer(asked)).encode()
            self.send_response(200 if self.path == "/graphql" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def there() -> Iterator[Dagster]:
    with dagster() as running:
        yield running


@pytest.fixture
def url(tmp_path: Path, there: Dagster) -> Iterator[str]:
    from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex

    desks = load_desks(["sample"], KINDS)
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
    ):
        archive = Archive(Index(index, lambda: None, index.close), lake, desks, {})  # type: ignore[arg-type, return-value]
        with served(
            archive, access=Access(token=TOKEN, dagster_url=f"{there.address}/")
        ) as address:
            yield f"{address}/api/v1/polls"


def test_a_poll_is_a_run_over_the_agencies_that_asks_their_sources_again(
    url: str, there: Dagster
) -> None:
    answer = httpx.post(
        url, headers=AUTHORIZED, json={"agencies": ["sample/prefeitura"]}
    )

    assert (answer.status_code, answer.json()) == (
        202,
        {"run_id": "r-1", "url": f"{there.address}/runs/r-1"},
    )
    (asked,) = there.requests
    assert asked["selector"] == {
        "repositoryLocationName": "here",
        "repositoryName": "__repository__",
        "jobName": "sample_poll",
    }
    config = asked["runConfigData"]["ops"]["sample__feed_entries"]["config"]
    assert (config["ask_again"], len(config["sources"])) == (True, 1)
    tags = {one["key"]: one["value"] for one in asked["executionMetadata"]["tags"]}
    assert (
        tags["dagster/asset_partition_range_start"]
        == tags["dagster/asset_partition_range_end"]
        == "prefeitura"
    )
    assert tags["news/requested_by"] == "API"


def test_past_days_are_passed_on(url: str, there: Dagster) -> None:
    days = ["2026-01-06", "2026-01-05"]
    assert (
        httpx.post(
            url, headers=AUTHORIZED, json={"agencies": ["prefeitura"], "days": days}
        ).status_code
        == 202
    )
    config = there.requests[0]["runConfigData"]["ops"]["sample__feed_entries"]["config"]
    assert (config["from_day"], config["to_day"]) == ("2026-01-05", "2026-01-06")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("{", "body: Invalid JSON"),
        ('{"agencies": []}', "agencies: List should have at least 1 item"),
        ('{"agencies": ["unknown"]}', "agencies: `unknown` is no active agency"),
        (
            '{"agencies": ["prefeitura"], "day": "x"}',
            "day: Extra inputs are not permitted",
        ),
        (
            '{"agencies": ["prefeitura"], "days": ["x"]}',
            "days.0: Input should be a valid date",
        ),
        (
            '{"agencies": ["prefeitura"], "days": ["2026-01-01", "2026-01-03"]}',
            "days: there is a gap",
        ),
    ],
)
def test_a_wrong_request_is_explained(
    url: str, there: Dagster, body: str, detail: str
) -> None:
    answer = httpx.post(url, headers=AUTHORIZED, content=body)
    assert (answer.status_code, answer.headers["content-type"]) == (
        400,
        "application/problem+json",
    )
    assert answer.json()["detail"].startswith(detail)
    assert there.requests == []


def test_what_dagster_refuses_is_told(url: str, there: Dagster) -> None:
    there.launched = {"__typename": "PythonError", "message": "no"}
    refused = httpx.post(url, headers=AUTHORIZED, json={"agencies": ["prefeitura"]})
    assert (refused.status_code, refused.json()["detail"]) == (
        502,
        "Dagster refused the run: no",
    )
    there.jobs = []
    unknown = httpx.post(url, headers=AUTHORIZED, json={"agencies": ["prefeitura"]})
    assert unknown.json()["detail"].startswith("Dagster has no job `sample_poll`")


def test_without_the_setting_it_is_named(guarded: Site) -> None:
    answer = httpx.post(
        f"{guarded.address}/api/v1/polls", headers=AUTHORIZED, json={"agencies": ["a"]}
    )
    assert (answer.status_code, "NEWS_DAGSTER_URL" in answer.json()["detail"]) == (
        503,
        True,
    )
