"""News linked to the matters, meetings and laws that it reports on: what articles name
(`civic_mentions`), compared with the agendas as they are stored now.

So an agenda that is posted after the article is found too, and one that changes changes
its links.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Annotated, Any, Final

from news_assets.pipeline.civic.mentions import (
    is_national,
    label_of,
    number_of_matter,
)
from news_assets.pipeline.civic.news_links import (
    NewsText,
    Place,
    has_words_of,
    is_number_of,
    names_body,
    the_place,
)
from news_assets.records.derived import CivicMention
from news_assets.records.meetings import Matter, StoredItem, StoredMeeting
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot

Places = Mapping[Place, str]

_MOST: Final = 100  # newest articles that are looked at for a matter or meeting
_AROUND_MEETING: Final = timedelta(days=60)
_AROUND_MATTER: Final = timedelta(days=365)
_OF_ARTICLES: Final = """
    SELECT * FROM civic_mentions
    WHERE list_contains($ids, article_id) AND day BETWEEN $first AND $last
"""
_TEXTS: Final = """
    SELECT article_id, agency, coalesce(title, url) AS title, coalesce(text, '') AS text, language
    FROM raw_articles
    WHERE list_contains($ids, article_id) AND day BETWEEN $first AND $last AND outcome = 'ok'
"""
_NUMBERED: Final = """
    SELECT desk, agency, matter, title, matter_file, matter_type, item_ids FROM matters
    WHERE matter_file IS NOT NULL AND regexp_matches(upper(matter_file), $pattern)
"""
_OF_ADDRESS: Final = """
    WITH addresses AS (
        SELECT desk, agency, meeting_id, '' AS matter, '' AS title,
            unnest([url, agenda_url, packet_url, minutes_url, video_url]) AS url FROM meetings
        UNION
        SELECT desk, agency, meeting_id, matter, title, unnest(attachment_urls) AS url
        FROM agenda_items WHERE list_has_any(attachment_urls, $urls)
    )
    SELECT DISTINCT desk, agency, meeting_id, matter, title, url FROM addresses
    WHERE list_contains($urls, url)
"""
_OF_DAY: Final = """
    SELECT desk, agency, meeting_id, body, day FROM meetings
    WHERE list_contains($days, day::VARCHAR) AND body <> ''
"""
_ITEMS: Final = """
    SELECT desk, agency, matter, meeting_id, title FROM agenda_items
    WHERE list_contains($ids, meeting_id) AND matter <> ''
        AND filter_tier IS DISTINCT FROM 'dropped'
    ORDER BY meeting_id, sequence
"""
# an address without its scheme and the slash at its end
_BARE: Final = "regexp_replace({}, '^https?://|/+$', '', 'g')"
_NAMING: Final = f"""
    WITH near AS (
        SELECT * FROM civic_mentions WHERE day BETWEEN $first AND $last
    ), addresses AS (
        SELECT unnest([url, agenda_url, packet_url, minutes_url, video_url]) AS url
        FROM meetings WHERE list_contains($meetings, meeting_id)
        UNION
        SELECT unnest(attachment_urls) AS url
        FROM agenda_items WHERE list_contains($meetings, meeting_id)
    )
    SELECT * FROM near WHERE kind = 'number' AND named IN (SELECT unnest($numbers))
    UNION ALL
    SELECT * FROM near
    WHERE kind = 'number' AND split_part(named, ' ', -1) IN (SELECT unnest($digits))
    UNION ALL
    SELECT * FROM near WHERE kind = 'address'
        AND {_BARE.format("named")} IN (SELECT {_BARE.format("url")} FROM addresses)
    UNION ALL
    SELECT * FROM near WHERE kind = 'meeting' AND list_contains($days, named)
    ORDER BY day DESC, article_id LIMIT $limit
"""
_ON_LAW: Final = """
    SELECT * FROM civic_mentions WHERE kind = 'number' AND named = $law
    ORDER BY day DESC, article_id LIMIT $limit
"""
_ORDER: Final = ("number", "address", "title", "meeting")  # of evidence, best first


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsLink:
    """An article of news and the matter, meeting or law that it reports on."""

    article_id: Annotated[str, "id of the article"]
    desk: Annotated[str, "desk of the article"]
    agency: Annotated[str, "publisher of the article"]
    day: Annotated[date, "day of the article"]
    title: Annotated[str, "headline of the article"]
    evidence: Annotated[
        str,
        "number (of the matter or law), address (of the agenda or a document), title (body, day and"
        " the words of the item's title) or meeting (body and day)",
    ]
    passage: Annotated[str, "the sentence that names it, or the address"]
    council_desk: Annotated[str, "desk of the matter or meeting; empty for a law"] = ""
    council: Annotated[str, "agency of the matter or meeting; empty for a law"] = ""
    matter: Annotated[str, "key of the matter; empty for a meeting or law"] = ""
    meeting_id: Annotated[str, "id of the meeting; empty for a matter or law"] = ""
    law: Annotated[
        str, "number of the law or national bill, as LEI 14133/2021; else empty"
    ] = ""
    name: Annotated[str, "title of the matter or meeting, or the law's number"] = ""

    @property
    def target(self) -> tuple[str, ...]:
        """What it reports on."""
        return (
            self.council_desk,
            self.council,
            self.matter,
            self.meeting_id,
            self.law,
        )


def links_of_articles(
    reader: Snapshot,
    article_ids: Collection[str],
    days: Collection[date],
    places: Places,
) -> list[NewsLink]:
    """Return what these articles, of the first to the last of some days, report on, the
    surest first.
    """
    if not article_ids:
        return []
    given = {"ids": list(article_ids), "first": min(days), "last": max(days)}
    found = reader.rows_of(_OF_ARTICLES, given)
    mentions = [CivicMention(**row) for row in found]
    return _links(reader, mentions, places)


def news_on_matter(lake: Lake, matter: Matter, places: Places) -> list[NewsLink]:
    """Return the links of news to a matter, the newest articles first."""
    with lake.latest() as reader:
        items = reader.read(StoredItem, item_id=matter.item_ids)
        ids = {one.meeting_id for one in items}
        meetings = reader.read(StoredMeeting, meeting_id=ids)
        found = _news_near(reader, meetings, [matter], _AROUND_MATTER, places)
    wanted = (matter.desk, matter.agency, matter.matter, "", "")
    return _newest(one for one in found if one.target == wanted)


def news_on_meeting(
    lake: Lake, meeting: StoredMeeting, items: Sequence[StoredItem], places: Places
) -> list[NewsLink]:
    """Return the links of news to a meeting, and to the matters of its agenda, the newest
    articles first.
    """
    keys = {one.matter for one in items if one.matter}
    with lake.latest() as reader:
        matters = reader.read(
            Matter, desk=[meeting.desk], agency=[meeting.agency], matter=keys
        )
        found = _news_near(reader, [meeting], matters, _AROUND_MEETING, places)
    council = (meeting.desk, meeting.agency)
    wanted = {(*council, key, "", "") for key in keys}
    wanted.add((*council, "", meeting.meeting_id, ""))
    return _newest(one for one in found if one.target in wanted)


def news_on_law(lake: Lake, law: str, places: Places) -> list[NewsLink]:
    """Return the links of news to a law, the newest articles first."""
    with lake.latest() as reader:
        rows = reader.rows_of(_ON_LAW, {"law": law, "limit": _MOST})
        found = _links(reader, [CivicMention(**row) for row in rows], places)
    return _newest(one for one in found if one.law == law)


def _newest(links: Iterable[NewsLink]) -> list[NewsLink]:
    """Return the best link of each article, the newest articles first."""
    best: dict[str, NewsLink] = {}
    for link in sorted(links, key=lambda one: _ORDER.index(one.evidence)):
        best.setdefault(link.article_id, link)
    return sorted(best.values(), key=lambda one: (one.day, one.article_id))[::-1]


def _news_near(
    reader: Snapshot,
    meetings: Sequence[StoredMeeting],
    matters: Sequence[Matter],
    around: timedelta,
    places: Places,
) -> list[NewsLink]:
    """Return the links of the articles of some days around these meetings that name one
    of their days, addresses or matters.
    """
    days = [one.day for one in meetings if one.day]
    if not days:
        return []
    numbers = [number_of_matter(one.matter_file) for one in matters if one.matter_file]
    given = {
        "first": min(days) - around,
        "last": max(days) + around,
        "numbers": numbers,
        "digits": [one for one in numbers if " " not in one],
        "meetings": [one.meeting_id for one in meetings],
        "days": [one.isoformat() for one in days],
        "limit": _MOST,
    }
    mentions = [CivicMention(**row) for row in reader.rows_of(_NAMING, given)]
    return _links(reader, mentions, places)


# --- links of mentions ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mentions:
    """What some articles name, with their texts."""

    rows: Sequence[CivicMention]
    texts: Mapping[str, NewsText]

    def of_kind(self, kind: str) -> list[CivicMention]:
        known = [one for one in self.rows if one.article_id in self.texts]
        return [one for one in known if one.kind == kind]

    def link(self, mention: CivicMention, evidence: str) -> NewsLink:
        """Return the link of a mention, without what it leads to."""
        return NewsLink(
            article_id=mention.article_id,
            desk=mention.desk,
            agency=mention.agency,
            day=mention.day,
            title=self.texts[mention.article_id].title,
            evidence=evidence,
            passage=mention.passage,
        )


def _links(
    reader: Snapshot, mentions: Sequence[CivicMention], places: Places
) -> list[NewsLink]:
    """Return the links of these mentions, one for each article and what it reports on."""
    if not mentions:
        return []
    found = _with_texts(reader, mentions)
    links = [
        *_by_number(reader, found, places),
        *_by_address(reader, found),
        *_by_meeting(reader, found, places),
    ]
    best: dict[tuple[str, ...], NewsLink] = {}
    for link in sorted(links, key=lambda one: _ORDER.index(one.evidence)):
        best.setdefault((link.article_id, *link.target), link)
    return list(best.values())


def _with_texts(reader: Snapshot, mentions: Sequence[CivicMention]) -> _Mentions:
    days = [one.day for one in mentions]
    given = {
        "ids": list({one.article_id for one in mentions}),
        "first": min(days),
        "last": max(days),
    }
    texts: dict[str, NewsText] = {}
    for row in reader.rows_of(_TEXTS, given):
        texts[row["article_id"]] = NewsText(**row)
    return _Mentions(mentions, texts)


def _by_number(
    reader: Snapshot, found: _Mentions, places: Places
) -> Iterator[NewsLink]:
    mentions = found.of_kind("number")
    if not mentions:
        return
    pattern = "|".join(sorted({_pattern(one.named) for one in mentions}))
    matters = list(reader.rows_of(_NUMBERED, {"pattern": pattern}))
    for mention in mentions:
        of_place: dict[Place, Mapping[str, Any]] = {}
        for row in matters:
            if is_number_of(mention.named, row["matter_file"], row["matter_type"]):
                of_place[row["desk"], row["agency"]] = row
        article = found.texts[mention.article_id]
        place = the_place(article, mention.passage, of_place, places)
        link = found.link(mention, "number")
        if place is not None:
            yield _to_matter(link, of_place[place])
        elif is_national(mention.named):
            yield replace(link, law=mention.named, name=label_of(mention.named))


def _pattern(named: str) -> str:
    """Return the pattern of the digits of a number, in any spelling."""
    _, _, number = named.rpartition(" ")
    parts = [_spelled(one) for one in re.findall("[0-9]+|[A-Z]+", number)]
    return r"(?:^|[^0-9])0*" + r"[^0-9A-Z]{0,3}0*".join(parts) + r"(?:[^0-9]|$)"


def _spelled(part: str) -> str:
    if part.isdigit() and len(part) > len("999"):
        return rf"{part[:-3]}[.,]?{part[-3:]}"
    return part


def _to_matter(link: NewsLink, matter: Mapping[str, Any]) -> NewsLink:
    return replace(
        link,
        council_desk=matter["desk"],
        council=matter["agency"],
        matter=matter["matter"],
        name=matter["title"],
    )


def _by_address(reader: Snapshot, found: _Mentions) -> Iterator[NewsLink]:
    mentions = found.of_kind("address")
    if not mentions:
        return
    urls = _variants(one.named for one in mentions)
    of_url: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in reader.rows_of(_OF_ADDRESS, {"urls": urls}):
        of_url[row["url"]].append(row)
    for mention in mentions:
        links: dict[tuple[str, ...], NewsLink] = {}
        for url in _variants([mention.named]):
            for row in of_url[url]:
                link = _to_row(found.link(mention, "address"), row)
                links[link.target] = link
        # the address of one meeting or matter, not of a list of them
        if len(links) == 1:
            yield from links.values()


def _variants(urls: Iterable[str]) -> list[str]:
    """Return addresses as they may be written: with both schemes, with a slash at the end
    or without.
    """
    found: dict[str, None] = {}
    for url in urls:
        _, _, bare = url.partition("://")
        bare = bare.rstrip("/")
        for scheme in ("https", "http"):
            found[f"{scheme}://{bare}"] = None
            found[f"{scheme}://{bare}/"] = None
    return list(found)


def _to_row(link: NewsLink, row: Mapping[str, Any]) -> NewsLink:
    """Return the link to the matter of a row, or to its meeting where it has none."""
    if row["matter"]:
        return _to_matter(link, row)
    return replace(
        link,
        council_desk=row["desk"],
        council=row["agency"],
        meeting_id=row["meeting_id"],
        name=row.get("body", ""),
    )


def _by_meeting(
    reader: Snapshot, found: _Mentions, places: Places
) -> Iterator[NewsLink]:
    mentions = found.of_kind("meeting")
    if not mentions:
        return
    days = {one.named for one in mentions}
    of_day: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in reader.rows_of(_OF_DAY, {"days": sorted(days)}):
        of_day[row["day"].isoformat()].append(row)
    for mention in mentions:
        meetings = _named_meetings(found, mention, of_day[mention.named], places)
        if meetings:
            yield from _meeting_links(reader, found, mention, meetings)


def _meeting_links(
    reader: Snapshot,
    found: _Mentions,
    mention: CivicMention,
    meetings: Sequence[Mapping[str, Any]],
) -> Iterator[NewsLink]:
    """Yield the links to the items of these meetings that an article has the titles of,
    and to the meetings; of several to those with such an item.
    """
    article = found.texts[mention.article_id]
    of_items = set[str]()
    for item in _titled(reader, article, meetings):
        of_items.add(item["meeting_id"])
        yield _to_row(found.link(mention, "title"), item)
    for row in meetings:
        if len(meetings) == 1 or row["meeting_id"] in of_items:
            yield _to_row(found.link(mention, "meeting"), {**row, "matter": ""})


def _named_meetings(
    found: _Mentions,
    mention: CivicMention,
    meetings: Sequence[Mapping[str, Any]],
    places: Places,
) -> list[Mapping[str, Any]]:
    """Return the meetings of a day whose body and place a passage names."""
    of_place: dict[Place, list[Mapping[str, Any]]] = defaultdict(list)
    for row in meetings:
        one = (row["desk"], row["agency"])
        if names_body(mention.passage, row["body"], places.get(one, "")):
            of_place[one].append(row)
    article = found.texts[mention.article_id]
    place = the_place(article, mention.passage, of_place, places)
    return of_place[place] if place else []


def _titled(
    reader: Snapshot, article: NewsText, meetings: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the items with a matter of meetings whose titles' words an article has."""
    ids = [row["meeting_id"] for row in meetings]
    for row in reader.rows_of(_ITEMS, {"ids": ids}):
        if has_words_of(article, row["title"]):
            yield row
