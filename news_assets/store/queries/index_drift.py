"""Documents that the search index and the lake do not share."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING

from news_assets.pipeline.stage_state.declaration import DOCUMENT_STATE
from news_assets.ports.search_index import SearchIndex
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import (
    ARTICLES,
    HELD_BACK,
    derived_relations,
    names_of,
    newest_first,
    parameters,
    relations_sql,
    stale_sql,
    state_sql,
)

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
    params = parameters(desk.key, names_of(desk), min(found["day"]))
    stale = lake.query(stale_sql(_GIVEN), params | {"now": now} | given)
    held = lake.query(HELD_BACK, {"desk": desk.key, "now": now})
    held = held.filter(pl.col("stage") == "search_index")
    unexplained = found.join(stale, on="article_id", how="anti")
    unexplained = unexplained.join(held, on=("article_id", "version"), how="anti")
    return newest_first(unexplained, desk)


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
