"""Articles and failures in parts, newest first, and counts by agency and day."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

from news_assets.pipeline import stages
from news_assets.records.derived import Failure
from news_assets.records.reading import WITHDRAWN
from news_assets.store.lake import Lake
from news_assets.store.tables import table_of
from news_assets.store.transaction import Snapshot

if TYPE_CHECKING:
    import polars


_COLUMNS = """
    article_id, desk, agency, day, url, title, authors, language, published_at, updated_at,
    first_seen_at, word_count,
    image_url, outcome, reason, duplicate_of, rev_n
"""
_CONDITIONS = {
    "desk": "desk = $desk",
    "agency": "agency = $agency",
    "outcome": "outcome = $outcome",
    "from_day": "day >= $from_day",
    "to_day": "day <= $to_day",
    "after_day": "day <= $after_day",
    "after_id": "(day < $after_day OR article_id < $after_id)",
}
_DAYS = """
    SELECT min(day), max(day) FROM (
        SELECT day FROM raw_articles WHERE {condition} ORDER BY day DESC LIMIT $limit
    )
"""
# Without a condition on the day, DuckDB reads the newest files first, and no others
# than it needs.
_NEWEST = (
    f"SELECT {_COLUMNS} FROM raw_articles WHERE {{condition}} ORDER BY day DESC, article_id DESC"
    " LIMIT $limit"
)
_NAMED = f"""
    SELECT {_COLUMNS} FROM raw_articles WHERE list_contains($ids, article_id)
        AND day BETWEEN $first_day AND $last_day
    ORDER BY day DESC, article_id DESC
"""
# `list_contains` takes a third of the time of `IN` and of a join, which DuckDB does for
# each row group.
_ENRICHED = """
    SELECT article_id, day, language AS found_language, summary, theme_code, theme_labels
    FROM enriched_articles
    WHERE outcome = 'ok' AND list_contains($ids, article_id)
        AND day BETWEEN $first_day AND $last_day
"""
_OF = "($desk IS NULL OR desk = $desk) AND ($agency IS NULL OR agency = $agency)"
_FAILURES = f"""
    SELECT * FROM failures
    WHERE {_OF} AND ($stage IS NULL OR stage = $stage)
        AND (
            $last_at IS NULL
            OR (last_failed_at, stage, article_id) < ($last_at::TIMESTAMPTZ, $last_stage, $last_id)
        )
    ORDER BY last_failed_at DESC, stage DESC, article_id DESC LIMIT $limit
"""
_COUNTS = """
    SELECT agency, day, count(*) AS articles,
        count(*) FILTER (outcome NOT IN ('ok', 'withdrawn')) AS failed
    FROM raw_articles WHERE desk = $desk AND day >= $first_day GROUP BY ALL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedArticle:
    """An article without its text, with the summary and the theme of its enrichment."""

    article_id: Annotated[str, "readable, stable id"]
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    day: Annotated[date, "day of publication in the agency's time zone"]
    url: Annotated[str, "address of the article"]
    title: Annotated[str | None, "headline"]
    authors: Annotated[Sequence[str], "authors in the order of the page"]
    language: Annotated[str | None, "BCP 47 code"]
    published_at: Annotated[datetime | None, "publication time"]
    updated_at: Annotated[
        datetime | None, "time of the last change that the page states"
    ]
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    word_count: Annotated[int, "length of the text in words"]
    image_url: Annotated[str | None, "main image"]
    outcome: Annotated[str, "ok, or what became of the article"]
    reason: Annotated[str | None, "why the outcome is not ok"]
    duplicate_of: Annotated[
        str | None, "id of the earlier article that it is a copy of"
    ]
    rev_n: Annotated[int, "number of the revision, 1 for the first text"]
    summary: Annotated[str | None, "summary of one or two sentences"]
    theme_code: Annotated[str | None, "code of the most specific theme"]
    theme_labels: Annotated[
        Sequence[str] | None, "labels of the theme, from level 1 down"
    ]


def newest_articles(
    lake: Lake,
    *,
    desk: str | None = None,
    agency: str | None = None,
    outcome: str | None = None,
    from_day: date | None = None,
    to_day: date | None = None,
    after: tuple[date, str] | None = None,
    limit: int,
) -> list[ListedArticle]:
    """Return articles by day and id, newest first; with `after` (day, article_id) only
    those that come after it.

    With a condition on the day, the days of the part are found first, from one narrow
    column, so that nothing else is read of other months: 60 ms instead of 400 ms among
    1,000,000 articles.
    """
    after_day, after_id = after or (None, None)
    values = {
        "desk": desk,
        "agency": agency,
        "outcome": outcome,
        "from_day": from_day,
        "to_day": to_day,
    }
    values |= {"after_day": after_day, "after_id": after_id}
    given: dict[str, Any] = {
        name: value for name, value in values.items() if value is not None
    }
    condition = " AND ".join(_CONDITIONS[name] for name in given) or "true"
    given["limit"] = limit
    with lake.latest() as snapshot:
        if from_day or to_day or after:
            first, last = snapshot.query(_DAYS.format(condition=condition), given).row(
                0
            )
            if first is None:
                return []
            condition += " AND day BETWEEN $first_day AND $last_day"
            given |= {"first_day": first, "last_day": last}
        return _with_enrichment(
            snapshot, snapshot.query(_NEWEST.format(condition=condition), given)
        )


def named_articles(
    lake: Lake, article_ids: Collection[str], days: Collection[date]
) -> list[ListedArticle]:
    """Return these articles, which were published on these days, newest first."""
    if not article_ids:
        return []
    given = {"ids": list(article_ids), "first_day": min(days), "last_day": max(days)}
    with lake.latest() as snapshot:
        return _with_enrichment(snapshot, snapshot.query(_NAMED, given))


def _with_enrichment(
    snapshot: Snapshot, rows: "polars.DataFrame"
) -> list[ListedArticle]:
    """Return rows of articles with what their enrichment found."""
    import polars as pl

    if rows.is_empty():
        return []
    ids, days = rows["article_id"].to_list(), rows["day"]
    enriched = snapshot.query(
        _ENRICHED, {"ids": ids, "first_day": days.min(), "last_day": days.max()}
    )
    listed = rows.join(
        enriched, on=["article_id", "day"], how="left", maintain_order="left"
    )
    listed = listed.with_columns(
        pl.coalesce("language", "found_language").alias("language")
    ).drop("found_language")
    return [ListedArticle(**row) for row in listed.iter_rows(named=True)]


def newest_failures(
    lake: Lake,
    *,
    desk: str | None = None,
    agency: str | None = None,
    stage: str | None = None,
    after: tuple[datetime, str, str] | None = None,
    limit: int,
) -> list[Failure]:
    """Return failures, newest first; with `after` (last_failed_at, stage, article_id)
    only those that come after it.
    """
    last_at, last_stage, last_id = after or (None, None, None)
    given = {
        "desk": desk,
        "agency": agency,
        "stage": stage,
        "last_at": last_at,
        "last_stage": last_stage,
    }
    found = lake.query(_FAILURES, given | {"last_id": last_id, "limit": limit})
    return [Failure(**row) for row in found.iter_rows(named=True)]


def day_counts(lake: Lake | Snapshot, desk: str, first_day: date) -> "polars.DataFrame":
    """Return agency, day, the number of articles since a day, and how many of them
    failed.
    """
    return lake.query(_COUNTS, {"desk": desk, "first_day": first_day})


# --- counts by agency -----------------------------------------------------------------


_IN_DAYS = "day >= $1 AND day <= $2"


def count_columns() -> tuple[str, ...]:
    """Return the columns with counts: entries, articles, failed, copies, and one for
    each derived stage.
    """
    return (
        "entries",
        "articles",
        "failed",
        "copies",
        *(stage.done for stage in stages.derived_stages()),
    )


def stage_counts(
    lake: Lake, first_day: date, last_day: date, desk: str | None = None
) -> list[dict[str, Any]]:
    """Return desk, agency, the count columns and the last day with an entry; ordered by
    desk and agency.
    """
    counts = " UNION ALL BY NAME ".join(
        [
            f"""SELECT desk, agency, count(*) AS entries, max(day) AS last_day
                FROM entries WHERE {_IN_DAYS} GROUP BY ALL""",
            f"""SELECT desk, agency, count(*) FILTER (outcome = 'ok') AS articles,
                count(*) FILTER (outcome NOT IN ('ok', '{WITHDRAWN}')) AS failed,
                count(duplicate_of) AS copies
                FROM raw_articles WHERE {_IN_DAYS} GROUP BY ALL""",
            *(
                f"SELECT desk, agency, count(*) AS {stage.done} FROM {table_of(stage.record).name} "
                f"WHERE {_IN_DAYS} AND outcome = 'ok' GROUP BY ALL"
                for stage in stages.derived_stages()
            ),
        ]
    )
    sums = ", ".join(
        f"coalesce(sum({column}), 0)::BIGINT AS {column}" for column in count_columns()
    )
    sql = (
        f"SELECT desk, agency, {sums}, max(last_day) AS last_day FROM ({counts}) "
        "WHERE $3 IS NULL OR desk = $3 GROUP BY ALL ORDER BY desk, agency"
    )
    with lake.latest() as snapshot:
        return snapshot.rows_of(sql, [first_day, last_day, desk])
