"""What is not yet as it should be: entries that are no articles yet, and articles that are ahead of later stages.

In: an open lake, `now` and a desk. Out: one row for each piece of work, found by comparing what the stages stored
(`pipeline/stage_state/versions.py`) and not by what ran: it makes no difference who changed what, and how long ago.
What is held back until `failures` says so, or given up, is left out. Who asks for the work is decided elsewhere.

Among 500,000 articles pending and behind cost 0.2 and 0.4 s of processor time for the last 35 days, 0.9 and 3.5 s for
all 600: reading the states of everything is most of it. What is asked at every change gives `first_day`.

Every frame has the columns of `COLUMNS`.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING

from news_assets.pipeline.stage_state.versions import DOCUMENT_VERSION
from news_assets.ports import SearchIndex
from news_assets.records import Desk
from news_assets.store.lake import Lake

if TYPE_CHECKING:
    import polars as pl

# stage: the asset that would do it; why: missing, outdated, failed, due or left over; version: the state to work on
COLUMNS = ("agency", "day", "article_id", "stage", "why", "since", "version", "trace_id")

_RECEIPTS = "FROM indexed_documents WHERE desk = $desk AND day >= $first_day AND outcome = 'ok'"

_HELD_BACK = """
    SELECT article_id, stage, version FROM failures
    WHERE desk = $desk AND (next_try_at IS NULL OR next_try_at > $now)
"""

# The states are compared as 64-bit numbers first, which needs a seventh of the memory; what differs is looked at again
# with all its columns. Where several entries lead to one article, the one that was seen first stands for it
# (`pipeline/articles/fetch.py`). An article may lie on a day outside the window, from before its entry moved.
_PENDING = f"""
WITH unsettled AS MATERIALIZED (
    SELECT agency, day, article_id, source_id, entry_id, first_seen_at, entry_hash, trace_id
    FROM (SELECT *, hash(article_id, entry_hash, day) AS state FROM entries WHERE desk = $desk AND day >= $first_day)
    ANTI JOIN (
        SELECT hash(article_id, entry_hash, day) AS state FROM raw_articles
        WHERE desk = $desk AND day >= $first_day AND (next_try_at IS NULL OR next_try_at > $now)
    ) USING (state)
), ids AS MATERIALIZED (
    SELECT DISTINCT article_id FROM unsettled
), first AS (
    SELECT article_id, min((first_seen_at, source_id, entry_id)) AS entry
    FROM entries WHERE desk = $desk AND article_id IN (FROM ids) GROUP BY article_id
), stored AS (
    SELECT article_id, entry_hash, day, next_try_at FROM raw_articles WHERE article_id IN (FROM ids)
), pending AS (
    SELECT u.*, r.article_id IS NOT NULL AS is_stored, r.next_try_at,
        r.day IS DISTINCT FROM u.day OR r.entry_hash IS DISTINCT FROM u.entry_hash AS is_changed
    FROM unsettled u JOIN first USING (article_id) LEFT JOIN stored r USING (article_id)
    WHERE (u.first_seen_at, u.source_id, u.entry_id) = first.entry
)
SELECT agency, day, article_id, 'raw_articles' AS stage,
    CASE WHEN NOT is_stored THEN 'missing' WHEN is_changed THEN 'outdated' ELSE 'due' END AS why,
    CASE WHEN is_changed THEN first_seen_at ELSE next_try_at END AS since,
    entry_hash AS version, trace_id
FROM pending ANTI JOIN ({_HELD_BACK}) held
    ON pending.article_id = held.article_id AND held.stage = 'raw_articles' AND held.version = pending.entry_hash
WHERE is_changed OR next_try_at <= $now
"""

_CONTENT = "coalesce(content_hash, '') AS content_hash"  # NULL in rows from before there was such a column
_COMPARED = {
    "raw_articles": _CONTENT,
    "enriched_articles": f"{_CONTENT}, input_hash, reused_from",
    "article_embeddings": f"{_CONTENT}, input_hash, model",
    "indexed_documents": "document_hash",
}
_SINCE = {
    "raw_articles": "fetched_at",
    "enriched_articles": "enriched_at",
    "article_embeddings": "embedded_at",
    "indexed_documents": "indexed_at",
}


def _joined(columns: str, where: str) -> str:
    """Return the CTEs of an article `a` and of what was made from it: `e`, `v`, `d`; and of the agencies' names."""
    selects = [
        f"SELECT {columns.format(since=_SINCE[table])}, {compared}, outcome FROM {table} "
        f"WHERE desk = $desk AND day >= $first_day {where}"
        for table, compared in _COMPARED.items()
    ]
    return f"""
        a AS ({selects[0]} AND outcome = 'ok' AND text_chars > 0),
        e AS ({selects[1]}), v AS ({selects[2]}), d AS ({selects[3]}),
        named AS (SELECT unnest($agencies::VARCHAR[]) AS agency, unnest($names::VARCHAR[]) AS name)
    """


def _stage(name: str, made: str, is_outdated: str, version: str) -> str:
    """Return what is to be said of one stage's row `made`, as a struct; its `why` is NULL where all is well."""
    return f"""{{
        'stage': '{name}',
        'why': CASE
            WHEN a.article_id IS NULL THEN CASE WHEN {made}.article_id IS NOT NULL THEN 'left over' END
            WHEN {made}.article_id IS NULL THEN 'missing'
            WHEN {is_outdated} THEN 'outdated'
            WHEN {made}.outcome <> 'ok' THEN 'failed'
        END,
        'agency': coalesce(a.agency, {made}.agency),
        'day': coalesce(a.day, {made}.day),
        'since': coalesce(a.since, {made}.since),
        'version': CASE WHEN a.article_id IS NULL THEN 'gone' ELSE {version} END,
        'trace_id': coalesce(a.trace_id, {made}.trace_id)
    }}"""


# The state that the document should be in, as in `pipeline/stage_state/versions.py`.
_STATE = f"""sha256(concat_ws(chr(10), '{DOCUMENT_VERSION}', a.content_hash,
        CASE WHEN e.outcome = 'ok' THEN e.input_hash ELSE '' END,
        CASE WHEN e.outcome = 'ok' THEN coalesce(e.reused_from, '') ELSE '' END,
        CASE WHEN v.outcome = 'ok' THEN v.model ELSE '' END,
        CASE WHEN v.outcome = 'ok' THEN v.input_hash ELSE '' END,
        coalesce(named.name, a.agency)))"""

# `{key}` is what the tables are joined by.
_DIFFERING = f"""
    SELECT {{picked}}, {_STATE} AS state
    FROM a FULL JOIN e USING ({{key}}) FULL JOIN v USING ({{key}}) FULL JOIN d USING ({{key}})
    LEFT JOIN named ON named.agency = a.agency
    WHERE a.{{key}} IS NULL OR e.outcome IS DISTINCT FROM 'ok' OR v.outcome IS DISTINCT FROM 'ok'
        OR d.outcome IS DISTINCT FROM 'ok' OR e.content_hash <> a.content_hash OR v.content_hash <> a.content_hash
        OR d.document_hash <> state
"""

# The keys of what differs are found first, by a 64-bit number in place of the id and from few columns; then only their
# rows are read with everything that is to be said of them. Each table is read once, or twice where something differs,
# and nothing is kept of what agrees: 500,000 articles in 512 MB.
_ALL_DIFFERING = f"""
    WITH {_joined("hash(article_id) AS key, agency", "")}
    SELECT DISTINCT key FROM ({_DIFFERING.format(picked="key", key="key")})
"""
# One id a line: 43,000 as a list parameter take 18 s of processor time.
_IDS = "unnest(string_split($article_ids, chr(10)))"
_GIVEN = f"SELECT DISTINCT hash({_IDS}) AS key"

_EXPECTED = f"""
    WITH {_joined("article_id, agency, day, trace_id", "")}
    SELECT a.article_id, a.agency, a.day, {_STATE} AS document_hash,
        v.outcome IS NOT DISTINCT FROM 'ok' AS has_vector, a.trace_id
    FROM a LEFT JOIN e USING (article_id) LEFT JOIN v USING (article_id) LEFT JOIN named ON named.agency = a.agency
"""


def _stages_behind(keys: str) -> str:
    """Return the query for what is behind among the articles that `keys` finds."""
    return f"""
        WITH keys AS MATERIALIZED ({keys}),
        {_joined("article_id, agency, day, {since} AS since, trace_id", "AND hash(article_id) IN (FROM keys)")},
        compared AS (
            {_DIFFERING.format(picked="article_id, a, e, v, d", key="article_id")}
        ), behind AS (
            SELECT article_id, unnest([
                {_stage("enriched_articles", "e", "e.content_hash <> a.content_hash", "a.content_hash")},
                {_stage("article_embeddings", "v", "v.content_hash <> a.content_hash", "a.content_hash")},
                {_stage("search_index", "d", "d.document_hash <> state", "state")}
            ], recursive := true)
            FROM compared
        )
        SELECT behind.* FROM behind ANTI JOIN ({_HELD_BACK}) held
            ON behind.article_id = held.article_id AND held.stage = behind.stage AND held.version = behind.version
        WHERE why IS NOT NULL
    """


def entries_pending(lake: Lake, desk: Desk, now: datetime, first_day: date | None = None) -> "pl.DataFrame":
    """Return the entries that are to be fetched now: no article yet, changed since, or due for another try."""
    params = {"desk": desk.key, "now": now, "first_day": first_day or desk.first_day}
    return _ordered(lake.query(_PENDING, params), desk)


def articles_behind(lake: Lake, desk: Desk, now: datetime, first_day: date | None = None) -> "pl.DataFrame":
    """Return the articles that a later stage has not worked on as they are now, once for each such stage.

    Rows of later stages whose article is gone are `left over`.
    """
    params = _params(desk, now, first_day or desk.first_day)
    return _ordered(lake.query(_stages_behind(_ALL_DIFFERING), params), desk)


def _params(desk: Desk, now: datetime, first_day: date) -> dict[str, object]:
    names = {agency.key: agency.name for agency in desk.agencies}
    return _named(desk.key, names, first_day) | {"now": now}


def _named(desk: str, agency_names: Mapping[str, str], first_day: date) -> dict[str, object]:
    return {"desk": desk, "first_day": first_day, "agencies": list(agency_names), "names": list(agency_names.values())}


def documents_expected(lake: Lake, desk: str, agency_names: Mapping[str, str]) -> "pl.DataFrame":
    """Return what the index should have of a desk, as the lake is now.

    Columns: article_id, agency, day, document_hash, has_vector, trace_id. All days and agencies, also those that the
    desk no longer has; a desk without a file is given no names.
    """
    return lake.query(_EXPECTED, _named(desk, agency_names, date.min))


def documents_lost(
    lake: Lake, index: SearchIndex, desk: Desk, now: datetime, first_day: date | None = None
) -> "pl.DataFrame":
    """Return the documents that only the receipts or only the index has, or that they have with different hashes.

    What the lake by itself says to be behind is `articles_behind`'s and left out here, and so is what is held back.
    Ids and hashes are compared first, and everything else is read only of what differs.
    """
    import polars as pl

    window = {"desk": desk.key, "first_day": first_day or date.min}
    receipts = lake.query(f"SELECT article_id, document_hash {_RECEIPTS}", window)
    stored = index.stored(desk.key, None, first_day)
    same = ("article_id", "document_hash")
    unmatched = receipts.join(stored, on=same, how="anti"), stored.join(receipts, on=same, how="anti")
    ids = pl.concat([frame["article_id"] for frame in unmatched]).unique()
    given = {"article_ids": "\n".join(ids)}
    said = lake.query(f"{_RECEIPTS} AND article_id IN (SELECT {_IDS})", window | given)
    found = _compared(said, stored.filter(pl.col("article_id").is_in(ids.implode())), now)
    if found.is_empty():
        return found
    behind = lake.query(_stages_behind(_GIVEN), _params(desk, now, min(found["day"])) | given)
    held = lake.query(_HELD_BACK, {"desk": desk.key, "now": now}).filter(pl.col("stage") == "search_index")
    left = found.join(behind, on="article_id", how="anti").join(held, on=("article_id", "version"), how="anti")
    return _ordered(left, desk)


def _compared(receipts: "pl.DataFrame", stored: "pl.DataFrame", now: datetime) -> "pl.DataFrame":
    """Return a row for each document, whichever of lake and index it is in, with why they differ."""
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


def _ordered(frame: "pl.DataFrame", desk: Desk) -> "pl.DataFrame":
    """Return the rows newest day first; those of agencies that the desk no longer has are nobody's work."""
    import polars as pl

    mine = frame.filter(pl.col("agency").is_in([agency.key for agency in desk.agencies]))
    return mine.select(COLUMNS).sort("day", "agency", "article_id", "stage", descending=[True, False, False, False])
