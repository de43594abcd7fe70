"""Deletes old pages, polls, revisions and changes, a month in a transaction.
Maintenance then frees their files.

Of old calls of language models only the answers are dropped: what they cost stays in
the ledger.

What is kept whatever its age: the last poll of each source, the newest changes, and the
pages and revisions of articles whose page may be gone from the web.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial

from news_assets.records.articles import RawArticle
from news_assets.records.desks import KeepDays
from news_assets.records.reading import WITHDRAWN
from news_assets.store.address import METADATA
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot, Transaction

_ANSWERED = timedelta(days=30)  # the longest pause between two polls

# An article's page can be fetched again if the last request gave the page that the text
# is from, and its source still answers. Pages of withdrawn articles are not wanted
# again.
_IS_REPLACEABLE = f"""article_id IN (
    SELECT a.article_id FROM raw_articles a LEFT JOIN sources s USING (source_id)
    WHERE a.day BETWEEN $from_day AND $to_day AND (a.outcome = '{WITHDRAWN}' OR (
        a.outcome = 'ok' AND a.text_origin = 'page' AND a.attempts = 0 AND a.removed_at IS NULL
        AND s.last_outcome IN ('ok', 'unchanged') AND s.last_polled_at >= {{}}
    ))
)"""
_IS_NOT_THE_LAST = (
    "(source_id, polled_at) NOT IN (SELECT (source_id, max(polled_at)) FROM polls GROUP BY"
    " source_id)"
)

_IS_NOT_THE_NEWEST = (  # where those who follow may have got to
    "commit_id < (SELECT max(commit_id) FROM changes)"
)


@dataclass(frozen=True, slots=True)
class OldRows:
    """The rows of one table and month that are too old; of model calls those whose
    answer is.

    Attributes:
        table: Name of the table.
        month: First day of the month that their files are partitioned by.
        rows: How many are deleted, or lose their answer.
        file_bytes: How much as many rows of this table take in files on average.
        kept: How many stay whatever their age.
    """

    table: str
    month: date
    rows: int
    file_bytes: int
    kept: int


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rows of `table` that are `old` are deleted where `may_go` holds; their files
    are partitioned by `month`.

    With `column`, the rows stay, without what is in that column.
    """

    table: str
    month: str
    old: str
    may_go: str
    column: str | None = None

    @property
    def statement(self) -> str:
        """The statement that deletes the rows or empties the column, without its
        condition.
        """
        return (
            f"UPDATE {self.table} SET {self.column} = NULL"
            if self.column
            else f"DELETE FROM {self.table}"
        )


def delete_old_rows(
    lake: Lake,
    keep: KeepDays,
    now: datetime,
    *,
    irreplaceable: bool = False,
    dry_run: bool = False,
) -> Iterator[OldRows]:
    """Delete what is older than `keep`, by whole months, and yield what was deleted; a
    dry run deletes nothing.

    Rows count from when the page was fetched, the poll or the call was made, or the
    revision was replaced; rows of one calendar month (UTC) become too old together.
    With `irreplaceable`, pages and revisions of articles whose page may be gone from
    the web are deleted too.

    Raises:
        LakeError: The lake could not be written; the months before stay deleted.
    """
    for rule in _rules(keep, now, irreplaceable=irreplaceable):
        months = lake.query(
            f"SELECT DISTINCT date_trunc('month', {rule.month})::DATE FROM {rule.table} WHERE"
            f" {rule.old}"
        )
        for (month,) in sorted(months.iter_rows()):
            delete = partial(_delete_month, rule=rule, month=month)
            yield _would_delete(lake, rule, month) if dry_run else lake.transact(delete)


def _rules(keep: KeepDays, now: datetime, *, irreplaceable: bool) -> Iterator[_Rule]:
    may_go = "true" if irreplaceable else _IS_REPLACEABLE.format(_time(now - _ANSWERED))
    if keep.pages:
        yield _Rule("pages", "day", f"fetched_at < {_first(now, keep.pages)}", may_go)
    if keep.polls:
        yield _Rule(
            "polls",
            "polled_at",
            f"polled_at < {_first(now, keep.polls)}",
            _IS_NOT_THE_LAST,
        )
    if keep.revisions:
        yield _Rule(
            "article_revisions",
            "day",
            f"replaced_at < {_first(now, keep.revisions)}",
            may_go,
        )
    if keep.answers:
        old = f"answer_json IS NOT NULL AND called_at < {_first(now, keep.answers)}"
        yield _Rule("model_calls", "day", old, "true", column="answer_json")
    if keep.changes:
        yield _Rule(
            "changes",
            "committed_at",
            f"committed_at < {_first(now, keep.changes)}",
            _IS_NOT_THE_NEWEST,
        )
        yield _Rule(
            "messages",
            "created_at",
            f"created_at < {_first(now, keep.changes)}",
            "sent_at IS NOT NULL",
        )


def _first(now: datetime, days: int) -> str:
    """Return the beginning of the earliest month with a day to keep, as SQL."""
    oldest = now.astimezone(UTC) - timedelta(days=days)
    return _time(datetime(oldest.year, oldest.month, 1, tzinfo=UTC))


def _time(at: datetime) -> str:
    return f"TIMESTAMPTZ '{at.isoformat()}'"


def _where(rule: _Rule, month: date) -> str:
    return (
        f"{rule.old} AND {rule.month} >= DATE '{month}' AND {rule.month} < DATE '{month}' +"
        " INTERVAL 1 MONTH"
    )


def _may_go(reader: Lake | Snapshot, rule: _Rule, month: date) -> str:
    """Return the condition of the rows of this month that may be deleted."""
    if "$from_day" not in rule.may_go:
        return rule.may_go
    from_day, to_day = _days_of_articles(reader, rule, month)
    condition = rule.may_go.replace("$from_day", f"DATE '{from_day}'")
    return condition.replace("$to_day", f"DATE '{to_day}'")


def _days_of_articles(
    reader: Lake | Snapshot, rule: _Rule, month: date
) -> tuple[date, date]:
    """Return the first and last day of the articles that rows of this month are of: all
    are of days around it, but those that moved further.
    """
    first, last = month - timedelta(days=31), month + timedelta(days=62)
    near = (
        f"SELECT article_id FROM raw_articles WHERE day BETWEEN '{first}' AND '{last}'"
    )
    others = reader.query(
        f"SELECT DISTINCT article_id FROM {rule.table} WHERE {_where(rule, month)}"
        f" AND article_id NOT IN ({near})"
    )
    ids = others["article_id"].to_list()
    days = reader.frame(RawArticle, None, ("day",), article_id=ids)["day"].to_list()
    return min([first, *days]), max([last, *days])


def _delete_month(transaction: Transaction, rule: _Rule, month: date) -> OldRows:
    goes = _may_go(transaction, rule, month)
    found = _old_rows(transaction, rule, month, goes)
    if found.rows:
        transaction.cursor.execute(
            f"{rule.statement} WHERE {_where(rule, month)} AND {goes}"
        )
    return found


def _would_delete(lake: Lake, rule: _Rule, month: date) -> OldRows:
    return _old_rows(lake, rule, month, _may_go(lake, rule, month))


def _old_rows(reader: Lake | Snapshot, rule: _Rule, month: date, goes: str) -> OldRows:
    where = _where(rule, month)
    rows, kept, row_bytes = reader.query(
        f"SELECT count_if(goes)::BIGINT, count_if(NOT goes)::BIGINT, ({_ROW_BYTES}) "
        f"FROM (SELECT {goes} AS goes FROM {rule.table} WHERE {where})",
        [rule.table],
    ).row(0)
    return OldRows(
        table=rule.table,
        month=month,
        rows=rows,
        file_bytes=round(rows * row_bytes),
        kept=kept,
    )


_ROW_BYTES = f"""
    SELECT coalesce(sum(file_size_bytes)::DOUBLE / sum(record_count), 0)
    FROM {METADATA}.ducklake_data_file d JOIN {METADATA}.ducklake_table t USING (table_id)
    WHERE table_name = ? AND d.end_snapshot IS NULL AND t.end_snapshot IS NULL
"""
