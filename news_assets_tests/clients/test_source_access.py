"""A source's options from its desk file to the wire: listings, next pages and articles;
the token stays outside.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from news_assets.clients.factory import open_ports
from news_assets.defs.resources import FetcherResource, build_resources
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.articles.fetch import fetch_batch
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import Fetcher, PageRequest
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.sources.source_kinds import KINDS, adapter_of
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.support.inline_sandbox import InlineSandbox

TOKEN = "s3cr3t-t0ken"
NOW = datetime(2026, 9, 8, 12, tzinfo=UTC)
STORY = (
    "<p>The council voted on Tuesday to keep the night buses running for another year, after four hours.</p>"
    * 4
)


@pytest.fixture
def sites() -> Iterator[tuple[Site, Site]]:
    own, other = Site("127.0.1.1"), Site("127.0.1.2")
    yield own, other
    own.close()
    other.close()


@pytest.fixture
def desk(
    sites: tuple[Site, Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Desk:
    own, other = sites
    links = (f"{own.url}/news/1", f"{other.url}/news/2")
    posts = [
        {
            "link": url,
            "title": {"rendered": f"Night buses {url}"},
            "date_gmt": "2026-09-08T10:00:00",
        }
        for url in links
    ]
    own.put("*", answer(json.dumps(posts).encode(), content_type="application/json"))
    article = answer(
        f"<html><body><article>{STORY}</article></body></html>".encode(),
        content_type="text/html",
    )
    own.put("/news/1", article)
    other.put("/news/2", article)
    path = tmp_path / "mine.yaml"
    source = {
        "kind": "wordpress",
        "url": own.url,
        "headers": {"X-Api-Version": "2"},
        "token_env": "NEWS_TOKEN_CITY",
        "delay_s": 0.01,
    }
    agencies = {"city": {"name": "City", "sources": [source]}}
    head = {
        "desk": "mine",
        "timezone": "UTC",
        "language": "en",
        "first_day": "2026-01-01",
    }
    path.write_text(json.dumps({**head, "agencies": agencies}))
    monkeypatch.setenv("NEWS_TOKEN_CITY", TOKEN)
    for name, value in {
        "HOME": str(tmp_path),
        "HOST_DELAY_S": "0",
        "ALLOW_PRIVATE_HOSTS": "127.0.0.0/8",
    }.items():
        monkeypatch.setenv(f"NEWS_{name}", value)
    (loaded,) = load_desks([str(path)], KINDS)
    return loaded


def poll_and_fetch(lake: Lake, desk: Desk, fetcher: Fetcher) -> None:
    sandbox = InlineSandbox()
    polls = list(
        poll_agencies(
            lake, desk, ["city"], fetcher, sandbox, adapter_of, lambda: NOW, "t"
        )
    )
    assert [poll.outcome for poll in polls] == ["ok"], polls
    keys = AgencyDays(
        desk.key, frozenset((entry.agency, entry.day) for entry in lake.read(FeedEntry))
    )
    fetch_batch(
        stage_named("raw_articles"),
        lake,
        desk,
        keys,
        lambda: NOW,
        fetcher=fetcher,
        sandbox=sandbox,
    )


def test_listing_and_articles_are_requested_as_the_desk_file_states(
    sites: tuple[Site, Site], desk: Desk, tmp_path: Path
) -> None:
    own, other = sites
    with (
        open_ports(Settings.read(), ["fetcher"]) as ports,
        Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake,
    ):
        poll_and_fetch(lake, desk, ports["fetcher"])
        assert {article.outcome for article in lake.read(RawArticle)} == {"ok"}
        stored = repr([lake.read(table.record) for table in TABLES])
    assert {
        headers["x-api-version"] for *_, headers in (*own.requests, *other.requests)
    } == {"2"}
    assert {headers.get("authorization") for *_, headers in own.requests} == {
        f"Bearer {TOKEN}"
    }
    assert {headers.get("authorization") for *_, headers in other.requests} == {None}
    assert TOKEN not in stored
    assert TOKEN not in repr(desk)


def test_runs_send_the_token_and_the_ui_does_not_know_it(
    sites: tuple[Site, Site], desk: Desk
) -> None:
    resource = build_resources(Settings.read())["fetcher"]
    assert isinstance(resource, FetcherResource)
    assert TOKEN not in repr(resource)
    assert TOKEN not in repr(resource.model_dump())
    (source,) = desk.sources
    with resource.yield_for_execution(dg.build_init_resource_context()) as fetcher:
        fetcher.fetch(
            PageRequest(
                f"{source.url}/wp-json", access=source.access, obeys_robots=False
            )
        )
    assert sites[0].requests[-1][2]["authorization"] == f"Bearer {TOKEN}"
