"""Finds the articles of a day that have no story, or changed since, and stores their
stories, made from the rows of their members, and what became of these.

An article is placed once it is embedded, after those that were first seen before it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.mentions import mentions_of
from news_assets.pipeline.stories.features import Features, features_of
from news_assets.pipeline.stories.loaded import Pending, StoriesOfLake, ids_of, silence
from news_assets.pipeline.stories.packing import unpack_vector
from news_assets.pipeline.stories.window import DAYS
from news_assets.ports.services import Clock, Lake, Reader, Rows, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    CivicMention,
    Story,
    StoryChange,
    StoryMember,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_SILENCE = timedelta(days=DAYS)


class _Member(NamedTuple):
    """The columns of a member that its story's row is made from."""

    article_id: str
    desk: str
    agency: str
    day: date
    story_id: str
    first_seen_at: datetime
    model: str
    is_copy: bool
    language: str
    vector: bytes


def _store_stories(rows: Rows, story_ids: Collection[str], now: datetime) -> int:
    """Make the rows of these stories from their members; delete those of stories
    without any. Return how many stories were closed.
    """
    if not story_ids:
        return 0
    members: dict[str, list[_Member]] = defaultdict(list)
    frame = rows.frame(StoryMember, None, _Member._fields, story_id=story_ids)
    for member in map(_Member._make, frame.iter_rows()):
        members[member.story_id].append(member)
    titles = _titles(rows, [one for of_story in members.values() for one in of_story])
    former = {story.story_id: story for story in rows.read(Story, story_id=story_ids)}
    stories = [_story(of_story, titles, now) for of_story in members.values()]
    if gone := set(former) - set(members):
        rows.delete(Story, story_id=gone)
    if stories:
        rows.upsert(stories)
    changes = [
        silence(*_kind_and_reason(story), now)
        for story in stories
        if story.is_closed != _was_closed(former.get(story.story_id))
    ]
    if changes:
        rows.upsert(changes)
    return sum(change.kind == "closed" for change in changes)


def _titles(rows: Rows, members: Sequence[_Member]) -> dict[str, str | None]:
    ids = {member.article_id for member in members}
    frame = rows.frame(RawArticle, None, ("article_id", "title"), article_id=ids)
    return dict(frame.iter_rows())


def _was_closed(former: Story | None) -> bool:
    return former is not None and former.is_closed


def _kind_and_reason(story: Story) -> tuple[str, str, date, str]:
    if story.is_closed:
        day = story.last_day + _SILENCE
        return "closed", story.story_id, day, f"no article after {story.last_day}"
    reason = f"an article of {story.last_day} joined it"
    return "reopened", story.story_id, story.last_day, reason


def _story(
    members: Sequence[_Member], titles: dict[str, str | None], now: datetime
) -> Story:
    ordered = sorted(members, key=lambda one: (one.first_seen_at, one.article_id))
    central = _central(ordered, titles)
    last_day = max(member.day for member in ordered)
    own = {(one.desk, one.agency) for one in ordered if not one.is_copy}
    publishers = dict.fromkeys(f"{one.desk}/{one.agency}" for one in ordered)
    languages = dict.fromkeys(one.language for one in ordered if one.language)
    return Story(
        story_id=ordered[0].story_id,
        article_id=central.article_id,
        title=titles.get(central.article_id),
        day=min(member.day for member in ordered),
        last_day=last_day,
        first_seen_at=ordered[0].first_seen_at,
        last_seen_at=ordered[-1].first_seen_at,
        article_count=len(ordered),
        publisher_count=len(own) or 1,
        publishers=tuple(publishers),
        languages=tuple(languages),
        is_closed=last_day + _SILENCE < now.astimezone(UTC).date(),
        updated_at=now,
    )


def _central(members: Sequence[_Member], titles: dict[str, str | None]) -> _Member:
    """Return the member that is nearest to the mean of all; one with a title that is no
    copy, if there is one.
    """
    import numpy as np

    own = [one for one in members if not one.is_copy and titles.get(one.article_id)]
    candidates = own or list(members)
    same = [one for one in candidates if one.model == candidates[0].model]
    vectors = np.stack([unpack_vector(member.vector) for member in same])
    cosines = vectors @ vectors.mean(axis=0)
    return same[int(np.argmax(cosines))]


def _close_silent(rows: Rows, now: datetime) -> int:
    """Close the stories that no article joined for DAYS days; return their number."""
    last = now.astimezone(UTC).date() - _SILENCE
    # DuckLake skips files by a comparison with a value, not by NOT
    found = rows.query(
        "SELECT story_id FROM stories WHERE is_closed = false AND last_day < $last",
        {"last": last},
    )
    if found.height:
        return _store_stories(rows, set(found["story_id"]), now)
    return 0


# the stories that a process has loaded, by model and dimension of their vectors
Kept = dict[tuple[str, int], StoriesOfLake]

_STORED_TOGETHER = 200  # articles
_COMPARED_TOGETHER = 50  # with the window: 0.6 ms each instead of 6
_READ_TOGETHER = 500  # vectors, which take 12 kB each while they are read
_MADE_FROM = ("article_id", "story_id", "content_hash", "model")
# A row that does not reach from before the day to after it is made again too. Conditions
# on days let DuckLake skip the files of other months.
_OTHER_COUNT = """
WITH wanted AS (
    SELECT DISTINCT story_id FROM story_members WHERE day = $day
    UNION SELECT story_id FROM stories WHERE day = $day
), counted AS (
    SELECT story_id, count(*) AS members FROM story_members
    WHERE story_id IN (FROM wanted) GROUP BY story_id
), stored AS (
    SELECT story_id, article_count FROM stories WHERE day <= $day AND last_day >= $day
)
SELECT story_id FROM wanted
LEFT JOIN counted USING (story_id) LEFT JOIN stored USING (story_id)
WHERE stored.article_count IS DISTINCT FROM counted.members
"""


def update_stories(
    lake: Lake,
    days: Iterable[date],
    clock: Clock,
    sandbox: Sandbox,
    *,
    rebuild: bool = False,
    kept: Kept | None = None,
) -> Counter[str]:
    """Bring the stories of the articles of these days up to date; return how many
    articles were placed, and how many stories began, merged, split and closed.

    It can be repeated at any time. With `rebuild` all articles of these days are placed
    again; their stories keep their ids. What is loaded stays in `kept`, for other runs of
    the process.
    """
    kept = {} if kept is None else kept
    counts: Counter[str] = Counter()
    for day in sorted(days):
        with lake.latest() as reader:
            work = _work(reader, day, rebuild=rebuild)
        if work is not None:
            counts += _update_day(lake, work, clock, sandbox, kept)
    counts["closed"] += lake.transact(lambda rows: _close_silent(rows, clock()))
    return counts


@dataclass(frozen=True, slots=True)
class _Embedded:
    content_hash: str
    model: str
    vector: "Floats"


@dataclass(frozen=True, slots=True)
class _Work:
    """What a day needs.

    Attributes:
        day: The day.
        pending: The articles to place, with their vectors.
        former: The stories of articles that have one.
        lost: Articles that have a story and no vector any more.
        stale: Stories whose row is missing, or was made of other articles.
    """

    day: date
    pending: Mapping[str, _Embedded]
    former: Mapping[str, str]
    lost: frozenset[str]
    stale: frozenset[str]


def _work(reader: Reader, day: date, *, rebuild: bool) -> _Work | None:
    """Return what a day needs; None if nothing."""
    columns = ("article_id", "content_hash", "model")
    frame = reader.frame(ArticleEmbedding, None, columns, day=[day], outcome=["ok"])
    states = {key: (state, model) for key, state, model in frame.iter_rows()}
    stored = list(reader.frame(StoryMember, None, _MADE_FROM, day=[day]).iter_rows())
    made_from = {key: (state, model) for key, _, state, model in stored}
    pending = [
        key for key, state in states.items() if rebuild or made_from.get(key) != state
    ]
    work = _Work(
        day=day,
        pending=_embedded(reader, day, pending),
        former={key: story_id for key, story_id, _, _ in stored},
        lost=frozenset(made_from.keys() - states.keys()),
        stale=frozenset(reader.query(_OTHER_COUNT, {"day": day})["story_id"]),
    )
    if work.pending or work.lost or work.stale:
        return work
    return None


def _embedded(reader: Reader, day: date, ids: Sequence[str]) -> dict[str, _Embedded]:
    import numpy as np

    found: dict[str, _Embedded] = {}
    columns = ("article_id", "content_hash", "model", "vector")
    for start in range(0, len(ids), _READ_TOGETHER):
        some = ids[start : start + _READ_TOGETHER]
        frame = reader.frame(
            ArticleEmbedding, None, columns, day=[day], article_id=some
        )
        for key, state, model, vector in frame.iter_rows():
            found[key] = _Embedded(state, model, np.array(vector, np.float32))
    return found


def _update_day(
    lake: Lake,
    work: _Work,
    clock: Clock,
    sandbox: Sandbox,
    kept: Kept,
) -> Counter[str]:
    gone = {*work.pending, *work.lost}
    shrunk = set(work.stale)
    for article_id in gone & work.former.keys():
        shrunk.add(work.former[article_id])
    touched = set(shrunk)
    counts: Counter[str] = Counter()
    if work.lost:
        lake.transact(lambda rows: _delete(rows, work.lost))
    for model, dim in _models(lake, work):
        loaded = kept.setdefault((model, dim), StoriesOfLake(model, dim))
        with lake.latest() as reader:
            loaded.load(reader, work.day, gone)
        of_model = {key for key, one in work.pending.items() if one.model == model}
        order = _order(lake, work.day, of_model)
        for start in range(0, len(order), _STORED_TOGETHER):
            batch = order[start : start + _STORED_TOGETHER]
            articles = _read(lake, batch, work, sandbox)
            mentions = _mentions(articles, sandbox)
            touched |= _store_placed(lake, articles, mentions, loaded, clock(), counts)
        touched |= _split(lake, shrunk, loaded, work.day, clock(), counts)
    counts["closed"] += lake.transact(
        lambda rows: _store_stories(rows, touched, clock())
    )
    return counts


def _models(lake: Lake, work: _Work) -> list[tuple[str, int]]:
    """Return the models of a day's vectors with their dimensions."""
    found = {(one.model, len(one.vector)) for one in work.pending.values()}
    if not found:
        columns = ("model", "dim")
        frame = lake.frame(
            ArticleEmbedding, None, columns, day=[work.day], outcome=["ok"]
        )
        found = set(frame.iter_rows())
    return sorted(found)


def _store_placed(
    lake: Lake,
    articles: Sequence[Pending],
    mentions: Sequence[CivicMention],
    loaded: StoriesOfLake,
    now: datetime,
    counts: Counter[str],
) -> set[str]:
    """Place and store these articles with what they name; return the stories that
    changed.
    """
    members, changes = _place(articles, loaded, now)
    lake.transact(lambda rows: _store(rows, members, mentions, changes))
    counts.update(change.kind for change in changes)
    counts["placed"] += len(members)
    counts["begun"] += sum(member.nearest_id is None for member in members)
    return {member.story_id for member in members} | ids_of(changes)


def _split(
    lake: Lake,
    story_ids: Collection[str],
    loaded: StoriesOfLake,
    day: date,
    now: datetime,
    counts: Counter[str],
) -> set[str]:
    """Split those of these stories that fell into parts; return what changed."""
    moves: dict[str, StoryChange] = {}
    for story_id in sorted(story_ids):
        moves |= loaded.split(story_id, day, now)
    changed = ids_of(list(moves.values()))
    counts["split"] += len({change.other_id for change in moves.values()})
    lake.transact(lambda rows: _store_split(rows, moves))
    return changed


def _order(lake: Lake, day: date, pending: Collection[str]) -> list[str]:
    """Return the ids of these articles in the order in which they were first seen."""
    columns = ("article_id", "first_seen_at")
    frame = lake.frame(RawArticle, None, columns, day=[day], article_id=pending)
    return list(frame.sort("first_seen_at", "article_id")["article_id"])


def _read(
    lake: Lake, ids: Sequence[str], work: _Work, sandbox: Sandbox
) -> list[Pending]:
    """Return these articles with what they are compared by."""
    rows = lake.read(RawArticle, day=[work.day], article_id=ids)
    by_id = {row.article_id: row for row in rows}
    found = [by_id[key] for key in ids if key in by_id]
    pending: list[Pending] = []
    for row, features in zip(found, _features(found, sandbox), strict=True):
        key = row.article_id
        embedded = work.pending[key]
        pending.append(
            Pending(
                row=row,
                features=features,
                vector=embedded.vector,
                content_hash=embedded.content_hash,
                model=embedded.model,
                former=work.former.get(key),
            )
        )
    return pending


def _features(articles: Sequence[RawArticle], sandbox: Sandbox) -> list[Features]:
    """Return the features of these articles; none of a text that cannot be read."""
    calls = [(row.title, row.text or "", row.language) for row in articles]
    found = sandbox.run(features_of, calls)
    return [
        features_of(None, "", row.language) if isinstance(one, NewsAssetsError) else one
        for row, one in zip(articles, found, strict=True)
    ]


def _mentions(articles: Sequence[Pending], sandbox: Sandbox) -> list[CivicMention]:
    """Return what these articles name of councils and laws; agenda items name
    themselves.
    """
    news = [one.row for one in articles if not one.row.meeting_id]
    calls = [(row.title, row.text or "", row.out_links, row.day) for row in news]
    mentions: list[CivicMention] = []
    for row, found in zip(news, sandbox.run(mentions_of, calls), strict=True):
        if isinstance(found, NewsAssetsError):
            continue
        for kind, named, passage in found:
            mention = CivicMention(
                article_id=row.article_id,
                desk=row.desk,
                agency=row.agency,
                day=row.day,
                kind=kind,
                named=named,
                passage=passage,
            )
            mentions.append(mention)
    return mentions


def _delete(rows: Rows, article_ids: Collection[str]) -> None:
    rows.delete(StoryMember, article_id=article_ids)
    rows.delete(CivicMention, article_id=article_ids)


def _place(
    articles: Sequence[Pending], loaded: StoriesOfLake, now: datetime
) -> tuple[list[StoryMember], list[StoryChange]]:
    members: list[StoryMember] = []
    changes: list[StoryChange] = []
    for n, article in enumerate(articles):
        if n % _COMPARED_TOGETHER == 0:
            loaded.expect(articles[n : n + _COMPARED_TOGETHER])
        member, caused = loaded.place(article, now)
        members.append(member)
        changes += caused
    into = _merged(changes)
    return [_after(member, into) for member in members], changes


def _merged(changes: Iterable[StoryChange]) -> dict[str, str]:
    """Return the stories that merged ones are part of after all these changes."""
    into: dict[str, str] = {}
    for change in changes:
        if change.kind != "merged" or change.other_id is None:
            continue
        for former, story_id in into.items():
            if story_id == change.story_id:
                into[former] = change.other_id
        into[change.story_id] = change.other_id
        into.pop(change.other_id, None)
    return into


def _after(member: StoryMember, into: Mapping[str, str]) -> StoryMember:
    """Return a member in the story that its own became part of."""
    return replace(member, story_id=into.get(member.story_id, member.story_id))


def _store(
    rows: Rows,
    members: Sequence[StoryMember],
    mentions: Sequence[CivicMention],
    changes: Sequence[StoryChange],
) -> None:
    """Store members and what they name, and put the members of stories that became part
    of others there.
    """
    if members:
        rows.upsert(members)
        rows.delete(CivicMention, article_id=[one.article_id for one in members])
    if mentions:
        rows.upsert(mentions)
    if into := _merged(changes):
        moved = rows.read(StoryMember, story_id=into)
        rows.upsert([_after(member, into) for member in moved])
    if changes:
        rows.upsert(changes)


def _store_split(rows: Rows, moves: Mapping[str, StoryChange]) -> None:
    if not moves:
        return
    members = rows.read(StoryMember, article_id=moves)
    moved = [
        replace(member, story_id=moves[member.article_id].other_id or member.story_id)
        for member in members
    ]
    rows.upsert(moved)
    rows.upsert(list({one.change_id: one for one in moves.values()}.values()))
