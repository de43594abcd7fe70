from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from news_assets.pipeline.report_contents import (
    DayCounts,
    DeskCounts,
    Headline,
)
from news_assets.records.articles import FeedEntry, Poll, RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets.store.queries.report import count_day
from news_assets_tests.store.examples import sparse

DAY = date(2026, 11, 19)
START = datetime(2026, 11, 19, tzinfo=UTC)


def new_article(
    article_id: str, at: datetime, desk: str = "g1", agency: str = "rio", **article: Any
) -> list[Any]:
    """Return an entry and its article, first seen at this time and published a week
    before.
    """
    place = {
        "desk": desk,
        "agency": agency,
        "day": at.date() - timedelta(days=7),
        "article_id": article_id,
    }
    seen = {**place, "first_seen_at": at}
    return [
        sparse(FeedEntry, **seen, source_id=f"{agency}-feed", entry_id=article_id),
        sparse(
            RawArticle,
            **seen,
            **{"outcome": "ok", "url": f"https://x.example/{article_id}", **article},
        ),
    ]


def derived(
    record: type[Any], article_id: str, at: datetime, outcome: str = "ok", **given: Any
) -> Any:
    day = at.date() - timedelta(days=7)
    return sparse(
        record,
        article_id=article_id,
        desk="g1",
        agency="rio",
        day=day,
        outcome=outcome,
        **given,
    )


def poll(
    outcome: str,
    reason: str | None = None,
    at: datetime = START,
    new: int = 0,
    desk: str = "g1",
) -> Poll:
    return sparse(
        Poll,
        desk=desk,
        agency="rio",
        source_id="rio-feed",
        polled_at=at,
        outcome=outcome,
        reason=reason,
        new_count=new,
    )


def store(lake: Lake, *rows: Any) -> None:
    def work(transaction: Any) -> None:
        for record in {type(row) for row in rows}:
            mine = [row for row in rows if type(row) is record]
            transaction.append(mine)

    lake.transact(work)


def test_a_day_has_the_model_calls_that_were_made_on_it(lake: Lake) -> None:
    calls = {
        "desk": "g1",
        "day": DAY - timedelta(days=7),
        "model": "openai:gpt-5-mini",
        "via": "direct",
        "usd": 0.5,
    }
    store(
        lake,
        sparse(ModelCall, call_id="1", called_at=START, **calls),
        sparse(ModelCall, call_id="2", called_at=START - timedelta(seconds=1), **calls),
        sparse(ModelCall, call_id="3", called_at=START, **calls | {"desk": "other"}),
    )
    assert [
        (one.desk, one.calls, one.usd) for one in count_day(lake, DAY, ["g1"]).spending
    ] == [("g1", 1, 0.5)]


def test_a_day_is_counted_from_midnight_to_midnight_utc(lake: Lake) -> None:
    midnight = START + timedelta(days=1)
    store(
        lake,
        *new_article("before", START - timedelta(microseconds=1)),
        *new_article("first", START, title="First"),
        *new_article(
            "last", midnight - timedelta(microseconds=1), agency="sp", title="Last"
        ),
        *new_article("after", midnight),
        *new_article("elsewhere", START, desk="other"),
    )
    assert count_day(lake, DAY, ["g1", "world"]) == DayCounts(
        day=DAY,
        desks=(
            DeskCounts(
                desk="g1",
                agencies=2,
                entries=2,
                articles=2,
                derived={"enriched": 0, "embedded": 0, "indexed": 0},
            ),
        ),
        hours=(("g1", 0, 1), ("g1", 23, 1)),
        outcomes=(("g1", "ok", 2),),
        history=((DAY - timedelta(days=1), "ok", 1), (DAY, "ok", 2)),
        newest=(
            Headline(
                desk="g1",
                agency="sp",
                first_seen_at=midnight - timedelta(microseconds=1),
                title="Last",
                url="https://x.example/last",
                theme=None,
            ),
            Headline(
                desk="g1",
                agency="rio",
                first_seen_at=START,
                title="First",
                url="https://x.example/first",
                theme=None,
            ),
        ),
    )


def test_stages_count_the_rows_made_from_the_articles_of_the_day(lake: Lake) -> None:
    named = {"theme_code": "01.02", "theme_labels": ("Saúde", "Vacinas")}
    other_day = START - timedelta(days=3)
    store(
        lake,
        *new_article("a", START),
        *new_article("b", START, duplicate_of="a"),
        *new_article("c", START, outcome="failed", reason="no answer"),
        new_article("d", START)[0],
        *new_article("earlier", other_day),
        derived(EnrichedArticle, "a", START, **named),
        derived(EnrichedArticle, "b", START),
        derived(EnrichedArticle, "earlier", other_day, **named),
        derived(ArticleEmbedding, "a", START),
        derived(ArticleEmbedding, "b", START, outcome="failed"),
        derived(IndexedDocument, "a", START),
    )
    counts = count_day(lake, DAY, ["g1"])

    assert counts.desks == (
        DeskCounts(
            desk="g1",
            agencies=1,
            entries=4,
            waiting=1,
            articles=2,
            copies=1,
            derived={"enriched": 2, "embedded": 1, "indexed": 1},
        ),
    )
    assert counts.outcomes == (("g1", "failed", 1), ("g1", "ok", 2))
    assert counts.reasons == (("failed", "no answer", 1),)
    assert counts.themes == (("Saúde", 1), (None, 1))
    assert [line.theme for line in counts.newest] == ["Vacinas"]


def test_polls_of_the_day_are_counted_by_outcome_and_reason(lake: Lake) -> None:
    store(
        lake,
        poll("ok", new=3),
        poll("ok", new=1),
        poll("unchanged"),
        poll("failed", "HTTP 503"),
        poll("failed", "HTTP 503"),
        poll("blocked"),
        poll("ok", at=START - timedelta(seconds=1)),
    )
    counts = count_day(lake, DAY, ["g1"])

    assert counts.polls == (
        ("g1", "blocked", 1, 0, 0),
        ("g1", "failed", 2, 0, 0),
        ("g1", "ok", 2, 4, 0),
        ("g1", "unchanged", 1, 0, 0),
    )
    assert counts.poll_reasons == (
        ("rio-feed", "failed", "HTTP 503", 2),
        ("rio-feed", "blocked", "no reason given", 1),
    )


@pytest.mark.parametrize("desks", [[], ["g1"]])
def test_an_empty_day_counts_nothing(lake: Lake, desks: list[str]) -> None:
    assert count_day(lake, DAY, desks) == DayCounts(day=DAY)
