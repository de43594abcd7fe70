"""What a search shows beneath a hit: the other articles with the same or nearly the same
text, whichever of them is the original, and the other appearances of a matter in
several meetings, the next meeting first.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Final

from news_assets.ports.search_index import Filters, SearchHit
from news_assets.records.articles import RawArticle
from news_assets.records.content import MeetingDay, MeetingId
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Another article with the same or nearly the same text; `agency` is its publisher.

    `published_at` is the time of its first listing if it states none. `reason` says why
    it is a copy; the original has none.
    """

    article_id: str
    desk: str
    agency: str
    day: date
    url: str
    published_at: datetime
    reason: str | None = None


# The ids of each hit's group, of those that have any copy: only then is more read of
# them.
_GROUPS = """
    WITH copied AS MATERIALIZED (
        SELECT article_id, duplicate_of AS original FROM raw_articles WHERE duplicate_of IS NOT NULL
    ), shown AS (
        SELECT article_id AS hit, original FROM copied WHERE list_contains($ids, article_id)
        UNION
        SELECT original AS hit, original FROM copied WHERE list_contains($ids, original)
    )
    SELECT hit, article_id FROM copied JOIN shown USING (original)
    UNION SELECT hit, original FROM shown
"""
_PUBLICATIONS = """
    SELECT article_id, desk, agency, day, url,
        coalesce(published_at, first_seen_at) AS published_at,
        duplicate_reason AS reason
    FROM raw_articles
    WHERE list_contains($ids, article_id) AND outcome = 'ok'
        AND day BETWEEN $first_day AND $last_day
    ORDER BY published_at, article_id
"""
# most articles are copies of none, for which `list_contains` need not be called
_OF_ORIGINALS = """
    SELECT article_id FROM raw_articles
    WHERE duplicate_of IS NOT NULL AND list_contains($originals, duplicate_of)
"""
# Copies are those published or first seen within a week of their original; either may
# have moved since then.
_AROUND = timedelta(days=31)
_COPIES = f"""
    {_OF_ORIGINALS} AND day BETWEEN $first_day AND $last_day
    UNION {_OF_ORIGINALS} AND first_seen_at BETWEEN $seen_from AND $seen_to
"""


def copies_of_article(
    lake: Lake | Snapshot, article_id: str, original: str | None
) -> tuple[Copy, ...]:
    """Return the copies of one article, which is a copy of `original` or of none, in
    order of publication. Unlike `copies_of`, it reads the articles of some months only.
    """
    originals = [original, article_id] if original else [article_id]
    stored = lake.frame(RawArticle, None, ("day",), article_id=originals)["day"]
    if stored.is_empty():
        return ()
    first_day, last_day = min(stored) - _AROUND, max(stored) + _AROUND
    given = {
        "originals": originals,
        "first_day": first_day,
        "last_day": last_day,
        "seen_from": datetime.combine(first_day, time(), UTC),
        "seen_to": datetime.combine(last_day, time.max, UTC),
    }
    copies = lake.query(_COPIES, given)["article_id"]
    return tuple(_publications(lake, {*originals, *copies} - {article_id}))


def _publications(lake: Lake | Snapshot, article_ids: Collection[str]) -> list[Copy]:
    """Return those of these articles that are stored, in order of publication."""
    if not article_ids:
        return []
    days = lake.days_of(article_ids) or {date.min, date.max}
    given = {
        "ids": list(article_ids),
        "first_day": min(days),
        "last_day": max(days),
    }
    return [Copy(**row) for row in lake.rows_of(_PUBLICATIONS, given)]


def publications_of(
    lake: Lake | Snapshot, article_ids: Collection[str]
) -> dict[str, tuple[Copy, ...]]:
    """Return for each article that has copies its copies and itself, by its id, in
    order of publication.
    """
    if not article_ids:
        return {}
    members = lake.rows_of(_GROUPS, {"ids": list(article_ids)})
    hits_of: dict[str, list[str]] = {}
    for member in members:
        hits_of.setdefault(member["article_id"], []).append(member["hit"])
    found: dict[str, list[Copy]] = {}
    for one in _publications(lake, hits_of):
        for hit in hits_of[one.article_id]:
            found.setdefault(hit, []).append(one)
    return {hit: tuple(group) for hit, group in found.items()}


def copies_of(
    lake: Lake | Snapshot, article_ids: Collection[str]
) -> dict[str, tuple[Copy, ...]]:
    """Return the copies of each article that has any, by its id, in order of
    publication.
    """
    found = {}
    for key, group in publications_of(lake, article_ids).items():
        others = tuple(one for one in group if one.article_id != key)
        if others:
            found[key] = others
    return found


# --- appearances of a matter ----------------------------------------------------------


_MAX_NUMBER_CHARS: Final = 40
_SIGNS = re.compile(r"[\W_]+")

# Items that have only a title in common are one matter to readers where their texts are
# equal.
_APPEARANCES = """
    WITH hits AS (
        SELECT article_id AS hit, desk, agency, matter FROM agenda_items
        WHERE list_contains($ids, article_id) AND matter <> ''
    ), found AS (
        SELECT hit, i.article_id, i.meeting_id, i.matter, i.title FROM hits JOIN agenda_items i
            USING (desk, agency, matter)
        WHERE i.article_id IS NOT NULL
    ), texts AS (
        SELECT article_id, url, desk, agency, text_hash FROM raw_articles
        WHERE outcome = 'ok' AND article_id IN (SELECT article_id FROM found)
    )
    SELECT f.hit, f.article_id, f.meeting_id, f.matter, f.title, t.url, t.desk, t.agency, m.day,
        m.body, m.status
    FROM found f JOIN texts t USING (article_id) JOIN texts h ON h.article_id = f.hit
        JOIN meetings m USING (meeting_id)
    WHERE NOT starts_with(f.matter, 'title:') OR t.text_hash = h.text_hash
    ORDER BY f.hit, m.day DESC, f.article_id
"""
_EQUAL = """
    WITH found AS (
        SELECT DISTINCT i.article_id FROM agenda_items h
            JOIN agenda_items i USING (desk, agency, matter)
        WHERE h.matter <> '' AND list_contains($ids, h.article_id) AND i.article_id IS NOT NULL
    ), texts AS (
        SELECT article_id, text_hash FROM raw_articles
        WHERE outcome = 'ok' AND article_id IN (SELECT article_id FROM found)
    )
    SELECT article_id FROM texts
    WHERE text_hash IN (SELECT text_hash FROM texts WHERE list_contains($ids, article_id))
"""
_BY_NUMBER = """
    SELECT matter_file FROM matters
    WHERE ($desk IS NULL OR desk = $desk) AND ($agency IS NULL OR agency = $agency)
        AND regexp_replace(lower(matter_file), '[^a-z0-9]', '', 'g') = $number
    ORDER BY last_day DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAppearance:
    """An agenda item of a matter, with its meeting."""

    article_id: Annotated[str, "id of the item's article"]
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    matter: Annotated[str, "key of the matter within the agency"]
    meeting_id: MeetingId
    title: Annotated[str, "title of the item"]
    url: Annotated[str, "address of the item"]
    day: MeetingDay
    body: Annotated[str, "council, board or committee that meets"]
    status: Annotated[str, "status of the meeting"]


# by article_id of a hit, itself included, the newest first
Groups = Mapping[str, Sequence[ItemAppearance]]


def appearances_of(lake: Lake | Snapshot, article_ids: Sequence[str]) -> Groups:
    """Return the appearances of the matter of each agenda item that has several, itself
    included, the newest first.
    """
    found: dict[str, list[ItemAppearance]] = {}
    if article_ids:
        for row in lake.rows_of(_APPEARANCES, {"ids": list(article_ids)}):
            found.setdefault(row.pop("hit"), []).append(ItemAppearance(**row))
    return {hit: group for hit, group in found.items() if len(group) > 1}


def items_like(lake: Lake | Snapshot, article_ids: Collection[str]) -> set[str]:
    """Return the articles of the agenda items that have the text of one of these: a
    search gives one of equal texts.
    """
    found = lake.query(_EQUAL, {"ids": list(article_ids)}) if article_ids else None
    if found is None:
        return set()
    return set(found["article_id"])


def appearance_copies(
    lake: Lake | Snapshot, article_ids: Sequence[str]
) -> dict[str, tuple[Copy, ...]]:
    """Return the other appearances of the matter of each agenda item that has several,
    the newest first.
    """
    found = {}
    for hit, group in appearances_of(lake, article_ids).items():
        others = [one for one in group if one.article_id != hit and one.day]
        found[hit] = tuple(map(_copy, others))
    return found


def _copy(one: ItemAppearance) -> Copy:
    day = one.day or date.max
    begin = datetime.combine(day, time(), UTC)
    return Copy(
        article_id=one.article_id,
        desk=one.desk,
        agency=one.agency,
        day=day,
        url=one.url,
        published_at=begin,
        reason="the same matter",
    )


def next_first(
    hits: Iterable[SearchHit], groups: Groups, filters: Filters, today: date
) -> list[SearchHit]:
    """Return the hits with each matter once, as the appearance in the next meeting, or
    in the last one.

    It is one that passes the filters, and keeps the place, score and snippet of the
    matter's first hit.
    """
    shown = set[str]()
    arranged: list[SearchHit] = []
    for hit in hits:
        if hit.article_id in shown:
            continue
        group = groups.get(hit.article_id, ())
        shown.update(one.article_id for one in group)
        fitting = [one for one in group if _passes(one, filters)]
        arranged.append(_as_hit(hit, _next(fitting, today)) if fitting else hit)
    return arranged


def _passes(one: ItemAppearance, filters: Filters) -> bool:
    if filters.body not in (None, one.body):
        return False
    if filters.meeting_status not in (None, one.status):
        return False
    day = one.day or date.max
    return (filters.from_day or date.min) <= day <= (filters.to_day or date.max)


def _next(group: Sequence[ItemAppearance], today: date) -> ItemAppearance:
    for one in reversed(group):
        is_open = one.status not in ("cancelled", "passed")
        if is_open and one.day and one.day >= today:
            return one
    return group[0]


def _as_hit(hit: SearchHit, one: ItemAppearance) -> SearchHit:
    if one.article_id == hit.article_id:
        return hit
    return replace(
        hit,
        article_id=one.article_id,
        title=one.title,
        url=one.url,
        day=one.day or hit.day,
        published_at=None,
    )


def written_number(lake: Lake | Snapshot, text: str, filters: Filters) -> str | None:
    """Return the public number of a stored matter if a text is that number, whatever
    its spaces, signs and case.
    """
    number = _SIGNS.sub("", text).lower()
    if len(text) > _MAX_NUMBER_CHARS or not any(char.isdigit() for char in number):
        return None
    given = {"number": number, "desk": filters.desk, "agency": filters.agency}
    found = lake.query(_BY_NUMBER, given)["matter_file"].to_list()
    return found[0] if found else None
