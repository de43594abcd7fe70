"""What changed: the record of changes, read in commit order from a cursor on; texts that
publishers replaced after publication, newest first, and when articles were edited last;
and the changes of meetings and articles that readers can follow.

Texts that only another method of extraction replaced are no edits.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Final, Self

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.alerts.hits import RecentChange
from news_assets.ports.services import Reader
from news_assets.records.derived import Change
from news_assets.store.lake import Lake
from news_assets.store.tables import made_of, records_of, table_of
from news_assets.store.transaction import Snapshot

_FORM = re.compile(r"(\d{1,18})-(\d{1,18})-(\d{1,18})")


class CursorError(NewsAssetsError):
    """A cursor that cannot be followed; `is_lost` if changes after it are not kept any
    more.
    """

    def __init__(self, message: str, *, is_lost: bool = False) -> None:
        self.is_lost = is_lost
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far changes were read. `restored_s` is the time of the lake's last restore:
    a restored lake repeats commits.
    """

    restored_s: int
    commit_id: int
    sequence: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the cursor of a text that `str` made. Raises CursorError."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise CursorError(
                f"{text[:60]!r} is not a cursor; take `next` of an earlier answer, or none to begin"
            )
        return cls(*map(int, found.groups()))

    def __str__(self) -> str:
        return f"{self.restored_s}-{self.commit_id}-{self.sequence}"


def read_changes(
    lake: Lake, since: Cursor | None, limit: int
) -> tuple[list[Change], Cursor]:
    """Return up to `limit` changes after a cursor in commit order, and the cursor after
    them.

    None begins with the oldest change that is kept. What is committed later has a
    greater cursor, so nothing is missed.

    Raises:
        CursorError: Changes after the cursor are not kept any more, or the lake was
            restored from a backup since.
        LakeError: The lake could not be read.
    """
    with lake.latest() as snapshot:
        after = followed(snapshot, since)
        frame = snapshot.query(
            "SELECT * FROM changes WHERE commit_id >= $commit AND (commit_id > $commit OR sequence"
            " > $sequence) ORDER BY commit_id, sequence LIMIT $limit",
            {"commit": after.commit_id, "sequence": after.sequence, "limit": limit},
        )
    changes = list(records_of(table_of(Change), Change, frame))
    if changes:
        newest = changes[-1]
        after = Cursor(after.restored_s, newest.commit_id, newest.sequence)
    return changes, after


def followed(snapshot: Snapshot, since: Cursor | None) -> Cursor:
    """Return the cursor after which changes are to be read; None begins with the oldest.

    Raises:
        CursorError: Changes after the cursor are not kept any more, or the lake was
            restored from a backup since.
    """
    restored_s, oldest = snapshot.query(
        "SELECT coalesce(epoch(restored_at)::BIGINT, 0), (SELECT min(commit_id) FROM changes)"
        " FROM lake_identity"
    ).row(0)
    after = since or Cursor(restored_s, 0, 0)
    if after.restored_s != restored_s:
        raise CursorError(
            "the lake was restored from a backup since this cursor; begin without one",
            is_lost=True,
        )
    if after.commit_id and oldest is not None and after.commit_id < oldest:
        raise CursorError(
            "changes after this cursor are not kept any more; begin without one",
            is_lost=True,
        )
    return after


def has_change(lake: Lake, since: Cursor, change: str) -> bool:
    """Return whether a change of this kind was recorded after a cursor, or the cursor
    is of another history.
    """
    restored_s, found = lake.query(
        "SELECT coalesce(epoch(restored_at)::BIGINT, 0), (SELECT count(*) FROM changes WHERE"
        " commit_id >= $commit AND (commit_id > $commit OR sequence > $sequence) AND change ="
        " $change) FROM lake_identity",
        {"commit": since.commit_id, "sequence": since.sequence, "change": change},
    ).row(0)
    return bool(restored_s != since.restored_s or found)


def newest_cursor(lake: Lake | Snapshot) -> Cursor:
    """Return the cursor after the newest change. Maintenance keeps that change, so the
    cursor stays valid.
    """
    restored_s, newest = lake.query(
        "SELECT coalesce(epoch(restored_at)::BIGINT, 0), (SELECT max({'commit_id': commit_id,"
        " 'sequence': sequence}) FROM changes) FROM lake_identity"
    ).row(0)
    return Cursor(restored_s, *(newest.values() if newest else (0, 0)))


# --- edits, and what readers follow ---------------------------------------------------


_MOVED: Final = timedelta(days=7)  # an article may have another day than its edit
_WHICH: Final = """
    cause != 'method' AND replaced_at >= $first
        AND ($until IS NULL OR replaced_at < $until::TIMESTAMPTZ)
        AND ($desk IS NULL OR desk = $desk) AND ($agency IS NULL OR agency = $agency)
"""
_DAYS: Final = f"SELECT min(day), max(day) FROM article_revisions WHERE {_WHICH}"
_EDITS: Final = f"""
    SELECT article_id, r.desk, r.agency, a.day, a.url, a.title, a.language, a.published_at,
        r.rev_n, r.replaced_at,
        a.updated_at IS NULL OR a.updated_at <= r.fetched_at AS is_silent
    FROM (SELECT * FROM article_revisions WHERE {_WHICH}) r
    JOIN raw_articles a USING (article_id)
    WHERE a.day BETWEEN $first_day AND $last_day AND a.outcome != 'withdrawn'
        AND ($all OR is_silent)
        AND ($after_at IS NULL
            OR (r.replaced_at, article_id) < ($after_at::TIMESTAMPTZ, $after_id))
    ORDER BY r.replaced_at DESC, article_id DESC LIMIT $limit
"""
_OF_ARTICLES: Final = """
    SELECT article_id, r.desk, r.agency, a.day, a.url, a.title, a.language, a.published_at,
        r.rev_n, r.replaced_at,
        a.updated_at IS NULL OR a.updated_at <= r.fetched_at AS is_silent
    FROM article_revisions r JOIN raw_articles a USING (article_id)
    WHERE list_contains($ids, article_id) AND r.cause IS DISTINCT FROM 'method'
        AND a.day BETWEEN $first_day AND $last_day
    ORDER BY r.replaced_at, article_id
"""
_LAST: Final = """
    SELECT article_id, max(replaced_at) FROM article_revisions
    WHERE cause != 'method' AND list_contains($ids, article_id) GROUP BY article_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A text that its publisher replaced; title and times are the article's of now."""

    article_id: Annotated[str, "id of the article"]
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    day: Annotated[date, "day of publication"]
    url: Annotated[str, "address of the article"]
    title: Annotated[str | None, "headline"]
    language: Annotated[str | None, "BCP 47 code"]
    published_at: Annotated[datetime | None, "publication time"]
    rev_n: Annotated[int, "number of the revision that was replaced"]
    replaced_at: Annotated[datetime, "time when the edit was found"]
    is_silent: Annotated[
        bool, "whether the page states no time of a change since that text was fetched"
    ]


def newest_edits(
    lake: Lake,
    *,
    first: datetime,
    silent_only: bool,
    until: datetime | None = None,
    desk: str | None = None,
    agency: str | None = None,
    after: tuple[datetime, str] | None = None,
    limit: int,
) -> list[Edit]:
    """Return edits, newest first; not those of withdrawn articles.

    Args:
        lake: The lake.
        first: Edits found since this time.
        until: Only edits found before this time.
        silent_only: Only those that the page does not mention.
        desk: Key of the desk.
        agency: Key of the agency.
        after: replaced_at and article_id; only edits that come after it.
        limit: How many edits.
    """
    which: dict[str, Any] = {
        "first": first,
        "until": until,
        "desk": desk,
        "agency": agency,
    }
    after_at, after_id = after or (None, None)
    with lake.latest() as snapshot:
        first_day, last_day = snapshot.query(_DAYS, which).row(0)
        if first_day is None:
            return []
        given = which | {
            "all": not silent_only,
            "first_day": first_day - _MOVED,
            "last_day": last_day + _MOVED,
            "after_at": after_at,
            "after_id": after_id,
            "limit": limit,
        }
        found = snapshot.query(_EDITS, given)
    return made_of(Edit, found)


def edits_of(
    reader: Snapshot, article_ids: Collection[str], first_day: date, last_day: date
) -> list[Edit]:
    """Return the edits of these articles of some days, oldest first."""
    if not article_ids:
        return []
    given = {
        "ids": list(article_ids),
        "first_day": first_day,
        "last_day": last_day,
    }
    return [Edit(**row) for row in reader.rows_of(_OF_ARTICLES, given)]


def last_edits(lake: Reader, article_ids: Collection[str]) -> dict[str, datetime]:
    """Return when the last edit of each of these articles that was edited was found."""
    if not article_ids:
        return {}
    return dict(lake.query(_LAST, {"ids": list(article_ids)}).iter_rows())


_OF_MEETINGS: Final = """
    SELECT c.kind, c.changed_at, coalesce(nullif(c.item_id, ''), c.meeting_id),
        list(i.article_id ORDER BY i.sequence)
    FROM meeting_changes c
    JOIN agenda_items i ON i.meeting_id = c.meeting_id AND c.item_id IN ('', i.item_id)
    WHERE c.changed_at > $since AND i.article_id IS NOT NULL
        AND c.kind IN ('cancelled', 'moved', 'agenda', 'document', 'voted')
    GROUP BY ALL
"""
_EDITED: Final = """
    SELECT 'edited', r.replaced_at, article_id, [article_id]
    FROM article_revisions r JOIN raw_articles a USING (article_id)
    WHERE r.cause != 'method' AND r.replaced_at > $since AND a.outcome = 'ok'
        AND a.meeting_id = '' AND (a.updated_at IS NULL OR a.updated_at <= r.fetched_at)
"""
_WITHDRAWN: Final = """
    SELECT 'withdrawn', max(committed_at), article_id, [article_id]
    FROM changes WHERE change = 'withdrawn' AND committed_at > $since GROUP BY article_id
"""
_NEWEST: Final = "SELECT max(changed_at) FROM meeting_changes"


def recent_changes(lake: Reader, since: datetime) -> list[RecentChange]:
    """Return the changes since a time, the oldest first."""
    sql = f"{_OF_MEETINGS} UNION ALL {_EDITED} UNION ALL {_WITHDRAWN} ORDER BY ALL"
    found = lake.query(sql, {"since": since})
    return [
        RecentChange(kind, at, about, tuple(articles))
        for kind, at, about, articles in found.iter_rows()
    ]


def newest_meeting_change(lake: Reader) -> datetime | None:
    """Return the time of the newest change of a meeting; None without any."""
    [newest] = lake.query(_NEWEST).row(0)
    return newest  # type: ignore[no-any-return]
