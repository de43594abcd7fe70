"""The freshness of a desk, by row: what is missing, lost (documents that
the search index and the lake do not share), silent or failing; and what is
bad now, as operators get it: silence, failures that were given up, the spent budget.

The asset checks, `news-assets gaps` and the daily report show the findings.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from news_assets.errors import IndexingError
from news_assets.pipeline import stages
from news_assets.pipeline.alerts.query_file import Operators
from news_assets.pipeline.stage_declaration import DOCUMENT_STATE, Findings
from news_assets.ports.search_index import SearchIndex
from news_assets.records.desks import GAP_DAYS, Desk
from news_assets.records.model_calls import Ceilings
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import (
    ARTICLES,
    HELD_BACK,
    UNCHECKED,
    derived_relations,
    names_of,
    newest_first,
    parameters,
    pending_entries,
    relations_sql,
    stale_rows,
    stale_sql,
    state_sql,
)
from news_assets.store.queries.poll_health import failing_sources, silent_agencies
from news_assets.store.queries.spending import spent

if TYPE_CHECKING:
    import polars as pl

_RECEIPTS = (
    "FROM indexed_documents WHERE desk = $desk AND day >= $first_day AND outcome = 'ok'"
)

_IDS = "unnest($article_ids::VARCHAR[])"
_GIVEN = f"SELECT DISTINCT hash({_IDS}) AS key"


def expected_documents(
    lake: Lake, desk: str, agency_names: Mapping[str, str]
) -> "pl.DataFrame":
    """Return what the index should hold of a desk, as the lake is now.

    Columns: article_id, agency, day, document_hash, has_vector, trace_id. All days and
    agencies, also those that the desk no longer has; a desk without a file is given no
    names.
    """
    return lake.query(expected_sql(), parameters(desk, agency_names, date.min))


def expected_sql() -> str:
    """Return the query for what the index should hold."""
    derived = derived_relations()
    joins = [f"LEFT JOIN {row.relation} USING (article_id)" for row in derived]
    return f"""
        WITH {relations_sql("article_id, agency, day, trace_id", "")}
        SELECT {ARTICLES}.article_id, {ARTICLES}.agency, {ARTICLES}.day,
            {state_sql(DOCUMENT_STATE)} AS document_hash,
            r_article_embeddings.outcome IS NOT DISTINCT FROM 'ok' AS has_vector,
            {ARTICLES}.trace_id
        FROM {ARTICLES} {" ".join(joins)}
        LEFT JOIN named ON named.agency = {ARTICLES}.agency
    """


def lost_documents(
    lake: Lake,
    index: SearchIndex,
    desk: Desk,
    now: datetime,
    first_day: date | None = None,
) -> "pl.DataFrame":
    """Return the documents that only the receipts or only the index has, or that they
    have with different hashes.

    Rows that are stale in the lake itself are left out here: `stale_rows` has them. Ids
    and hashes are compared first, and everything else is read only of what differs.
    """
    import polars as pl

    window = {"desk": desk.key, "first_day": first_day or date.min}
    receipts = lake.query(f"SELECT article_id, document_hash {_RECEIPTS}", window)
    stored = index.stored(desk.key, None, first_day)
    ids = _unmatched_ids(receipts, stored)
    given = {"article_ids": ids.to_list()}
    unmatched_receipts = lake.query(
        f"{_RECEIPTS} AND article_id IN (SELECT {_IDS})", window | given
    )
    unmatched_stored = stored.filter(pl.col("article_id").is_in(ids.implode()))
    found = _compared(unmatched_receipts, unmatched_stored, now)
    if found.is_empty():
        return found
    return newest_first(_unexplained(lake, desk, found, ids, now), desk)


def _unexplained(
    lake: Lake, desk: Desk, found: "pl.DataFrame", ids: "pl.Series", now: datetime
) -> "pl.DataFrame":
    """Return the documents that neither are stale in the lake nor wait for a retry."""
    import polars as pl

    params = parameters(desk.key, names_of(desk), min(found["day"]))
    given = {"now": now, "article_ids": ids.to_list()}
    stale = lake.query(stale_sql(_GIVEN), params | given)
    held = lake.query(HELD_BACK, {"desk": desk.key, "now": now})
    held = held.filter(pl.col("stage") == "search_index")
    fresh = found.join(stale, on="article_id", how="anti")
    return fresh.join(held, on=("article_id", "version"), how="anti")


def _unmatched_ids(receipts: "pl.DataFrame", stored: "pl.DataFrame") -> "pl.Series":
    """Return the ids that one of the frames lacks, or has with another hash."""
    import polars as pl

    same = ("article_id", "document_hash")
    unmatched_receipts = receipts.join(stored, on=same, how="anti")
    unmatched_stored = stored.join(receipts, on=same, how="anti")
    columns = [unmatched_receipts["article_id"], unmatched_stored["article_id"]]
    return pl.concat(columns).unique()


def _compared(
    receipts: "pl.DataFrame", stored: "pl.DataFrame", now: datetime
) -> "pl.DataFrame":
    """Return a row for each document that the lake or the index has, with the
    difference between them.
    """
    import polars as pl

    return receipts.join(stored, on="article_id", how="full", suffix="_stored").select(
        pl.coalesce("agency", "agency_stored").alias("agency"),
        pl.coalesce("day", "day_stored").alias("day"),
        pl.coalesce("article_id", "article_id_stored").alias("article_id"),
        pl.lit("search_index").alias("stage"),
        pl.when(pl.col("document_hash_stored").is_null())
        .then(pl.lit("not in the index"))
        .when(pl.col("document_hash").is_null())
        .then(pl.lit("not in the lake"))
        .otherwise(pl.lit("another version"))
        .alias("why"),
        pl.coalesce("indexed_at", pl.lit(now)).alias("since"),
        pl.coalesce("document_hash", pl.lit("gone")).alias("version"),
        pl.coalesce("trace_id", pl.lit("")).alias("trace_id"),
    )


if TYPE_CHECKING:
    import polars as pl


GRACE = timedelta(minutes=10)  # newer work is in progress

_HEADER = ("article_id", "agency", "day", "why", "since")

_CHECKED = """
    SELECT (SELECT count(*) FROM entries WHERE desk = $desk AND day >= $first_day) AS entries,
        (SELECT count(*) FROM raw_articles WHERE desk = $desk AND day >= $first_day
            AND outcome = 'ok') AS articles
"""


def freshness_checks(desk: Desk | None = None) -> dict[str, tuple[str, str]]:
    """Return asset and sentence of each freshness check by its name: of a desk, or
    those that all desks have.
    """
    of_stages = {}
    for stage in stages.stages_of(desk) if desk else stages.STAGES:
        name, sentence = stage.check
        of_stages[name] = (stage.name, sentence)
    return of_stages | {
        "index_equals_lake": (
            "search_index",
            "Index and lake hold the same documents: the same ids with the same hashes.",
        ),
        "agencies_are_heard": (
            "feed_entries",
            "No agency is silent for longer than its habit explains.",
        ),
        "sources_answer": (
            "feed_entries",
            "Every source answers, lists something, and is polled when it is due.",
        ),
    }


def desk_gaps(
    lake: Lake,
    index: SearchIndex,
    desk: Desk,
    now: datetime,
    days: int = GAP_DAYS,
    grace: timedelta = GRACE,
) -> dict[str, Findings]:
    """Return the findings of each freshness check.

    Args:
        lake: The lake.
        index: The index that is compared with it; unavailable, its findings are unknown.
        desk: The desk.
        now: The present time.
        days: How far findings over articles go back.
        grace: Work that is younger is no finding.
    """
    first_day = (now - timedelta(days=days)).date()
    overdue = _overdue(lake, desk, first_day, now, grace)
    window = {"desk": desk.key, "first_day": first_day}
    entries, articles = lake.query(_CHECKED, window).row(0)
    found: dict[str, Findings] = {}
    for stage in stages.stages_of(desk):
        of_stage = overdue.filter(overdue["stage"] == stage.name)
        checked = articles if stage.state else entries
        found[stage.check[0]] = _findings(of_stage, checked)
    try:
        lost = _findings(lost_documents(lake, index, desk, now, first_day), articles)
    except IndexingError as error:
        lost = Findings(0, _HEADER, (), unknown=str(error))
    found["index_equals_lake"] = lost
    found["agencies_are_heard"] = silent_agencies(lake, desk, now)
    found["sources_answer"] = failing_sources(lake, desk, now)
    return found


def _overdue(
    lake: Lake, desk: Desk, first_day: date, now: datetime, grace: timedelta
) -> "pl.DataFrame":
    """Return the work that is older than `grace`."""
    import polars as pl

    pending = pending_entries(lake, desk, now, first_day)
    stale = stale_rows(lake, desk, now, first_day)
    backlog = pl.concat([pending, stale])
    # unchecked documents may take the night
    return backlog.filter(pl.col("since") <= now - grace, pl.col("why") != UNCHECKED)


def _findings(work: "pl.DataFrame", checked: int) -> Findings:
    return Findings(checked, _HEADER, tuple(work.select(_HEADER).rows()))


# --- what operators get ---------------------------------------------------------------


_GIVEN_UP = """
    SELECT desk, stage, count(*), arg_max(reason, last_failed_at) FROM failures
    WHERE next_try_at IS NULL GROUP BY ALL HAVING count(*) >= $least
"""


def bad_states(
    lake: Lake,
    desks: Sequence[Desk],
    operators: Operators,
    ceilings: Ceilings,
    now: datetime,
) -> dict[str, str]:
    """Return one line about each state of the lake's rows that is bad now, by its name."""
    return {
        **dict(_silent(lake, desks, now)),
        **dict(_given_up(lake, operators.given_up_failures)),
        **dict(_over_budget(lake, ceilings, operators.budget_ratio, now)),
    }


def _silent(
    lake: Lake, desks: Sequence[Desk], now: datetime
) -> Iterator[tuple[str, str]]:
    for desk in desks:
        found = silent_agencies(lake, desk, now)
        for row in found.rows:
            facts = dict(zip(found.header, row, strict=True))
            yield (
                f"silent {desk.key}/{facts['agency']}",
                f"no new entry for {facts['silent_for']}",
            )


def _given_up(lake: Lake, least: int) -> Iterator[tuple[str, str]]:
    found = lake.query(_GIVEN_UP, {"least": least})
    for desk, stage, count, reason in found.iter_rows():
        yield f"given up {desk}/{stage}", f"{count} articles, the last: {reason}"


def _over_budget(
    lake: Lake, ceilings: Ceilings, ratio: float, now: datetime
) -> Iterator[tuple[str, str]]:
    if not ceilings:
        return
    paid = spent(lake, now)
    for name, usd, most in (
        ("day", paid.day, ceilings.day),
        ("month", paid.month, ceilings.month),
    ):
        if most and usd >= most * ratio:
            yield (
                f"budget of the {name}",
                f"{usd:.2f} of {most:.2f} US dollars are spent",
            )
