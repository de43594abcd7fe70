from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.poll.entry_rows import (
    EntryChanges,
    entry_changes,
    entry_hash,
    news_hash,
)
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing
from news_assets.text.urls import url_hash

NOW = datetime(2026, 9, 8, 2, 0, tzinfo=UTC)  # 7 September, 23:00, in São Paulo
LATER = NOW + timedelta(hours=3)  # 8 September, 02:00
TODAY = date(2026, 9, 7)
SOURCE = Source(
    source_id="mec-1",
    desk="govbr",
    agency="mec",
    kind="feed",
    url="https://example.org/feed",
    timezone="America/Sao_Paulo",
    language="pt-BR",
)


def listed(number: int = 1, **changes: Any) -> ListedEntry:
    values: dict[str, Any] = {
        "entry_id": f"id-{number}",
        "url": f"https://example.org/{number}",
        "title": "Vagas",
    }
    return ListedEntry(**{**values, **changes})


def changes_of(
    *entries: ListedEntry,
    known: tuple[FeedEntry, ...] = (),
    now: datetime = NOW,
    source: Source = SOURCE,
) -> EntryChanges:
    return entry_changes(source, Listing(entries=entries), known, now, f"poll-{now:%H}")


def row_of(entry: ListedEntry, **options: Any) -> FeedEntry:
    (row,) = changes_of(entry, **options).rows
    return row


def test_a_new_entry_is_filed_under_its_day_of_publication_in_the_sources_time_zone() -> (
    None
):
    entry = listed(
        published_at=datetime(2026, 9, 6, 1, 0, tzinfo=UTC),
        updated_at=datetime(2026, 9, 7, tzinfo=UTC),
        summary="Resumo",
        content_html="<p>Texto</p>",
        authors=("Ana",),
        categories=("Educação",),
        image_url="https://example.org/1.jpg",
    )
    hashed_url = url_hash("https://example.org/1")
    assert changes_of(entry) == EntryChanges(
        rows=(
            FeedEntry(
                entry_id="id-1",
                source_id="mec-1",
                desk="govbr",
                agency="mec",
                day=date(2026, 9, 5),
                article_id=f"mec-2026-09-05-vagas-{hashed_url[:10]}",
                url="https://example.org/1",
                url_hash=hashed_url,
                title="Vagas",
                summary="Resumo",
                content_html="<p>Texto</p>",
                authors=("Ana",),
                categories=("Educação",),
                image_url="https://example.org/1.jpg",
                published_at=datetime(2026, 9, 6, 1, 0, tzinfo=UTC),
                updated_at=datetime(2026, 9, 7, tzinfo=UTC),
                is_future_dated=False,
                is_moved=False,
                entry_hash=entry_hash(entry),
                news_hash=news_hash(entry),
                first_seen_at=NOW,
                last_seen_at=NOW,
                trace_id="poll-02",
            ),
        ),
        new_count=1,
    )


def test_no_listing_and_an_empty_one_change_nothing() -> None:
    assert entry_changes(SOURCE, None, (), NOW, "t") == changes_of() == EntryChanges()


@pytest.mark.parametrize(
    ("published_at", "stored", "day", "is_future_dated"),
    [
        (None, True, TODAY, False),
        (datetime(1970, 1, 1, tzinfo=UTC), False, TODAY, False),
        (NOW + timedelta(minutes=59), True, TODAY, False),
        (NOW + timedelta(minutes=61), True, TODAY, True),
        (datetime(2031, 1, 1, tzinfo=UTC), True, TODAY, True),
        (datetime(1991, 1, 1, 12, tzinfo=UTC), True, date(1991, 1, 1), False),
    ],
)
def test_an_impossible_or_missing_date_files_the_entry_under_today(
    published_at: datetime | None, stored: bool, day: date, is_future_dated: bool
) -> None:
    row = row_of(listed(published_at=published_at))
    assert (row.published_at, row.day, row.is_future_dated) == (
        published_at if stored else None,
        day,
        is_future_dated,
    )


def test_just_before_midnight_an_entry_of_tomorrow_is_filed_under_today() -> None:
    late = datetime(2026, 9, 8, 2, 30, tzinfo=UTC)
    assert (
        row_of(listed(published_at=late + timedelta(minutes=50)), now=late).day == TODAY
    )


# --- identity -------------------------------------------------------------------------


def test_an_empty_id_and_one_of_several_urls_are_replaced_by_the_url() -> None:
    changes = changes_of(
        listed(1, entry_id="same"),
        listed(2, entry_id="same"),
        listed(3),
        listed(4, entry_id=""),
    )
    assert [row.entry_id for row in changes.rows] == [
        "https://example.org/1",
        "https://example.org/2",
        "id-3",
        "https://example.org/4",
    ]


def test_the_same_entry_twice_in_a_document_is_one() -> None:
    assert (
        len(
            changes_of(
                listed(1),
                listed(1, url="https://example.org/1?utm_source=rss", title="Other"),
            ).rows
        )
        == 1
    )


def test_an_entry_without_a_web_url_is_left_out() -> None:
    assert changes_of(listed(url="mailto:x@example.org"), listed(url="")).rows == ()


def test_two_ids_with_one_url_are_one_article() -> None:
    first, second = changes_of(
        listed(1), listed(2, url="https://example.org/1#top", title="Other")
    ).rows
    assert (first.article_id, first.day) == (second.article_id, second.day)


def test_a_url_known_from_another_source_of_the_agency_gives_its_article_and_day() -> (
    None
):
    other = replace(SOURCE, source_id="mec-2")
    known = row_of(
        listed(1, published_at=datetime(2026, 9, 1, tzinfo=UTC)), source=other
    )
    row = row_of(listed(9, url=known.url, title="Other"), known=(known,), now=LATER)
    assert (row.article_id, row.day, row.source_id, row.trace_id) == (
        known.article_id,
        known.day,
        "mec-1",
        "poll-05",
    )


def test_a_url_known_from_another_agency_is_a_new_article() -> None:
    known = row_of(listed(1), source=replace(SOURCE, agency="inep", source_id="inep-1"))
    assert row_of(listed(1), known=(known,)).article_id.startswith("mec-")


# --- listed again ---------------------------------------------------------------------


def test_an_entry_with_the_same_content_only_gets_a_new_last_seen_at() -> None:
    known = row_of(listed())
    changes = changes_of(
        listed(image_url="https://example.org/other.jpg"), known=(known,), now=LATER
    )
    assert changes == EntryChanges(rows=(replace(known, last_seen_at=LATER),))


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Novas vagas"},
        {"url": "https://example.org/1-novas-vagas"},
        {"summary": "Mais"},
        {"content_html": "<p>Mais</p>"},
        {"updated_at": NOW},
    ],
)
def test_an_entry_with_other_content_is_updated_and_stays_the_same_article(
    change: dict[str, Any],
) -> None:
    known = row_of(listed())
    entry = listed(**change)
    changes = changes_of(entry, known=(known,), now=LATER)
    expected = replace(
        known,
        **change,
        entry_hash=entry_hash(entry),
        news_hash=news_hash(entry),
        last_seen_at=LATER,
    )
    assert changes == EntryChanges(rows=(expected,), updated_count=1)
    assert expected.entry_hash != known.entry_hash


@pytest.mark.parametrize(
    ("change", "is_news"),
    [
        ({"title": "Novas vagas"}, True),
        ({"url": "https://example.org/1-novas-vagas"}, True),
        ({"updated_at": NOW}, True),
        ({"content_html": "<p>Texto novo</p>"}, True),
        (
            {
                "content_html": '<p class="x">Texto <img src="https://example.org/?n=2"> 123</p>'
            },
            False,
        ),
        ({"summary": "123 visualizações"}, False),
        ({"categories": ("Outra",)}, False),
    ],
)
def test_a_title_a_time_and_words_of_the_full_text_are_news(
    change: dict[str, Any], is_news: bool
) -> None:
    before = listed(content_html="<p>Texto</p>")
    assert (news_hash(replace(before, **change)) != news_hash(before)) == is_news


def test_an_update_time_that_all_entries_share_changes_none() -> None:
    known = changes_of(*(listed(number, updated_at=NOW) for number in range(3))).rows
    changes = changes_of(
        *(listed(number, updated_at=LATER) for number in range(3)),
        known=known,
        now=LATER,
    )
    assert (changes.new_count, changes.updated_count) == (0, 0)


# --- the day moves once ---------------------------------------------------------------


def test_a_date_corrected_by_more_than_a_day_moves_the_row_once() -> None:
    known = row_of(listed(published_at=datetime(2026, 9, 7, 12, tzinfo=UTC)))
    moved = row_of(
        listed(published_at=datetime(2026, 9, 3, 12, tzinfo=UTC)),
        known=(known,),
        now=LATER,
    )
    assert moved == replace(
        known,
        published_at=datetime(2026, 9, 3, 12, tzinfo=UTC),
        day=date(2026, 9, 3),
        is_moved=True,
        last_seen_at=LATER,
    )
    again = row_of(
        listed(published_at=datetime(2026, 8, 1, 12, tzinfo=UTC)),
        known=(moved,),
        now=LATER,
    )
    assert (again.day, again.is_moved) == (date(2026, 9, 3), True)


@pytest.mark.parametrize(
    "published_at",
    [
        None,
        datetime(2026, 9, 6, 13, tzinfo=UTC),
        datetime(2031, 1, 1, tzinfo=UTC),
        datetime(1980, 1, 1, tzinfo=UTC),
    ],
)
def test_a_small_an_absent_or_an_impossible_correction_moves_nothing(
    published_at: datetime | None,
) -> None:
    known = row_of(listed(published_at=datetime(2026, 9, 7, 12, tzinfo=UTC)))
    assert (
        row_of(listed(published_at=published_at), known=(known,), now=LATER).day
        == TODAY
    )


def test_a_date_added_later_moves_an_entry_without_one() -> None:
    known = row_of(listed())
    moved = row_of(
        listed(published_at=datetime(2026, 9, 1, 12, tzinfo=UTC)),
        known=(known,),
        now=LATER,
    )
    assert (moved.day, moved.is_moved) == (date(2026, 9, 1), True)


def test_all_rows_of_a_moved_article_move() -> None:
    dated = datetime(2026, 9, 7, 12, tzinfo=UTC)
    own = row_of(listed(1, published_at=dated))
    other = row_of(
        listed(1, published_at=dated),
        known=(own,),
        source=replace(SOURCE, source_id="mec-2"),
    )
    changes = changes_of(
        listed(1, published_at=dated - timedelta(days=4)), known=(own, other), now=LATER
    )
    assert {(row.source_id, row.day, row.is_moved) for row in changes.rows} == {
        ("mec-1", date(2026, 9, 3), True),
        ("mec-2", date(2026, 9, 3), True),
    }


# --- for all listings -----------------------------------------------------------------

_dates = st.none() | st.datetimes(
    datetime(1900, 1, 1),  # noqa: DTZ001 - the zone is drawn apart
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
_entries = st.builds(
    ListedEntry,
    entry_id=st.sampled_from(["", "a", "b", "c"]),
    url=st.sampled_from(
        [
            "https://x.org/1",
            "https://x.org/1?utm_source=a",
            "http://x.org/2",
            "https://x.org/3",
            "no",
        ]
    ),
    title=st.none() | st.text(max_size=5),
    published_at=_dates,
    updated_at=_dates,
)
_listings = st.lists(_entries, max_size=8)


@given(_listings, _listings)
def test_no_url_is_lost_and_an_article_has_one_day(
    first: list[ListedEntry], second: list[ListedEntry]
) -> None:
    before = changes_of(*first)
    after = changes_of(*second, known=before.rows, now=LATER)
    stored = {(row.source_id, row.entry_id): row for row in (*before.rows, *after.rows)}
    assert {row.url_hash for row in changes_of(*second).rows} <= {
        row.url_hash for row in stored.values()
    } | {url_hash(row.url) for row in stored.values()}
    days: dict[str, set[date]] = {}
    for row in stored.values():
        days.setdefault(row.article_id, set()).add(row.day)
    assert all(len(found) == 1 for found in days.values())
    assert before.new_count + after.new_count == len(stored)


@given(_listings)
def test_the_same_listing_again_has_no_new_entries(entries: list[ListedEntry]) -> None:
    known = changes_of(*entries).rows
    again = changes_of(*entries, known=known, now=LATER)
    assert (again.new_count, again.updated_count, len(again.rows)) == (0, 0, len(known))
