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

NO_NAMES = KnownNames()
MOST_NAMES = 1_000  # of a list
_MOST_MERGERS = 20  # that an id is followed through
_IN_STORIES = 500  # newest articles whose stories are looked for
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
_OF_NAME = """
    SELECT article_id, desk, agency, day, entity_ids, entities, reused_from
    FROM enriched_articles
    WHERE outcome = 'ok' AND list_has_any(entity_ids, $ids)
    ORDER BY day DESC, article_id DESC
"""
_STORIES_OF = f"""
    SELECT story_id FROM stories WHERE article_count > 1 AND story_id IN (
        SELECT story_id FROM story_members WHERE list_contains($ids, article_id)
    ) ORDER BY last_seen_at DESC LIMIT {_STORIES}
"""


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
        name: The most frequent spelling.
        aliases: Other spellings, the most frequent first.
        merges: What was merged into it.
        article_ids: The articles that are no copies, the newest first.
        article_days: The day of each of these.
        days: Their number by day, ISO.
        publishers: Their number by desk and agency, most first.
        beside: The names that most of them have too.
        stories: Their newest stories.
    """

    name_id: str
    name: str
    aliases: Sequence[str]
    merges: Sequence[NameMerge]
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
    merges: Collection[NameMerge], known: KnownNames = NO_NAMES
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


def listed_names(
    lake: Lake, filters: NameFilters, known: KnownNames = NO_NAMES
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
            "limit": MOST_NAMES,
        }
        frame = reader.query(_LISTED, given)
    found = []
    for row in frame.iter_rows(named=True):
        row["name"] = known.names.get(row["name_id"], row["name"])
        found.append(NameItem(kind=kind_of(row["name_id"]), **row))
    return found


def named_by(
    lake: Lake, name_id: str, known: KnownNames = NO_NAMES
) -> NamedArticles | None:
    """Return what names a person, body or place; None where nothing does."""
    with lake.latest() as reader:
        merges = reader.read(NameMerge)
        into = resolved(merges, known)
        own = into.get(name_id, name_id)
        ids = {own, *(one for one, last in into.items() if last == own)}
        frame = reader.query(_OF_NAME, {"ids": sorted(ids)})
        if frame.is_empty():
            return None
        found = _named(reader, frame, own, ids, merges, into)
    return replace(found, name=known.names.get(own, found.name))


def _named(
    reader: Snapshot,
    frame: "pl.DataFrame",
    own: str,
    ids: Collection[str],
    merges: Sequence[NameMerge],
    into: Mapping[str, str],
) -> NamedArticles:
    import polars as pl

    names = frame.explode("entity_ids", "entities").rename(
        {"entity_ids": "id", "entities": "name"}
    )
    is_own = pl.col("id").is_in(list(ids))
    spellings = list(_counted(names.filter(is_own), "name"))
    originals = frame.filter(pl.col("reused_from").is_null())
    first = originals if len(originals) else frame
    others = names.filter(~is_own & pl.col("reused_from").is_null())
    newest = list(frame["article_id"].head(_IN_STORIES))
    found = list(reader.query(_STORIES_OF, {"ids": newest})["story_id"])
    stories = {one.story_id: one for one in reader.read(Story, story_id=found)}
    return NamedArticles(
        name_id=own,
        name=spellings[0],
        aliases=spellings[1:],
        merges=[one for one in merges if one.name_id in ids],
        article_ids=list(first["article_id"]),
        article_days=list(first["day"]),
        days={day.isoformat(): count for day, count in _counted(first, "day").items()},
        publishers=_counted(first, "desk", "agency"),
        beside=_beside(others, into),
        stories=[stories[key] for key in found if key in stories],
    )


def _counted(frame: "pl.DataFrame", *columns: str) -> dict[Any, int]:
    """Return the number of rows by value, most first; of several columns by tuples."""
    counts = frame.group_by(columns).len().sort(*columns)
    counts = counts.sort("len", descending=True, maintain_order=True)
    found = {}
    for row in counts.iter_rows():
        found[row[0] if len(columns) == 1 else row[:-1]] = row[-1]
    return found


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
