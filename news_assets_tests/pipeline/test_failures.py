"""Failures are counted, retried after growing pauses, given up, and deleted once the
stage succeeds.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from news_assets.errors import (
    FetchError,
    ListingChangedError,
    NewsAssetsError,
    ReadingError,
    RobotsError,
)
from news_assets.pipeline.failures import (
    make_due,
    outcome_of,
    record_attempt,
    record_outcomes,
    record_unavailable,
)
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, Failure
from news_assets.records.reading import Outcome
from news_assets.retry_table import STAGE
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import full
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.small_desk import NOW, TODAY, Newsroom, entry

ROW = full(
    EnrichedArticle,
    article_id="a-1",
    desk="d",
    agency="a",
    day=TODAY,
    content_hash="c1",
    outcome="failed",
    reason="no answer",
    trace_id="t",
)
FAILURE = Failure(
    stage="enriched_articles",
    article_id="a-1",
    desk="d",
    agency="a",
    day=TODAY,
    version="c1",
    reason="no answer",
    attempts=1,
    first_failed_at=NOW,
    last_failed_at=NOW,
    next_try_at=NOW + timedelta(minutes=5),
    trace_id="t",
)
WORK = {
    "article_id": "a-1",
    "agency": "a",
    "day": TODAY,
    "version": "c1",
    "trace_id": "t",
}
HOUR = timedelta(hours=1)
URL = "https://example.org/"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FetchError(URL, "gone", status=410), "gone"),
        (FetchError(URL, "forbidden", status=403), "blocked"),
        (FetchError(URL, "blocked: Cloudflare", status=503), "blocked"),
        (RobotsError(URL, "forbidden by robots.txt"), "blocked"),
        (FetchError(URL, "not found", status=404), "failed"),
        (ListingChangedError("no entry"), "failed"),
        (ReadingError("not read in 20 s"), "failed"),
    ],
)
def test_the_outcome_of_an_error(error: NewsAssetsError, outcome: Outcome) -> None:
    assert outcome_of(error) == outcome


def record(lake: Lake, now: datetime, *tried: EnrichedArticle) -> list[Failure]:
    lake.transact(
        lambda rows: record_outcomes(rows, stage_named("enriched_articles"), tried, now)
    )
    return lake.read(Failure)


def test_the_first_failure_is_stored_with_the_next_attempt(lake: Lake) -> None:
    assert record(lake, NOW, ROW) == [FAILURE]
    assert record(lake, NOW) == [FAILURE]


def test_each_due_attempt_counts_and_replaces_the_reason(lake: Lake) -> None:
    record(lake, NOW, ROW)
    assert record(lake, NOW + HOUR, replace(ROW, reason="busy")) == [
        replace(
            FAILURE,
            reason="busy",
            attempts=2,
            last_failed_at=NOW + HOUR,
            next_try_at=STAGE.next_at(2, NOW + HOUR),
        )
    ]


def test_an_attempt_that_ends_with_its_process_counts_and_keeps_the_first_time(
    lake: Lake,
) -> None:
    record(lake, NOW, ROW)
    stage = stage_named("enriched_articles")
    lake.transact(lambda rows: record_attempt(rows, stage, WORK, "d", NOW + HOUR))
    [failure] = lake.read(Failure)
    assert (failure.attempts, failure.first_failed_at) == (2, NOW)


def test_an_attempt_before_it_is_due_does_not_count(lake: Lake) -> None:
    record(lake, NOW, ROW)
    early = NOW + timedelta(minutes=1)
    assert record(lake, early, ROW) == [replace(FAILURE, last_failed_at=early)]


def test_a_failure_is_given_up_after_the_last_attempt(lake: Lake) -> None:
    last = replace(FAILURE, attempts=STAGE.max_attempts - 1)
    lake.transact(lambda rows: rows.upsert([last]))
    (given_up,) = record(lake, NOW + HOUR, ROW)
    assert (given_up.attempts, given_up.next_try_at) == (STAGE.max_attempts, None)
    assert record(lake, NOW + 2 * HOUR, ROW) == [
        replace(given_up, last_failed_at=NOW + 2 * HOUR)
    ]


def test_attempts_start_again_for_another_state_of_the_article(lake: Lake) -> None:
    lake.transact(
        lambda rows: rows.upsert(
            [replace(FAILURE, attempts=STAGE.max_attempts, next_try_at=None)]
        )
    )
    (failure,) = record(lake, NOW + HOUR, replace(ROW, content_hash="c2"))
    assert failure == replace(
        FAILURE,
        version="c2",
        last_failed_at=NOW + HOUR,
        next_try_at=STAGE.next_at(1, NOW + HOUR),
    )


def test_success_deletes_only_the_failure_of_that_stage_and_article(lake: Lake) -> None:
    others = [
        replace(FAILURE, stage="search_index"),
        replace(FAILURE, article_id="a-2"),
    ]
    lake.transact(lambda rows: rows.upsert([FAILURE, *others]))
    assert record(lake, NOW, replace(ROW, outcome="ok", reason=None)) == others


def test_failures_made_due_have_all_their_attempts_left(lake: Lake) -> None:
    given_up = replace(FAILURE, attempts=STAGE.max_attempts, next_try_at=None)
    other = replace(given_up, article_id="a-2")
    lake.transact(lambda rows: rows.upsert([given_up, other]))
    made = lake.transact(lambda rows: make_due(rows, NOW + HOUR, article_id=["a-1"]))
    due = replace(given_up, attempts=0, next_try_at=NOW + HOUR)
    assert (made, lake.read(Failure)) == ([due], [due, other])
    (again,) = record(lake, NOW + HOUR, ROW)[:1]
    assert (again.attempts, again.next_try_at) == (1, STAGE.next_at(1, NOW + HOUR))


# --- in the stages --------------------------------------------------------------------


@pytest.fixture
def room(lake: Lake) -> Newsroom:
    return Newsroom(lake, FakeSearchIndex())


def test_a_failed_fetch_is_a_failure_with_the_times_of_its_article(
    room: Newsroom,
) -> None:
    room.pages.missing.add("https://example.org/1")
    room.list(entry(1), entry(2))
    room.run("raw_articles")
    (article,) = room.lake.read(RawArticle, article_id=["a-1"])
    (failure,) = room.lake.read(Failure)
    assert failure == replace(
        FAILURE,
        stage="raw_articles",
        version="one",
        reason="not found (404)",
        next_try_at=article.next_try_at,
    )
    room.lake.transact(lambda rows: make_due(rows, NOW, stage=["raw_articles"]))
    room.pages.missing.clear()
    room.run("raw_articles")
    assert room.lake.read(Failure) == []


def test_articles_of_an_unavailable_enricher_are_retried_at_longer_pauses_up_to_a_day_and_not_given_up(
    lake: Lake,
) -> None:
    stage, now, pauses = stage_named("enriched_articles"), NOW, []
    for _ in range(2 * STAGE.max_attempts):
        at = now
        lake.transact(
            lambda rows: record_unavailable(rows, stage, [WORK], "d", "no taxonomy", at)  # noqa: B023
        )
        (failure,) = lake.read(Failure)
        assert failure.next_try_at is not None
        pauses.append(failure.next_try_at - now)
        now = failure.next_try_at
    assert failure == replace(
        FAILURE,
        reason="no taxonomy",
        attempts=2 * STAGE.max_attempts,
        last_failed_at=failure.last_failed_at,
        next_try_at=failure.next_try_at,
    )
    assert pauses[:3] == [
        timedelta(minutes=5),
        timedelta(minutes=30),
        timedelta(hours=2),
    ]
    assert pauses[5:] == [timedelta(days=1)] * (2 * STAGE.max_attempts - 5)


def test_failures_of_a_deleted_article_are_deleted_with_its_rows(
    room: Newsroom,
) -> None:
    room.enricher.refused.add("line1")
    room.embedder.refused.add("line1")
    room.list(entry(1), entry(2))
    room.run()
    assert [failure.stage for failure in room.lake.read(Failure)] == [
        "article_embeddings",
        "enriched_articles",
    ]
    room.lake.transact(lambda rows: rows.delete(RawArticle, article_id=["a-1"]))
    room.run("enriched_articles", "article_embeddings", "search_index")
    assert room.lake.read(Failure) == []
