"""What those who follow the archive read: its record of changes, and the coverage by stage with links
to its partitions in Dagster.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.records.articles import Poll, RawArticle, SourceState
from news_assets.records.desks import Source
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web.archive import Archive
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.small_desk import AGENCIES, DESK, Words
from news_assets_tests.web.conftest import served
from news_assets_tests.web.operations.conftest import DAGSTER, Site, log_in
from news_assets_tests.web.test_pages import links_of

URL = "/api/v1/changes"


def test_changes_are_followed_from_a_cursor_in_order(browser: httpx.Client) -> None:
    whole = browser.get(URL, params={"limit": 1000}).json()
    followed, since = [], ""
    while True:
        part = browser.get(URL, params={"since": since, "limit": 3}).json()
        followed += part["items"]
        since = part["next"]
        if not part["items"]:
            break

    assert followed == whole["items"]
    assert since == whole["next"]
    assert {one["change"] for one in followed} == {
        "stored",
        "enriched",
        "embedded",
        "indexed",
    }
    places = [(one["commit_id"], one["sequence"]) for one in followed]
    assert places == sorted(set(places))


def test_a_wrong_cursor_and_a_lost_one_are_told_apart(browser: httpx.Client) -> None:
    wrong, lost = (
        browser.get(URL, params={"since": since}) for since in ("yesterday", "7-1-0")
    )

    assert (wrong.status_code, wrong.headers["content-type"]) == (
        400,
        "application/problem+json",
    )
    assert wrong.json()["detail"].startswith("'yesterday' is not a cursor")
    assert lost.status_code == 410
    assert (
        lost.json()["detail"]
        == "the lake was restored from a backup since this cursor; begin without one"
    )


def test_the_coverage_of_a_stage_counts_what_waits_for_it_and_links_to_its_partitions(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    today = datetime.now(UTC).date()
    upsert(
        operated.lake,
        [
            full(
                RawArticle,
                article_id="a-9",
                desk="d",
                agency="a",
                day=today,
                outcome="ok",
            )
        ],
    )

    def waiting(stage: str) -> list[int]:
        items = client.get("/api/v1/coverage", params={"stage": stage}).json()["items"]
        return [one["behind"] for one in items if one["day"] == today.isoformat()]

    assert [waiting(stage) for stage in ("", "raw_articles", "enriched_articles")] == [
        [1],
        [0],
        [1],
    ]
    of_stage = links_of(client.get("/operations?stage=enriched_articles").text)
    assert (
        f"{DAGSTER}/assets/d/enriched_articles?view=partitions&partition=a%7C{today}"
        in of_stage
    )
    of_all = links_of(client.get("/operations").text)
    assert f"/search?desk=d&agency=a&from={today}&to={today}" in of_all
    assert "/operations?desk=d&stage=enriched_articles" in of_all


@pytest.fixture
def polled(tmp_path: Path) -> Iterator[str]:
    """A site over a desk of five publishers with a source each: of these the fourth did
    not answer the last time.
    """
    now = datetime.now(UTC)
    agencies = []
    for number in range(5):
        key = f"p{number}"
        source = Source(
            source_id=f"d/{key}/feed",
            desk="d",
            agency=key,
            kind="rss",
            url=f"https://{key}.example/feed",
            timezone="UTC",
            language="en",
        )
        agencies.append(
            replace(AGENCIES[0], key=key, name=f"Publisher {number}", sources=(source,))
        )
    rows: list[SourceState | Poll] = []
    for agency in agencies:
        failed = agency.key == "p3"
        outcome = {
            "outcome": "failed" if failed else "ok",
            "reason": "not found (404)" if failed else None,
        }
        of_source = {
            "source_id": f"d/{agency.key}/feed",
            "desk": "d",
            "agency": agency.key,
        }
        rows.append(full(Poll, **of_source, polled_at=now, **outcome))
        state = {f"last_{name}": value for name, value in outcome.items()}
        rows.append(full(SourceState, **of_source, last_polled_at=now, **state))
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
    ):
        lake.transact(lambda transaction: transaction.append(rows[::2]))
        upsert(lake, rows[1::2])
        desk = replace(DESK, agencies=tuple(agencies))
        opened = Index(index, lambda: Words(), index.close)
        with served(Archive(opened, lake, [desk], {})) as address:
            yield address


def test_the_worst_sources_are_first_and_counted_above(polled: str) -> None:
    with httpx.Client(base_url=polled, headers={"Accept": "text/html"}) as browser:
        page = browser.get("/operations/sources?limit=2").text
        named = re.findall(r">(Publisher [0-9])</a>", page)
        assert named == ["Publisher 3", "Publisher 0"]
        assert "1 failing, 0 silent of 5" in page
        assert "não encontrado (404)" in browser.get("/operations/sources?lang=pt").text
        rows = csv.DictReader(
            io.StringIO(browser.get("/operations/sources.csv?limit=2").text)
        )
        outcomes = {row["name"]: row["last_outcome"] for row in rows}
    assert outcomes == {
        f"Publisher {n}": "failed" if n == 3 else "ok" for n in range(5)
    }


def test_silences_are_found_again_after_a_minute(tmp_path: Path) -> None:
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
    ):
        opened = Index(index, lambda: Words(), index.close)
        archive = Archive(opened, lake, [DESK], {})
        with lake.latest() as snapshot:
            first = archive.silences(snapshot, DESK, now)
            soon = archive.silences(snapshot, DESK, now + timedelta(seconds=59))
            later = archive.silences(snapshot, DESK, now + timedelta(minutes=1))
    assert soon is first
    assert later is not first


SAMPLE = re.compile(r'(\w+)(\{(\w+="(\\.|[^"\\])*",?)*\})? ([0-9.e+]+)')


def test_health_says_that_the_server_is_ready_and_why_not(operated: Site) -> None:
    ready = httpx.get(f"{operated.address}/health")
    assert (ready.status_code, ready.json()) == (
        200,
        {"live": True, "ready": True, "reasons": []},
    )
    operated.lake.close()

    broken = httpx.get(f"{operated.address}/health")

    assert (broken.status_code, broken.json()["live"], broken.json()["ready"]) == (
        503,
        True,
        False,
    )
    assert "the lake could not be read" in broken.json()["reasons"][0]
    assert httpx.get(f"{operated.address}/health/live").text == "live\n"


def test_metrics_are_counts_in_the_text_format(guarded: Site) -> None:
    answer = httpx.get(f"{guarded.address}/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert [
        line
        for line in lines
        if not line.startswith("# ") and not SAMPLE.fullmatch(line)
    ] == []
    assert 'news_articles{desk="d",outcome="ok"} 2' in lines
    assert 'news_failures{desk="d",stage="enriched_articles"} 1' in lines
    assert "# TYPE news_articles gauge" in lines
    assert "news_conditions 0" in lines
