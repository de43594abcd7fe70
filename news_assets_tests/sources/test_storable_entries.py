"""What every listing passes before it is stored: clean values of bounded length."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from news_assets.records.reading import ListedEntry, Listing
from news_assets.sources.source_kinds import KINDS
from news_assets.sources.storable_entries import storable
from news_assets.text.limits import most
from news_assets_tests.sources.page_builders import page_of, source_of
from news_assets_tests.support.growth import grows_linearly

URL = "https://example.org/feed"


def parsed(kind: str, document: object) -> Listing:
    body = document if isinstance(document, str) else json.dumps(document)
    return KINDS[kind].parse(page_of(body, URL), source_of(kind, URL))


def strings(value: Any) -> list[str]:
    if isinstance(value, dict | list | tuple):
        return [
            text
            for part in (value.values() if isinstance(value, dict) else value)
            for text in strings(part)
        ]
    return [value] if isinstance(value, str) else []


DIRTY = "Um\0 \ud800\u202e\u0007dois"


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("json_feed", {"version": "1", "title": DIRTY, "items": [
            {"id": DIRTY, "url": f"/1?{DIRTY}", "title": DIRTY, "summary": DIRTY, "content_html": f"{DIRTY}&#1;",
             "tags": [DIRTY], "authors": [{"name": DIRTY}], "image": f"/{DIRTY}.png"}]}),
        ("wordpress", [{"guid": {"rendered": DIRTY}, "link": f"https://example.org/{DIRTY}",
                        "title": {"rendered": DIRTY}, "excerpt": {"rendered": DIRTY},
                        "content": {"rendered": f"<p>{DIRTY}</p>"}}]),
        ("plone_search", {"@id": "a", "items": [{"@id": f"https://example.org/{DIRTY}", "UID": DIRTY, "title": DIRTY,
                                                 "description": DIRTY, "subjects": [DIRTY]}]}),
    ],
)  # fmt: skip
def test_what_a_listing_holds_is_stored_unchanged(kind: str, document: object) -> None:
    entry = parsed(kind, document).entries[0]

    for text in strings(asdict(entry)):
        text.encode()
        assert not set(text) & set("\0\x07\ufffd")
    assert entry.title == "Um dois"
    assert not set("\u202e \0") & set(entry.url)


def test_values_are_cut_and_an_address_that_is_too_long_is_refused() -> None:
    long = "a" * 50_000
    item = {
        "id": long,
        "url": "/1",
        "title": long,
        "summary": long,
        "tags": [f"{n}{long[:300]}" for n in range(900)],
    }
    entry = parsed("json_feed", {"version": "1", "items": [item]}).entries[0]

    assert (len(entry.entry_id), len(entry.title or ""), len(entry.summary or "")) == (
        1000,
        1000,
        20_000,
    )
    assert (len(entry.categories), max(map(len, entry.categories))) == (100, 200)

    refused = parsed(
        "json_feed", {"version": "1", "items": [item | {"url": f"/{long}"}, item]}
    )

    assert [entry.url for entry in refused.entries] == ["https://example.org/1"]
    assert (
        "1 entries have an address of more than 8,000 characters: skipped"
        in refused.problems
    )


def test_of_too_many_entries_the_newest_are_kept_with_a_problem() -> None:
    entries = tuple(
        ListedEntry(entry_id=str(n), url=f"https://example.org/{n}")
        for n in range(10_010)
    )

    kept = storable(Listing(entries=entries))

    assert len(kept.entries) == most("entries")
    assert "10 entries beyond the newest 10,000: skipped" in kept.problems


def test_thousands_of_categories_of_one_entry_take_linear_time() -> None:
    def feed_of(size: int) -> str:
        names = "".join(f"<category>a{number}</category>" for number in range(size))
        return f"<rss version='2.0'><channel><item><link>http://a.b/1</link>{names}</item></channel></rss>"

    assert len(parsed("feed", feed_of(8_000)).entries[0].categories) == 100
    assert grows_linearly(lambda feed: parsed("feed", feed), feed_of)
