"""The synthetic desk of the benchmarks: rows stored directly equal those of polling its
site.
"""

import http.client
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.poll.entry_rows import entry_changes
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Desk
from news_assets.records.reading import Page
from news_assets.sources.source_kinds import KINDS, adapter_of
from news_assets.text.fingerprint import normal_words, shingles
from news_assets_tests.support.synthetic_desk import (
    Article,
    SyntheticSite,
    desk_file,
    stored_entries,
)

DAYS = [date(2026, 11, 1) + timedelta(days=n) for n in range(3)]
NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A desk of four agencies, its site, and a fetcher that may read it."""
    folder = tmp_path_factory.mktemp("synthetic")
    with SyntheticSite(agencies=4, days=DAYS) as site:
        desk = load_desks(
            [str(desk_file(folder, DAYS[0], site.base, agencies=4))], KINDS
        )[0]
        options = {
            "user_agent": "test",
            "delay_s": 0.0,
            "allow_private_hosts": ("127.0.0.1",),
        }
        with HttpFetcher(**options, state_dir=folder / "hosts") as fetcher:
            yield SimpleNamespace(desk=desk, site=site, fetcher=fetcher)


def _feed(synthetic: SimpleNamespace, agency: int) -> Page:
    page = synthetic.fetcher.fetch(PageRequest(synthetic.desk.sources[agency].url))
    assert isinstance(page, Page)
    return page


def test_stored_entries_equal_those_of_a_poll(synthetic: SimpleNamespace) -> None:
    source = synthetic.desk.sources[0]
    polled = entry_changes(
        source,
        adapter_of(source).parse(_feed(synthetic, 0), source),
        (),
        NOW,
        "synthetic",
    ).rows
    one = replace(synthetic.desk, agencies=synthetic.desk.agencies[:1])
    assert sorted(polled, key=lambda row: row.url) == stored_entries(one, DAYS, 2, NOW)


def test_an_agency_has_one_row_for_each_article(synthetic: SimpleNamespace) -> None:
    rows = stored_entries(synthetic.desk, DAYS, 2, NOW)
    assert [(row.agency, row.day) for row in rows] == [
        (f"a{n:03}", day) for n in range(4) for day in DAYS for _ in "12"
    ]
    assert len({row.article_id for row in rows}) == 24


def test_a_page_is_an_article_with_the_title_of_its_entry(
    synthetic: SimpleNamespace,
) -> None:
    row = stored_entries(synthetic.desk, DAYS, 2, NOW)[5]
    found = extract(synthetic.fetcher.fetch(PageRequest(row.url)), "UTC")
    article = Article("a000", DAYS[2], 1)
    assert (found.outcome, found.title, found.text) == (
        "ok",
        row.title,
        "\n\n".join(article.paragraphs),
    )


def test_a_published_article_appears_in_the_feed_of_its_agency_only(
    synthetic: SimpleNamespace,
) -> None:
    before = _feed(synthetic, 1)
    published = synthetic.site.publish("a002", date(2026, 11, 20))
    changed = (
        adapter_of(synthetic.desk.sources[2])
        .parse(_feed(synthetic, 2), synthetic.desk.sources[2])
        .entries[0]
    )
    assert (changed.url, changed.title) == (published.url, published.title)
    assert all(word in published.title for word in published.words)
    assert _feed(synthetic, 1).body == before.body


def test_an_unchanged_feed_is_answered_with_304(synthetic: SimpleNamespace) -> None:
    page = _feed(synthetic, 3)
    again = synthetic.fetcher.fetch(
        PageRequest(synthetic.desk.sources[3].url, validators=page.validators)
    )
    assert again.is_unchanged


def test_one_connection_serves_many_requests(synthetic: SimpleNamespace) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", synthetic.site.port)
    for n in range(50):
        connection.request("GET", f"/a000/2026-11-01/{n}.html")
        assert connection.getresponse().read().startswith(b"<!doctype html>")
    connection.close()


def test_articles_have_unique_words_and_dissimilar_texts() -> None:
    articles = [
        Article(f"a{agency:03}", day, n)
        for agency in range(20)
        for day in DAYS
        for n in range(5)
    ]
    words = [word for article in articles for word in article.words]
    first, *others = (
        shingles(normal_words(" ".join(article.paragraphs))) for article in articles
    )
    assert len(set(words)) == len(words)
    assert max(len(first & other) / len(first | other) for other in others) < 0.5


def test_the_desk_has_its_agencies_in_order(tmp_path: Path) -> None:
    desk: Desk = load_desks(
        [str(desk_file(tmp_path, DAYS[0], "http://127.0.0.1:1"))], KINDS
    )[0]
    assert [agency.key for agency in desk.agencies] == [f"a{n:03}" for n in range(160)]
