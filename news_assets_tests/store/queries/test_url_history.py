from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.records.articles import Poll, RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.store.lake import Lake
from news_assets.store.queries.url_history import Event, stored_rows, url_history
from news_assets_tests.store.examples import sparse
from news_assets_tests.support.small_desk import NOW, TODAY, entry

LATER = NOW + timedelta(milliseconds=500)


def test_a_listed_entry_has_events_for_its_first_poll_and_its_last_listing(
    lake: Lake,
) -> None:
    listed = replace(entry(1), published_at=None, last_seen_at=LATER)
    poll = sparse(
        Poll,
        source_id=listed.source_id,
        desk="d",
        agency="a",
        polled_at=NOW,
        elapsed_ms=7,
        new_count=2,
    )
    others = [
        replace(poll, polled_at=LATER, elapsed_ms=8),
        replace(poll, source_id="d/b/feed", elapsed_ms=9),
    ]
    lake.transact(lambda rows: (rows.upsert([listed]), rows.append([poll, *others])))
    found = Event(
        at=NOW,
        article_id="a-1",
        stage="feed_entries",
        outcome="ok",
        what="first listed by d/a/feed, without a date, polled in 7 ms, 2 new",
        trace_id="t",
    )
    assert url_history(lake, listed.url) == [
        found,
        replace(found, at=LATER, what="last listed by d/a/feed"),
    ]


def test_an_entry_listed_once_has_one_event(lake: Lake) -> None:
    lake.transact(lambda rows: rows.upsert([entry(1)]))
    assert [event.what for event in url_history(lake, entry(1).url)] == [
        "first listed by d/a/feed, dated 2026-11-20 15:00Z"
    ]
    assert url_history(lake, "https://example.org/never") == []


@pytest.mark.parametrize("days", [0, 40])
def test_rows_of_a_stage_are_found_also_on_the_day_before_the_article_moved(
    lake: Lake, days: int
) -> None:
    article = sparse(
        RawArticle, article_id="a-1", desk="d", agency="a", day=TODAY, outcome="ok"
    )
    other = replace(article, article_id="a-2")
    lake.transact(lambda rows: rows.upsert([article, other]))
    enriched = [
        sparse(
            EnrichedArticle, article_id=key, desk="d", agency="a", day=day, outcome="ok"
        )
        for key, day in (("a-1", TODAY - timedelta(days=days)), ("a-2", TODAY))
    ]
    lake.transact(lambda rows: rows.upsert(enriched))
    found = stored_rows(lake, ["a-1", "a-2"])
    assert [row.article_id for row in found.articles] == ["a-1", "a-2"]
    assert found.derived["enriched_articles"] == enriched
