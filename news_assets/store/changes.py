"""The record of changes, read in commit order from a cursor on."""

import re
from dataclasses import dataclass
from typing import Self

from news_assets.errors import NewsAssetsError
from news_assets.records.derived import Change
from news_assets.store.lake import Lake
from news_assets.store.tables import records_of, table_of
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
