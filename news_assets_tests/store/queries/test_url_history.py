from dataclasses import replace
from datetime import timedelta

from news_assets.records import Poll
from news_assets.store.lake import Lake
from news_assets.store.queries.url_history import Moment, story_of
from news_assets_tests.store.examples import sparse
from news_assets_tests.support.small_desk import NOW, entry

LATER = NOW + timedelta(milliseconds=500)


def test_a_listing_is_shown_with_its_poll_and_the_last_time_it_was_seen(lake: Lake) -> None:
    listed = replace(entry(1), published_at=None, last_seen_at=LATER)
    poll = sparse(Poll, source_id=listed.source_id, desk="d", agency="a", polled_at=NOW, elapsed_ms=7, new_count=2)
    others = [replace(poll, polled_at=LATER, elapsed_ms=8), replace(poll, source_id="d/b/feed", elapsed_ms=9)]
    lake.transact(lambda rows: (rows.upsert([listed]), rows.append([poll, *others])))
    found = Moment(
        at=NOW,
        article_id="a-1",
        stage="feed_entries",
        outcome="ok",
        what="first listed by d/a/feed, without a date, asked in 7 ms, 2 new",
        trace_id="t",
    )
    assert story_of(lake, listed.url) == [found, replace(found, at=LATER, what="last listed by d/a/feed")]


def test_an_entry_listed_once_has_one_event(lake: Lake) -> None:
    lake.transact(lambda rows: rows.upsert([entry(1)]))
    assert [moment.what for moment in story_of(lake, entry(1).url)] == [
        "first listed by d/a/feed, dated 2026-11-20 15:00Z"
    ]
    assert story_of(lake, "https://example.org/never") == []
