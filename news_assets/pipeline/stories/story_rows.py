"""The rows of stories, made from those of their members."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from news_assets.pipeline.stories.loaded import silence
from news_assets.pipeline.stories.packing import unpack_vector
from news_assets.pipeline.stories.window import DAYS
from news_assets.ports.services import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.stories import Story, StoryMember

_SILENCE = timedelta(days=DAYS)


class Member(NamedTuple):
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


def store_stories(rows: Rows, story_ids: Collection[str], now: datetime) -> int:
    """Make the rows of these stories from their members; delete those of stories
    without any. Return how many stories were closed.
    """
    if not story_ids:
        return 0
    members: dict[str, list[Member]] = defaultdict(list)
    frame = rows.frame(StoryMember, None, Member._fields, story_id=story_ids)
    for member in map(Member._make, frame.iter_rows()):
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


def _titles(rows: Rows, members: Sequence[Member]) -> dict[str, str | None]:
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
    members: Sequence[Member], titles: dict[str, str | None], now: datetime
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


def _central(members: Sequence[Member], titles: dict[str, str | None]) -> Member:
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


def close_silent(rows: Rows, now: datetime) -> int:
    """Close the stories that no article joined for DAYS days; return their number."""
    last = now.astimezone(UTC).date() - _SILENCE
    found = rows.query(
        "SELECT story_id FROM stories WHERE NOT is_closed AND last_day < $last",
        {"last": last},
    )
    return store_stories(rows, set(found["story_id"]), now) if found.height else 0
