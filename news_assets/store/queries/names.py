"""The people, bodies and places that articles name: by number of articles, and one with
its articles, publishers and stories, and the names beside it.

Names that operators merged are one: the articles of all count for the one that the
others were merged into. Copies of an article do not count.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from news_assets.desks.name_file import KnownNames
from news_assets.records.derived import NameMerge, Story
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot

if TYPE_CHECKING:
    import polars as pl

_NO_NAMES = KnownNames()
_MOST_NAMES = 1_000  # of a list
_MOST_MERGERS = 20  # that an id is followed through
_NEWEST = 2_000  # articles whose spellings, other names and stories are looked for
_STORIES = 10
_BESIDE = 20
_LISTED = """
    WITH named AS (
        SELECT article_id, desk || '/' || agency AS publisher,
            unnest(entity_ids) AS id, unnest(entities) AS name
        FROM enriched_articles
        WHERE outcome = 'ok' AND reused_from IS NULL
            AND day BETWEEN $first_day AND $last_day
            AND ($desk IS NULL OR desk = $desk)
            AND ($agency IS NULL OR agency = $agency)
            AND ($ids IS NULL OR list_contains($ids, article_id))
    ), merges AS (
        SELECT unnest($merged) AS id, unnest($into) AS same_as
    ), of_articles AS (
        SELECT coalesce(same_as, id) AS name_id, article_id, publisher,
            any_value(name) AS name
        FROM named LEFT JOIN merges USING (id) GROUP BY ALL
    )
    SELECT name_id, mode(name) AS name, count(*) AS articles,
        count(DISTINCT publisher) AS publishers
    FROM of_articles
    WHERE $kind IS NULL OR starts_with(name_id, $kind || '/')
    GROUP BY name_id ORDER BY articles DESC, name_id LIMIT $limit
"""
# most names have one id, which is found in two thirds of the time
_NAMES_IT = """outcome = 'ok' AND CASE WHEN $id IS NOT NULL
        THEN list_contains(entity_ids, $id) ELSE list_has_any(entity_ids, $ids) END"""
_COUNTED = f"""
    SELECT day, desk, agency, count(*) FILTER (reused_from IS NULL) AS originals,
        count(*) AS articles
    FROM enriched_articles WHERE {_NAMES_IT} GROUP BY GROUPING SETS ((day), (desk, agency))
    ORDER BY day DESC NULLS LAST, desk, agency
"""
_OF_NAME = f"""
    SELECT article_id, desk, agency, day, entity_ids, entities, reused_from
    FROM enriched_articles WHERE day >= $first_day AND {_NAMES_IT}
    ORDER BY day DESC, article_id DESC LIMIT {_NEWEST}
"""
_STORIES_OF = f"""
    SELECT story_id FROM stories WHERE article_count > 1 AND story_id IN (
        SELECT story_id FROM story_members
        WHERE day >= $first_day AND article_id IN (SELECT unnest($ids))
    ) ORDER BY last_seen_at DESC LIMIT {_STORIES}
"""


_PLACES_OF_STORIES = """
    WITH members AS (
        SELECT story_id, article_id FROM story_members
        WHERE list_contains($stories, story_id) AND day BETWEEN $first_day AND $last_day
            AND NOT is_copy
    ), named AS (
        SELECT story_id, article_id, unnest(entity_ids) AS id, unnest(entities) AS name
        FROM members JOIN enriched_articles USING (article_id)
        WHERE day BETWEEN $first_day AND $last_day
    ), sizes AS (
        SELECT story_id, count(*) AS articles FROM members GROUP BY story_id
    )
    SELECT story_id, id, mode(name) AS name FROM named JOIN sizes USING (story_id)
    WHERE starts_with(id, 'place/')
    GROUP BY story_id, id, articles HAVING 2 * count(DISTINCT article_id) >= articles
    ORDER BY story_id, id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOfStories:
    """A place with its stories: at least half of the articles of each name it."""

    name_id: Annotated[str, "id, as place/sao-paulo"]
    name: Annotated[str, "a spelling"]
    story_ids: Annotated[Sequence[str], "ids of the stories"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameItem:
    """A person, body or place with the number of articles that name it."""

    name_id: Annotated[str, "id: kind and words, as person/ana-lima"]
    kind: Annotated[str, "person, body, place or another kind of a model"]
    name: Annotated[str, "the most frequent spelling"]
    articles: Annotated[int, "number of articles that name it, without copies"]
    publishers: Annotated[int, "number of publishers of these"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilters:
    """Which names are listed; None is no filter."""

    first_day: date
    last_day: date
    kind: str | None = None
    desk: str | None = None
    agency: str | None = None
    article_ids: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArticles:
    """What names a person, body or place.

    Attributes:
        name_id: The id that all merged ones lead to.
        name: The most frequent spelling of the newest articles.
        aliases: Other spellings, the most frequent first.
        merges: What was merged into it.
        article_count: How many articles name it, copies only if there is nothing else.
        article_ids: The newest of these, the newest first.
        article_days: The day of each of these.
        days: Their number by day, ISO.
        publishers: Their number by desk and agency, most first.
        beside: The names that most of the newest have too.
        stories: Their newest stories.
    """

    name_id: str
    name: str
    aliases: Sequence[str]
    merges: Sequence[NameMerge]
    article_count: int
    article_ids: Sequence[str]
    article_days: Sequence[date]
    days: Mapping[str, int]
    publishers: Mapping[tuple[str, str], int]
    beside: Sequence[NameItem]
    stories: Sequence[Story]


def kind_of(name_id: str) -> str:
    """Return the kind that an id begins with."""
    return name_id.partition("/")[0]


def resolved(
    merges: Collection[NameMerge], known: KnownNames = _NO_NAMES
) -> dict[str, str]:
    """Return by id of each merged name the id that it leads to at last; what operators
    merged precedes the files of desks.
    """
    steps = {**known.same_as, **{one.name_id: one.same_as for one in merges}}
    return {name_id: _last(name_id, steps) for name_id in steps}


def _last(name_id: str, steps: Mapping[str, str]) -> str:
    for _ in range(_MOST_MERGERS):
        if name_id not in steps:
            break
        name_id = steps[name_id]
    return name_id


def ids_of_name(reader: Snapshot, name_id: str, known: KnownNames) -> set[str]:
    """Return the ids that are one name with this id, and itself."""
    return _ids_of(name_id, resolved(reader.read(NameMerge), known))


def _ids_of(name_id: str, into: Mapping[str, str]) -> set[str]:
    own = into.get(name_id, name_id)
    merged = [one for one, last in into.items() if last == own]
    return {own, *merged}


def places_of_stories(
    lake: Lake,
    story_ids: Sequence[str],
    days: tuple[date, date],
    known: KnownNames = _NO_NAMES,
) -> list[PlaceOfStories]:
    """Return the places of these stories by their articles of some days, those of the most
    stories first.
    """
    given = {"stories": story_ids, "first_day": days[0], "last_day": days[1]}
    with lake.latest() as reader:
        into = resolved(reader.read(NameMerge), known)
        rows = reader.rows_of(_PLACES_OF_STORIES, given)
    names: dict[str, str] = {}
    of_place: dict[str, dict[str, None]] = {}
    for row in rows:
        name_id = into.get(row["id"], row["id"])
        names.setdefault(name_id, known.names.get(name_id, row["name"]))
        of_place.setdefault(name_id, {})[row["story_id"]] = None
    found = []
    for name_id, ids in of_place.items():
        place = PlaceOfStories(
            name_id=name_id, name=names[name_id], story_ids=list(ids)
        )
        found.append(place)
    return sorted(found, key=lambda one: (-len(one.story_ids), one.name_id))


def listed_names(
    lake: Lake, filters: NameFilters, known: KnownNames = _NO_NAMES
) -> list[NameItem]:
    """Return the names of some days, those of the most articles first."""
    with lake.latest() as reader:
        into = resolved(reader.read(NameMerge), known)
        given = {
            "first_day": filters.first_day,
            "last_day": filters.last_day,
            "kind": filters.kind,
            "desk": filters.desk,
            "agency": filters.agency,
            "ids": filters.article_ids,
            "merged": list(into),
            "into": list(into.values()),
            "limit": _MOST_NAMES,
        }
        frame = reader.query(_LISTED, given)
    found = []
    for row in frame.iter_rows(named=True):
        row["name"] = known.names.get(row["name_id"], row["name"])
        found.append(NameItem(kind=kind_of(row["name_id"]), **row))
    return found


def named_by(
    lake: Lake, name_id: str, known: KnownNames = _NO_NAMES
) -> NamedArticles | None:
    """Return what names a person, body or place; None where nothing does. All articles
    are counted, and the newest read.
    """
    with lake.latest() as reader:
        merges = reader.read(NameMerge)
        into = resolved(merges, known)
        own = into.get(name_id, name_id)
        ids = _ids_of(name_id, into)
        only = own if len(ids) == 1 else None
        given: dict[str, Any] = {"ids": sorted(ids), "id": only}
        counts = _Counts(reader.rows_of(_COUNTED, given))
        if not counts.total:
            return None
        given["first_day"] = counts.first_day_of(_NEWEST)
        newest = reader.query(_OF_NAME, given)
        found = NamedArticles(
            name_id=own,
            merges=[one for one in merges if one.name_id in ids],
            article_count=counts.total,
            days=counts.days(),
            publishers=counts.publishers(),
            stories=_stories(reader, newest),
            **_of_newest(newest, ids, into),
        )
    return replace(found, name=known.names.get(own, found.name))


class _Counts:
    """The numbers of articles by day and by publisher."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._days = [row for row in rows if row["day"] is not None]
        self._publishers = [row for row in rows if row["day"] is None]
        originals = sum(row["originals"] for row in self._days)
        # copies count where there is nothing else
        self._column = "originals" if originals else "articles"
        self.total: int = sum(row[self._column] for row in self._days)

    def days(self) -> dict[str, int]:
        """Return the numbers by day, the newest first."""
        found = {}
        for row in self._days:
            if row[self._column]:
                found[row["day"].isoformat()] = row[self._column]
        return found

    def publishers(self) -> dict[tuple[str, str], int]:
        """Return the numbers by publisher, most first."""
        found: dict[tuple[str, str], int] = {}
        for row in sorted(self._publishers, key=lambda row: -row[self._column]):
            if row[self._column]:
                found[row["desk"], row["agency"]] = row[self._column]
        return found

    def first_day_of(self, count: int) -> date:
        """Return the first of the days that have so many of the newest articles."""
        seen = 0
        for row in self._days:
            seen += row["articles"]
            if seen >= count:
                break
        day: date = row["day"]
        return day


def _of_newest(
    frame: "pl.DataFrame", ids: Collection[str], into: Mapping[str, str]
) -> dict[str, Any]:
    """Return spellings, articles and other names of the newest articles."""
    import polars as pl

    names = frame.explode("entity_ids", "entities").rename(
        {"entity_ids": "id", "entities": "name"}
    )
    is_own = pl.col("id").is_in(list(ids))
    spellings = list(_counted(names.filter(is_own), "name"))
    originals = frame.filter(pl.col("reused_from").is_null())
    first = originals if len(originals) else frame
    others = names.filter(~is_own & pl.col("reused_from").is_null())
    return {
        "name": spellings[0],
        "aliases": spellings[1:],
        "article_ids": list(first["article_id"]),
        "article_days": list(first["day"]),
        "beside": _beside(others, into),
    }


def _stories(reader: Snapshot, frame: "pl.DataFrame") -> list[Story]:
    """Return the newest stories of these articles."""
    given = {"ids": list(frame["article_id"]), "first_day": frame["day"].min()}
    found = [row["story_id"] for row in reader.rows_of(_STORIES_OF, given)]
    stories = {one.story_id: one for one in reader.read(Story, story_id=found)}
    return [stories[key] for key in found if key in stories]


def _counted(frame: "pl.DataFrame", column: str) -> dict[str, int]:
    """Return the number of rows by value, most first."""
    counts = frame.group_by(column).len().sort(column)
    return dict(counts.sort("len", descending=True, maintain_order=True).iter_rows())


def _beside(others: "pl.DataFrame", into: Mapping[str, str]) -> list[NameItem]:
    import polars as pl

    counts = (
        others.with_columns(pl.col("id").replace(into))
        .group_by("id")
        .agg(
            pl.col("name").first(),
            pl.col("article_id").n_unique().alias("articles"),
            pl.struct("desk", "agency").n_unique().alias("publishers"),
        )
        .sort(["articles", "id"], descending=[True, False])
    )
    return [
        NameItem(
            name_id=row["id"],
            kind=kind_of(row["id"]),
            name=row["name"],
            articles=row["articles"],
            publishers=row["publishers"],
        )
        for row in counts.head(_BESIDE).iter_rows(named=True)
    ]
