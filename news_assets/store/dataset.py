"""The published data set: articles by day in Parquet files, and the changes of each
issue, described by a data package (`datapackage.json`, https://datapackage.org).

An issue is what its data package lists. Files are written under new names first, then
the data package is replaced in one step, and files of former issues are deleted last: a
run that dies in between changes nothing for readers. Only days with changes are written
again.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from news_assets.errors import LakeError
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ALWAYS,
    ArticleEmbedding,
    DatasetOptions,
    EnrichedArticle,
    publishable_fields,
)
from news_assets.store.address import Address, DataFolder, quoted, without_password
from news_assets.store.connection import load_extension
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import (
    Cursor,
    CursorError,
    followed,
    newest_cursor,
)
from news_assets.store.tables import ArrowStream, Column, columns, table_of
from news_assets.store.transaction import Snapshot

if TYPE_CHECKING:
    import polars

_Resource = dict[str, Any]

CARD = "datapackage.json"
_STAMP = "%Y%m%dT%H%M%SZ"
_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_LICENCE = "notspecified"  # the name for none at licenses.opendefinition.org
_PARQUET = "FORMAT parquet, COMPRESSION zstd, RETURN_STATS true"
# more, as after a backfill, make a whole issue: a file is read into memory for its hash
_MOST_CHANGES = 100_000
# other files of the folder are not deleted
_OURS = re.compile(r"(articles/day=[\d-]{10}|changes)/\d{8}T\d{6}Z\w*\.parquet")
_DAY = re.compile(r"day=([\d-]{10})")
_ALIASES = {RawArticle: "a", EnrichedArticle: "e", ArticleEmbedding: "v"}
_JOINED = {EnrichedArticle: "enriched_articles", ArticleEmbedding: "article_embeddings"}
_TYPES = {
    "VARCHAR": "string",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMPTZ": "datetime",
    "VARCHAR[]": "array",
    "FLOAT[]": "array",
}
_CHANGE = Column(
    "change",
    "VARCHAR",
    False,
    "stored: the row replaces that of the article; removed: the article is withdrawn",
)
# An article that moved to another day has the former one in its id.
_CHANGED = r"""
SELECT article_id, day,
    try_cast(regexp_extract(article_id, '-(\d{4}-\d\d-\d\d)-', 1) AS DATE) AS first_day
FROM changes
WHERE commit_id >= $commit AND (commit_id > $commit OR sequence > $sequence)
    AND change <> 'indexed'
GROUP BY ALL
"""
_OF_CHANGED = "a.article_id IN (SELECT article_id FROM changed)"
_REMOVED = """
SELECT a.article_id, a.desk, a.agency, a.day FROM raw_articles a
WHERE a.outcome <> 'ok' AND
"""


@dataclass(frozen=True, slots=True)
class Issue:
    """What was published; `changed` and `removed` count articles since the last issue,
    0 where all files are new (`is_whole`).
    """

    version: str
    articles: int
    files: int
    written: int
    changed: int
    removed: int
    is_whole: bool


def publish(
    lake: Lake,
    options: DatasetOptions,
    now: datetime,
    most_changes: int = _MOST_CHANGES,
) -> Issue:
    """Publish the next issue; an issue with nothing but its date if nothing changed.

    All days are written again if the fields changed, if the last issue is older than the
    record of changes, and if more than `most_changes` articles changed.

    Raises:
        LakeError: The lake cannot be read, or the folder cannot be written.
    """
    address = Address("", options.place)
    with lake.latest() as snapshot:
        maker = _Maker(
            snapshot,
            DataFolder(address, snapshot.cursor),
            options,
            f"{now:{_STAMP}}",
            most_changes,
        )
        try:
            if not address.is_local:
                load_extension(snapshot.cursor, "httpfs")
            return maker.publish(now)
        except (duckdb.Error, OSError) as error:
            cause = " ".join(without_password(str(error)).split())
            raise LakeError(
                f"{options.place}: the data set could not be written: {cause[:400]}"
            ) from error


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes one issue from a snapshot of the lake."""

    snapshot: Snapshot
    folder: DataFolder
    options: DatasetOptions
    version: str
    most_changes: int

    def publish(self, now: datetime) -> Issue:
        former = self._former()
        until = newest_cursor(self.snapshot)
        since = self._since(former)
        listed = former["resources"] if former and since else []
        changed = removed = 0
        if since is None:
            days = self._all_days()
        else:
            days, changed, removed = self._changed_days(since)
        articles = [one for one in listed if _is_of_day(one) and one["day"] not in days]
        written = self._write_days(days)
        changes = self._kept_changes(listed, removed, now)
        if since and changed:
            changes.append(self._write_changes(days, since, until))
        resources = [*sorted(articles + written, key=_path), *changes]
        if resources or former:
            self._write_card(resources, until, now)
            self._delete_unlisted(resources)
        return Issue(
            self.version,
            sum(one["rows"] for one in resources if _is_of_day(one)),
            len(resources),
            len(written),
            changed,
            removed,
            since is None,
        )

    # --- what changed -----------------------------------------------------------------

    def _former(self) -> dict[str, Any] | None:
        text = self.folder.text_of(CARD)
        return None if text is None else json.loads(text)

    def _since(self, former: dict[str, Any] | None) -> Cursor | None:
        """Return the cursor of the last issue; None if all days are to be written."""
        if former is None or former["fields"] != self._names():
            return None
        with suppress(CursorError):
            since = followed(self.snapshot, Cursor.of(former["cursor"]))
            if self._count_changed(since) <= self.most_changes:
                return since
            return None
        return None

    def _count_changed(self, since: Cursor) -> int:
        sql = f"SELECT count(DISTINCT article_id) FROM ({_CHANGED})"
        return int(self.snapshot.query(sql, _after(since)).item())

    def _all_days(self) -> set[str]:
        found = self.snapshot.query(
            "SELECT DISTINCT day FROM raw_articles WHERE outcome = 'ok'"
        )
        return set(map(str, found["day"]))

    def _changed_days(self, since: Cursor) -> tuple[set[str], int, int]:
        """Return the days of changed articles, how many of these there are, and how many
        of them were removed; both as tables `changed` and `removed` of the cursor.
        """
        changed = self.snapshot.query(_CHANGED, _after(since))
        self._register("changed", changed)
        removed = self.snapshot.query(_REMOVED + _OF_CHANGED)
        self._register("removed", removed)
        days = {*changed["day"], *changed["first_day"].drop_nulls()}
        return set(map(str, days)), changed["article_id"].n_unique(), len(removed)

    def _register(self, name: str, frame: "polars.DataFrame") -> None:
        self.snapshot.cursor.register(name, ArrowStream(frame))

    # --- files ------------------------------------------------------------------------

    def _rows(self, condition: str) -> str:
        """Return the SELECT of the rows of articles."""
        records = publishable_fields()
        names = self._names()
        chosen = [f'{_ALIASES[records[name]]}."{name}"' for name in names]
        sql = f"SELECT {', '.join(chosen)} FROM raw_articles a"
        for record, table in _JOINED.items():
            alias = _ALIASES[record]
            if record in map(records.__getitem__, names):
                sql += (
                    f" LEFT JOIN {table} {alias} ON {alias}.article_id = a.article_id AND"
                    f" {alias}.day = a.day AND {alias}.outcome = 'ok'"
                )
        return f"{sql} WHERE a.outcome = 'ok' AND {condition}"

    def _write_days(self, days: Iterable[str]) -> list[_Resource]:
        """Write a file for each day that has articles, a month at a time: a file of the
        lake has a month.
        """
        written: list[_Resource] = []
        for _, month in groupby(sorted(days), key=lambda day: day[:7]):
            rows = self._rows(_in_days(month))
            written += self._copy(
                f"{rows} ORDER BY a.day, a.article_id",
                "articles",
                f"{_PARQUET}, PARTITION_BY (day), WRITE_PARTITION_COLUMNS true,"
                f" FILENAME_PATTERN '{self.version}_{{i}}', OVERWRITE_OR_IGNORE true",
            )
        for one in written:
            one["day"] = _DAY.findall(one["path"])[0]
        return written

    def _write_changes(
        self, days: Iterable[str], since: Cursor, until: Cursor
    ) -> _Resource:
        """Write the rows of changed articles, and the ids of removed ones."""
        condition = f"{_in_days(days)} AND {_OF_CHANGED}"
        (written,) = self._copy(
            f"SELECT 'stored' AS change, * FROM ({self._rows(condition)})"
            " UNION ALL BY NAME SELECT 'removed' AS change, * FROM removed",
            f"changes/{self.version}.parquet",
            _PARQUET,
        )
        return {**written, "since": str(since), "until": str(until)}

    def _kept_changes(
        self, listed: Sequence[_Resource], removed: int, now: datetime
    ) -> list[_Resource]:
        """Return the changes of former issues that are not too old; a file with an
        article that was removed since is written again without it.
        """
        days = self.options.keep_days
        oldest = f"{now - timedelta(days=days):{_STAMP}}" if days else ""
        kept = []
        for one in listed:
            if _is_of_day(one) or Path(one["path"]).stem < oldest:
                continue
            kept.append(self._without_removed(one) if removed else one)
        return kept

    def _without_removed(self, changes: _Resource) -> _Resource:
        rows = f"FROM read_parquet({quoted(self.folder.path(changes['path']))})"
        is_removed = (
            "change = 'stored' AND article_id IN (SELECT article_id FROM removed)"
        )
        found = self.snapshot.query(f"SELECT count(*) {rows} WHERE {is_removed}").item()
        if not found:
            return changes
        stem = Path(changes["path"]).stem.partition("_")[0]
        name = f"changes/{stem}_{self.version}.parquet"
        (written,) = self._copy(f"{rows} WHERE NOT ({is_removed})", name, _PARQUET)
        return {**changes, **written}

    def _copy(self, sql: str, name: str, options: str) -> list[_Resource]:
        """Write the rows of a SELECT; return the files as resources."""
        target = self.folder.path(name)
        if self.folder.address.is_local:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        copied = self.snapshot.cursor.execute(
            f"COPY ({sql}) TO {quoted(target)} ({options})"
        ).fetchall()
        return [self._resource(file, rows) for file, rows, *_ in copied]

    def _resource(self, file: str, rows: int) -> _Resource:
        digest, size = self.snapshot.query(
            f"SELECT sha256(content), size FROM read_blob({quoted(file)})"
        ).row(0)
        path = file.removeprefix(self.folder.address.data_path)
        return {
            "name": re.sub(r"[^a-z0-9-]+", "-", path.removesuffix(".parquet").lower()),
            "type": "table",
            "path": path,
            "format": "parquet",
            "mediatype": "application/vnd.apache.parquet",
            "bytes": size,
            "hash": f"sha256:{digest}",
            "rows": rows,
        }

    # --- the data package -------------------------------------------------------------

    def _names(self) -> list[str]:
        return list(dict.fromkeys((*ALWAYS, *self.options.fields)))

    def _columns(self) -> list[Column]:
        records = publishable_fields()
        found = []
        for name in self._names():
            declared = columns(table_of(records[name]))
            found += [column for column in declared if column.name == name]
        return found

    def _write_card(
        self, resources: Sequence[_Resource], until: Cursor, now: datetime
    ) -> None:
        """Write the schemas, and then the data package that names them."""
        own = self._columns()
        articles = self._write_schema("articles", _table_schema(own))
        changes = self._write_schema("changes", _table_schema([_CHANGE, *own]))
        for one in resources:
            one["schema"] = articles if _is_of_day(one) else changes
        card = {
            "$schema": _PROFILE,
            "name": "articles",
            "title": "Articles by day, with the changes of each issue",
            "description": _described(resources),
            "version": self.version,
            "created": now.isoformat(timespec="seconds"),
            "licenses": [{"name": self.options.licence or _LICENCE}],
            "sources": self._publishers(),
            "cursor": str(until),
            "fields": self._names(),
            "resources": list(resources),
        }
        self._write_text(CARD, json.dumps(card, ensure_ascii=False, indent=1))

    def _write_schema(self, kind: str, schema: dict[str, Any]) -> str:
        """Return the name of the schema's file, which has a hash of its content."""
        text = json.dumps(schema, ensure_ascii=False, indent=1)
        name = f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
        self._write_text(name, text)
        return name

    def _write_text(self, name: str, text: str) -> None:
        target = quoted(self.folder.path(name))
        self.snapshot.cursor.execute(
            f"COPY (SELECT encode({quoted(text)}) AS content) TO {target} (FORMAT blob)"
        )

    def _publishers(self) -> list[dict[str, str]]:
        found = self.snapshot.query(
            "SELECT DISTINCT desk || '/' || agency AS title FROM raw_articles"
            " WHERE outcome = 'ok' ORDER BY title"
        )
        return [{"title": title} for title in found["title"]]

    # --- files of former issues -------------------------------------------------------

    def _delete_unlisted(self, resources: Iterable[_Resource]) -> None:
        """Delete the files of former issues, and of runs that died.

        DuckDB deletes files, also on S3, only as those of a lake: one in memory lists
        them as its own.
        """
        listed = set(map(_path, resources))
        root = self.folder.address.data_path
        with self.snapshot.cursor.cursor() as cursor:
            found = cursor.execute(
                f"SELECT file FROM glob({quoted(f'{root}**/*.parquet')})"
            ).fetchall()
            paths = {file.removeprefix(root) for (file,) in found}
            old = [one for one in paths - listed if _OURS.fullmatch(one)]
            if old:
                _delete(cursor, [root + one for one in sorted(old)])


def _delete(cursor: duckdb.DuckDBPyConnection, files: Iterable[str]) -> None:
    name = "files_to_delete"
    listed = f"__ducklake_metadata_{name}.ducklake_files_scheduled_for_deletion"
    cursor.execute(f"ATTACH 'ducklake::memory:' AS {name} (DATA_PATH 'none/')")
    try:
        for file in files:
            cursor.execute(
                f"INSERT INTO {listed} VALUES (0, {quoted(file)}, false, now())"
            )
        cursor.execute(
            f"CALL ducklake_cleanup_old_files('{name}', cleanup_all => true)"
        ).fetchall()
    finally:
        cursor.execute(f"DETACH {name}")


def _table_schema(fields: Iterable[Column]) -> dict[str, Any]:
    described = []
    for column in fields:
        kind = _TYPES[column.sql_type]
        field = {"name": column.name, "type": kind, "description": column.meaning}
        described.append(field)
    return {"fields": described, "primaryKey": ["article_id"]}


def _after(since: Cursor) -> dict[str, int]:
    return {"commit": since.commit_id, "sequence": since.sequence}


def _path(resource: _Resource) -> str:
    return str(resource["path"])


def _is_of_day(resource: _Resource) -> bool:
    return "day" in resource


def _in_days(days: Iterable[str]) -> str:
    listed = ", ".join(f"DATE '{date.fromisoformat(day)}'" for day in sorted(days))
    return f"a.day IN ({listed or 'NULL'})"


def _described(resources: Sequence[_Resource]) -> str:
    """Return what the data set is, for persons, in Markdown."""
    days = sorted(one["day"] for one in resources if _is_of_day(one))
    span = f" of the days {days[0]} to {days[-1]}" if days else ""
    return (
        f"{sum(one['rows'] for one in resources if _is_of_day(one))} articles{span}, by day"
        " of publication.\n\n"
        "Read the files that `resources` lists: others belong to no issue. Those with `day`"
        " hold all articles. Those with `since` and `until` hold what changed between two"
        " issues: who has the issue with the `cursor` of `since` replaces the rows that are"
        " `stored`, and deletes those that are `removed`, by `article_id`; without such a"
        " file, read all days again. Articles that were withdrawn are in no file.\n\n"
        "Themes, keywords, summaries and languages are made by programs and can be wrong."
        " Copies of another article name it in `duplicate_of`, where that field is"
        " published."
    )
