"""The backlog of a desk: entries that are not fetched yet, and rows of stages that are
missing or outdated.

Found by comparing stored states (`State` in `pipeline/stage_declaration.py`),
which are rendered in SQL here, not runs: so it makes no difference what changed a row
and how long ago. Work whose failure is not due yet, or was given up, is left out.

Among 500,000 articles the two queries take 0.2 and 0.4 s of processor time for the last
35 days, 0.9 and 3.5 s for all 600 days, nearly all of it to read the states. Queries
that run at every change pass a `first_day`.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from news_assets.pipeline import stages
from news_assets.pipeline.schedule import CHECKED_AHEAD
from news_assets.pipeline.stage_declaration import Stage, State
from news_assets.records.articles import MovedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import WITHDRAWN, AgencyDays
from news_assets.retry_table import RELISTED_FETCH
from news_assets.store.lake import Lake
from news_assets.store.statements import days_in
from news_assets.store.tables import table_of
from news_assets.store.transaction import Snapshot
from news_assets.text.dates import day_of

if TYPE_CHECKING:
    import polars as pl


# not by "=", see `store/statements.py`
_OF_DESK = "desk IS NOT DISTINCT FROM $desk"
_FIRST_STAGE = "raw_articles"  # the rows of all other stages are made from its rows
ARTICLES = f"r_{_FIRST_STAGE}"
# column of a stage whose rows are to be replaced although their state is current
_PROVISIONAL_COLUMN: Final = "is_provisional"


class _Derived(NamedTuple):
    """The rows of a derived stage, in SQL: relation, stored and present state, and
    whether they are provisional.
    """

    stage: str
    relation: str
    stored: str
    state: str
    is_provisional: str


def derived_relations() -> list[_Derived]:
    """Return the relations of the derived stages, upstream first."""
    return [_derived(stage, stage.state) for stage in stages.STAGES if stage.state]


def _derived(stage: Stage, state: State) -> _Derived:
    relation = f"r_{stage.name}"
    is_provisional = "false"
    if _may_be_provisional(stage):
        is_provisional = f"{relation}.{_PROVISIONAL_COLUMN}"
    stored = f"{relation}.{state.column}"
    return _Derived(stage.name, relation, stored, state_sql(state), is_provisional)


def _may_be_provisional(stage: Stage) -> bool:
    return any(field.name == _PROVISIONAL_COLUMN for field in fields(stage.record))


def state_sql(state: State) -> str:
    """Return `State.of` as an SQL expression over the relations of the stages."""
    if state.code_version is None:
        ((stage, column),) = state.inputs
        return f"r_{stage}.{column}"
    values = [f"'{state.code_version}'"]
    for stage, column in state.inputs:
        values.append(
            f"CASE WHEN r_{stage}.outcome = 'ok' THEN r_{stage}.{column} ELSE '' END"
        )
    values.append(f"coalesce(named.name, {ARTICLES}.agency)")
    return f"sha256(concat_ws(chr(10), {', '.join(values)}))"


def relations_sql(columns: str, where: str) -> str:
    """Return the CTEs of each stage's rows, named `r_` and the stage's name, and of the
    agencies' names (`named`).

    They have `columns`, in which `{since}` is the time a row was made, `outcome`, and
    the columns that states are read from and stored in. NULLs there, of rows from
    before a state was stored, count as empty.
    """
    relations = [_relation(stage, columns, where) for stage in stages.STAGES]
    agencies = "unnest($agencies::VARCHAR[]) AS agency"
    names = "unnest($names::VARCHAR[]) AS name"
    return ", ".join([*relations, f"named AS (SELECT {agencies}, {names})"])


def _relation(stage: Stage, columns: str, where: str) -> str:
    picked = [columns.format(since=stage.made_at)]
    picked += [f"coalesce({name}, '') AS {name}" for name in _compared_columns(stage)]
    picked.append("outcome")
    if _may_be_provisional(stage):
        column = _PROVISIONAL_COLUMN
        picked.append(f"coalesce({column}, false) AS {column}")
    conditions = f"{_OF_DESK} AND day >= $first_day {where}"
    if stage.name == _FIRST_STAGE:
        conditions += (
            " AND outcome IS NOT DISTINCT FROM 'ok' AND coalesce(text_chars, 0) > 0"
        )
    table = table_of(stage.record).name
    return f"r_{stage.name} AS (SELECT {', '.join(picked)} FROM {table} WHERE {conditions})"


def _compared_columns(stage: Stage) -> list[str]:
    """Return the columns of a stage that its own state is stored in and that states are
    made of, each once.
    """
    found = [stage.state.column] if stage.state else []
    for other in stages.STAGES:
        for name, column in other.state.inputs if other.state else ():
            if name == stage.name and column not in found:
                found.append(column)
    return found


def parameters(
    desk: str, agency_names: Mapping[str, str], first_day: date
) -> dict[str, object]:
    """Return the parameters of `relations_sql`."""
    return {
        "desk": desk,
        "first_day": first_day,
        "agencies": list(agency_names),
        "names": list(agency_names.values()),
    }


def names_of(desk: Desk) -> dict[str, str]:
    """Return the names of a desk's agencies by key."""
    return desk.agency_names


# --- backlog --------------------------------------------------------------------------


PROVISIONAL = "provisional"  # why a row is stale that a language model is to replace
# why an attachment is requested by HEAD: its file may have changed
UNCHECKED = "unchecked"

# stage: the asset that has the work
# why: missing, outdated, failed, due, unchecked, orphaned (its article is gone, and its
#     version is "gone") or provisional (a language model is to replace the row)
# since: when the row or the entry was made
# version: the state to work on
COLUMNS = (
    "agency",
    "day",
    "article_id",
    "stage",
    "why",
    "since",
    "version",
    "trace_id",
)

# Also what ended its process or was given up by runs, which the rows do not say.
HELD_BACK = f"""
    SELECT article_id, stage, version FROM failures
    WHERE {_OF_DESK} AND (next_try_at IS NULL OR next_try_at > $now)
"""

# States are compared as 64-bit numbers first, which takes a seventh of the memory; what
# differs is compared again by all its columns. Which entry decides, and whether a
# change counts yet, is as in `pipeline/articles/attempts.py`. All entries of an article have the
# same day, but it may still be stored under a day before the window, if they moved.
_PENDING = f"""
WITH unsettled AS MATERIALIZED (
    SELECT agency, day, article_id, source_id, entry_id, first_seen_at, entry_hash, trace_id
    FROM (
        SELECT *, hash(article_id, entry_hash, day) AS state
        FROM entries WHERE {_OF_DESK} AND day >= $first_day
    )
    ANTI JOIN (
        SELECT hash(article_id, entry_hash, day) AS state FROM raw_articles
        WHERE {_OF_DESK} AND day >= $first_day AND (next_try_at IS NULL OR next_try_at > $now)
    ) USING (state)
), ids AS MATERIALIZED (
    SELECT DISTINCT article_id FROM unsettled
), first AS (
    SELECT article_id, min((first_seen_at, source_id, entry_id)) AS entry,
        arg_min(coalesce(news_hash, ''), (first_seen_at, source_id, entry_id)) AS news_hash
    FROM entries WHERE {_OF_DESK} AND day >= $first_day AND article_id IN (FROM ids)
    GROUP BY article_id
), stored AS (
    SELECT article_id, entry_hash, news_hash, day, next_try_at, outcome,
        fetched_at + to_seconds({list(RELISTED_FETCH.pauses_s)}[
            least(coalesce(relisted, 0) + 1, {len(RELISTED_FETCH.pauses_s)})
        ]) AS refetch_at
    FROM raw_articles WHERE day >= $stored_since AND article_id IN (FROM ids)
), pending AS (
    SELECT u.*, r.article_id IS NOT NULL AS is_stored, r.next_try_at,
        r.day IS DISTINCT FROM u.day OR (r.entry_hash IS DISTINCT FROM u.entry_hash AND (
            first.news_hash = '' OR r.news_hash IS DISTINCT FROM first.news_hash
            OR r.refetch_at <= $now
        )) AS is_changed
    FROM unsettled u JOIN first USING (article_id) LEFT JOIN stored r USING (article_id)
    WHERE (u.first_seen_at, u.source_id, u.entry_id) = first.entry
        AND r.outcome IS DISTINCT FROM '{WITHDRAWN}'
)
SELECT agency, day, article_id, 'raw_articles' AS stage,
    CASE WHEN NOT is_stored THEN 'missing' WHEN is_changed THEN 'outdated' ELSE 'due' END AS why,
    CASE WHEN is_changed THEN first_seen_at ELSE next_try_at END AS since,
    entry_hash AS version, trace_id
FROM pending ANTI JOIN ({HELD_BACK}) held
    ON pending.article_id = held.article_id AND held.stage = 'raw_articles'
        AND held.version = pending.entry_hash
WHERE is_changed OR next_try_at <= $now
"""

_ATTACHED = f"""
    SELECT article_id, unnest(document_ids) AS document_id FROM agenda_items
    ANTI JOIN (
        SELECT article_id FROM raw_articles
        WHERE {_OF_DESK} AND outcome IS NOT DISTINCT FROM '{WITHDRAWN}'
    ) USING (article_id)
    WHERE {_OF_DESK} AND day >= $first_day
        AND article_id IS NOT NULL AND filter_tier IS NULL
"""

# One row for each article with an attachment that is not read, or whose reading failed
# and is due again.
_UNREAD = f"""
WITH wanted AS ({_ATTACHED}), unread AS (
    SELECT wanted.article_id, bool_or(documents.document_id IS NULL) AS is_missing,
        min(documents.fetched_at) AS tried_at
    FROM wanted LEFT JOIN documents USING (document_id)
    WHERE documents.document_id IS NULL OR documents.outcome = 'failed' GROUP BY wanted.article_id
)
SELECT entries.agency, entries.day, article_id, 'documents' AS stage,
    CASE WHEN is_missing THEN 'missing' ELSE 'failed' END AS why,
    CASE WHEN is_missing THEN first_seen_at ELSE tried_at END AS since,
    entry_hash AS version, trace_id
FROM entries JOIN unread USING (article_id) ANTI JOIN ({HELD_BACK}) held
    ON entries.article_id = held.article_id AND held.stage = 'documents'
        AND held.version = entries.entry_hash
WHERE {_OF_DESK} AND day >= $first_day
"""

# One row for each article of a meeting to come with an attachment whose file may have
# changed: it was requested before the last pass of its source, and is near (`$near`) or
# its source's documents are checked (`$checking`). Each pass is a new version.
_UNCHECKED = f"""
WITH wanted AS ({_ATTACHED}), unchecked AS (
    SELECT e.agency, e.day, e.article_id, 'documents' AS stage, '{UNCHECKED}' AS why,
        s.passed_at AS since,
        concat(e.entry_hash, ' ', s.passed_at) AS version, e.trace_id
    FROM wanted JOIN documents d USING (document_id) 
        JOIN entries e ON e.article_id = wanted.article_id
    JOIN sources s USING (source_id)
    WHERE (list_contains($checking, s.source_id) OR e.day <= $near)
        AND d.outcome IN ('ok', 'skipped') AND d.content_hash IS NOT NULL
        AND d.fetched_at < s.passed_at
)
SELECT DISTINCT unchecked.* FROM unchecked ANTI JOIN ({HELD_BACK}) held
    ON unchecked.article_id = held.article_id AND held.stage = 'documents'
        AND held.version = unchecked.version
"""


def _differing(picked: str, key: str) -> str:
    """Return the query for the articles that have a stage's row missing, failed or
    outdated.

    `key` is the column that the relations are joined by.
    """
    joins = []
    differs = [f"{ARTICLES}.{key} IS NULL"]
    for row in derived_relations():
        joins.append(f"FULL JOIN {row.relation} USING ({key})")
        differs.append(f"{row.relation}.outcome IS DISTINCT FROM 'ok'")
        differs.append(f"{row.stored} <> {row.state}")
        differs.append(row.is_provisional)
    return f"""
        SELECT {picked} FROM {ARTICLES} {" ".join(joins)}
        LEFT JOIN named ON named.agency = {ARTICLES}.agency
        WHERE {" OR ".join(differs)}
    """


def _work(derived: _Derived) -> str:
    """Return the work of one stage as a struct; its `why` is NULL where the stage's row
    is current.
    """
    row, state = derived.relation, derived.state
    return f"""{{
        'stage': '{derived.stage}',
        'why': CASE
            WHEN {ARTICLES}.article_id IS NULL
                THEN CASE WHEN {row}.article_id IS NOT NULL THEN 'orphaned' END
            WHEN {row}.article_id IS NULL THEN 'missing'
            WHEN {derived.stored} <> {state} THEN 'outdated'
            WHEN {derived.is_provisional} THEN '{PROVISIONAL}'
            WHEN {row}.outcome <> 'ok' THEN 'failed'
        END,
        'agency': coalesce({ARTICLES}.agency, {row}.agency),
        'day': coalesce({ARTICLES}.day, {row}.day),
        'since': coalesce({ARTICLES}.since, {row}.since),
        'version': CASE WHEN {ARTICLES}.article_id IS NULL THEN 'gone' ELSE {state} END,
        'trace_id': coalesce({ARTICLES}.trace_id, {row}.trace_id)
    }}"""


GIVEN_KEYS = "SELECT unnest($keys)::UBIGINT AS key"


def differing_sql() -> str:
    """Return the query for the keys of everything that differs: a 64-bit number in
    place of each id.
    """
    relations = relations_sql("hash(article_id) AS key, agency", "")
    return f"WITH {relations} SELECT DISTINCT key FROM ({_differing('key', 'key')})"


def stale_sql(keys: str) -> str:
    """Return the query for the stale rows of the articles that `keys` finds."""
    derived = derived_relations()
    compared = ", ".join([ARTICLES, *(row.relation for row in derived), "named"])
    work = ", ".join(map(_work, derived))
    relations = relations_sql(
        "article_id, agency, day, {since} AS since, trace_id",
        "AND hash(article_id) IN (FROM keys)",
    )
    return f"""
        WITH keys AS MATERIALIZED ({keys}),
        {relations},
        compared AS ({_differing(f"article_id, {compared}", "article_id")}),
        stale AS (SELECT article_id, unnest([{work}], recursive := true) FROM compared)
        SELECT stale.* FROM stale ANTI JOIN ({HELD_BACK}) held
            ON stale.article_id = held.article_id AND held.stage = stale.stage
                AND held.version = stale.version
        WHERE why IS NOT NULL
    """


def pending_entries(
    lake: Lake | Snapshot, desk: Desk, now: datetime, first_day: date | None = None
) -> "pl.DataFrame":
    """Return the entries to fetch now: those without an article, changed since, or due
    for another attempt.

    Of a civic desk also those with an attachment to read, or one whose file may have
    changed.
    """
    import polars as pl

    first_day = first_day or desk.first_day
    params = {"desk": desk.key, "now": now, "first_day": first_day}
    found = [_unfetched(lake, params)]
    if desk.is_civic:
        today = day_of(now, desk.timezone)
        checking = [one.source_id for one in desk.sources if one.checks_documents]
        coming = params | {
            "first_day": max(first_day, today),
            "checking": checking,
            "near": today + CHECKED_AHEAD,
        }
        found.append(lake.query(_UNREAD, params).select(COLUMNS))
        found.append(lake.query(_UNCHECKED, coming).select(COLUMNS))
    return newest_first(pl.concat(found), desk)


def _unfetched(lake: Lake | Snapshot, params: Mapping[str, object]) -> "pl.DataFrame":
    """Return the pending entries; the files of all days are opened only where an article
    of them moved.
    """
    within = {"stored_since": params["first_day"]}
    found = lake.query(_PENDING, {**params, **within}).select(COLUMNS)
    if not _has_moved(lake, found):
        return found
    ever = {"stored_since": date.min}
    return lake.query(_PENDING, {**params, **ever}).select(COLUMNS)


def _has_moved(lake: Lake | Snapshot, found: "pl.DataFrame") -> bool:
    ids = found["article_id"].to_list()
    for article_id, day in zip(ids, found["day"], strict=True):
        if day not in days_in(article_id):
            return True
    if not ids:
        return False
    return not lake.frame(MovedArticle, None, ("day",), article_id=ids).is_empty()


def stale_rows(
    lake: Lake | Snapshot, desk: Desk, now: datetime, first_day: date | None = None
) -> "pl.DataFrame":
    """Return a row for each article and derived stage whose row is missing, outdated,
    failed or orphaned.

    What differs is found from few columns. Rows are then read again, with all columns,
    only of these articles, if there are any: 500,000 articles are compared in 512 MB.
    """
    import polars as pl

    params = parameters(desk.key, names_of(desk), first_day or desk.first_day)
    keys = lake.query(differing_sql(), params)["key"]
    if keys.is_empty():
        return pl.DataFrame(
            schema={name: pl.String for name in COLUMNS}
            | {"day": pl.Date, "since": pl.Datetime("us", "UTC")}
        )
    given = {"now": now, "keys": keys.to_list()}
    return newest_first(lake.query(stale_sql(GIVEN_KEYS), params | given), desk)


def work_of(
    lake: Lake, desk: Desk, stage: Stage, keys: AgencyDays, now: datetime
) -> "pl.DataFrame":
    """Return the backlog of one stage in these agency-days, without rows of articles
    that are gone.
    """
    import polars as pl

    first_day = min(day for _, day in keys.pairs)
    backlog = pending_entries if stage.state is None else stale_rows
    rows = backlog(lake, desk, now, first_day)
    pairs = [{"agency": agency, "day": day} for agency, day in keys.pairs]
    is_inside = pl.struct("agency", "day").is_in(pairs)
    return rows.filter(
        is_inside, pl.col("stage") == stage.name, pl.col("version") != "gone"
    )


def newest_first(frame: "pl.DataFrame", desk: Desk) -> "pl.DataFrame":
    """Return the rows of the desk's present agencies, the newest day first."""
    import polars as pl

    own = frame.filter(pl.col("agency").is_in(list(desk.agency_names)))
    return own.select(COLUMNS).sort(
        "day", "agency", "article_id", "stage", descending=[True, False, False, False]
    )
