"""Stories of articles in a real lake: they join, are placed again, merge, split and
close.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from news_assets.pipeline.articles.withdrawal import undo_withdrawal, withdraw
from news_assets.pipeline.stories.loaded import StoriesOfLake
from news_assets.pipeline.stories.update import update_stories
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    Story,
    StoryChange,
    StoryMember,
)
from news_assets.store.lake import Lake
from news_assets.store.queries.story_lists import days_without_stories
from news_assets_tests.pipeline.stories.test_assign import BRIDGE, BRIDGE_AGAIN, BUDGET
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.inline_sandbox import InlineSandbox

DAY = date(2026, 11, 3)
NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)


def put(
    lake: Lake,
    key: str,
    text: str,
    axis: int,
    *,
    minute: int = 0,
    day: date = DAY,
    desk: str = "d",
    agency: str = "a",
    duplicate_of: str | None = None,
    state: str = "1",
) -> None:
    """Store an article with its vector."""
    mine = {
        "article_id": key,
        "desk": desk,
        "agency": agency,
        "day": day,
        "content_hash": state,
        "outcome": "ok",
    }
    seen = datetime.combine(day, datetime.min.time(), UTC) + timedelta(minutes=minute)
    article = full(
        RawArticle,
        **mine,
        title=f"Title of {key}",
        text=text,
        language="en",
        first_seen_at=seen,
        duplicate_of=duplicate_of,
        url_hash=key,
        text_hash=key,
        lead_minhash=None,
        meeting_id="",
    )
    vector = tuple(float(n == axis) for n in range(8))
    embedding = full(ArticleEmbedding, **mine, model="a model", dim=8, vector=vector)
    lake.transact(lambda rows: [rows.upsert([row]) for row in (article, embedding)])


def update(
    lake: Lake, *days: date, now: datetime = NOW, rebuild: bool = False
) -> dict[str, str]:
    """Update the stories of these days; return the story of each article."""
    sandbox = InlineSandbox()
    update_stories(lake, days or [DAY], lambda: now, sandbox, rebuild=rebuild)
    return stories_of(lake)


def stories_of(lake: Lake) -> dict[str, str]:
    frame = lake.frame(StoryMember, None, ("article_id", "story_id"))
    return dict(frame.iter_rows())


def backlog(lake: Lake, now: datetime = NOW) -> list[date]:
    return days_without_stories(lake, ["d", "e"], date(2026, 1, 1), now)


def kinds(lake: Lake) -> list[str]:
    return [change.kind for change in lake.read(StoryChange)]


def three_publishers(lake: Lake) -> None:
    put(lake, "one", BRIDGE, 0, minute=5, agency="a")
    put(lake, "two", BRIDGE_AGAIN, 0, minute=9, agency="b", desk="e")
    put(lake, "copy", BRIDGE, 0, minute=7, agency="c", duplicate_of="one")
    put(lake, "else", BUDGET, 1, minute=1, agency="a")


def test_three_publishers_over_two_desks_tell_one_story(lake: Lake) -> None:
    three_publishers(lake)
    assert backlog(lake) == [DAY]

    found = update(lake)

    assert found["one"] == found["two"] == found["copy"] != found["else"]
    (story,) = lake.read(Story, story_id=[found["one"]])
    assert story.publishers == ("d/a", "d/c", "e/b")
    assert (story.article_count, story.publisher_count) == (3, 2)
    assert story.title in {"Title of one", "Title of two"}
    assert (story.day, story.first_seen_at.minute, story.last_seen_at.minute) == (
        DAY,
        5,
        9,
    )
    assert story.languages == ("en",)
    assert backlog(lake) == []


def test_nothing_is_written_where_nothing_changed(lake: Lake) -> None:
    three_publishers(lake)
    update(lake)
    before = lake.read(StoryMember), lake.read(Story)

    update(lake, now=NOW + timedelta(hours=1))

    assert (lake.read(StoryMember), lake.read(Story)) == before


def test_articles_one_at_a_time_get_the_same_stories_as_all_at_once(lake: Lake) -> None:
    put(lake, "else", BUDGET, 1, minute=1)
    update(lake)
    put(lake, "one", BRIDGE, 0, minute=5)
    update(lake)
    put(lake, "two", BRIDGE_AGAIN, 0, minute=9)
    online = update(lake)

    assert update(lake, rebuild=True) == online
    lake.transact(lambda rows: rows.delete(StoryMember, day=[DAY]))
    lake.transact(lambda rows: rows.delete(Story, day=[DAY]))
    assert update(lake) == online


def test_loaded_stories_follow_what_other_processes_change(lake: Lake) -> None:
    three_publishers(lake)
    update(lake)
    loaded = StoriesOfLake("a model", 8)
    before = members_of(loaded, lake)
    put(lake, "two", BUDGET, 1, minute=9, agency="b", desk="e", state="2")
    put(lake, "late", BRIDGE_AGAIN, 0, minute=10)
    (copy,) = lake.read(RawArticle, article_id=["copy"])
    lake.transact(lambda rows: withdraw(rows, [copy], "asked for", NOW))
    update(lake)

    after = members_of(loaded, lake)

    assert after == members_of(StoriesOfLake("a model", 8), lake) == stories_of(lake)
    assert (before["two"], before["copy"]) == (before["one"], before["one"])
    assert after["two"] == after["else"]
    assert "copy" not in after


def members_of(loaded: StoriesOfLake, lake: Lake) -> dict[str, str]:
    """Return the story of each loaded article, after it was loaded again."""
    with lake.latest() as reader:
        loaded.load(reader, DAY, ())
    ids = loaded.stories.window.ids
    return {ids[at]: story_id for at, story_id in loaded.stories.story_of.items()}


def test_a_rebuilt_day_keeps_the_ids_that_its_stories_have(lake: Lake) -> None:
    put(lake, "two", BRIDGE_AGAIN, 0, minute=9)
    update(lake)
    put(lake, "one", BRIDGE, 0, minute=5)  # was seen before, and embedded later
    online = update(lake)

    assert online["one"] == online["two"]
    assert update(lake, rebuild=True) == online


def test_an_edited_article_is_placed_again(lake: Lake) -> None:
    three_publishers(lake)
    before = update(lake)
    put(lake, "two", BUDGET, 1, minute=9, agency="b", desk="e", state="2")
    assert backlog(lake) == [DAY]

    after = update(lake)

    assert after["two"] == after["else"] == before["else"]
    assert after["one"] == before["one"]
    assert kinds(lake) == ["moved"]
    counts = {story.story_id: story.article_count for story in lake.read(Story)}
    assert counts == {after["one"]: 2, after["two"]: 2}


def test_a_withdrawn_article_leaves_its_story_and_comes_back(lake: Lake) -> None:
    three_publishers(lake)
    before = update(lake)
    central = lake.read(Story, story_id=[before["one"]])[0].article_id
    (article,) = lake.read(RawArticle, article_id=[central])

    lake.transact(lambda rows: withdraw(rows, [article], "asked for", NOW))

    assert central not in stories_of(lake)
    assert lake.read(Story, story_id=[before["one"]]) == []
    assert backlog(lake) == [DAY]
    update(lake)
    (story,) = lake.read(Story, story_id=[before["one"]])
    assert (story.article_count, story.title == f"Title of {central}") == (2, False)
    (withdrawn,) = lake.read(RawArticle, article_id=[central])
    undo_withdrawal(lake, withdrawn, lambda rows: None)
    assert backlog(lake) == []
    assert update(lake)[central] == before["one"]


def test_the_story_of_a_single_withdrawn_article_is_gone(lake: Lake) -> None:
    put(lake, "one", BRIDGE, 0)
    update(lake)
    (article,) = lake.read(RawArticle)

    lake.transact(lambda rows: withdraw(rows, [article], "asked for", NOW))
    update(lake)

    assert lake.read(Story) == []
    assert backlog(lake) == []


def test_a_story_without_its_link_is_split(lake: Lake) -> None:
    three_publishers(lake)
    put(lake, "third", BRIDGE_AGAIN, 0, minute=15, agency="d")
    put(lake, "late", BUDGET, 1, minute=20, agency="d")
    found = update(lake)
    members = lake.read(StoryMember)
    upsert(lake, [replace(member, story_id=found["one"]) for member in members])
    (article,) = lake.read(RawArticle, article_id=["copy"])
    lake.transact(lambda rows: withdraw(rows, [article], "asked for", NOW))

    split = update(lake)

    assert split["one"] == split["two"] == found["one"]
    assert split["else"] == split["late"] != found["one"]
    assert kinds(lake) == ["split"]
    assert len(lake.read(Story)) == 2


def test_two_stories_become_one_by_an_article_of_both(lake: Lake) -> None:
    put(lake, "one", BRIDGE, 0, minute=1)
    put(lake, "two", BRIDGE_AGAIN, 1, minute=2)  # the vectors are far apart
    found = update(lake)
    if found["one"] != found["two"]:
        put(lake, "both", f"{BRIDGE} {BRIDGE_AGAIN}", 0, minute=3)
        found = update(lake)
    assert len(set(found.values())) == 1
    assert backlog(lake) == []


def test_a_story_is_closed_after_a_week_and_reopened_by_an_article_of_its_days(
    lake: Lake,
) -> None:
    put(lake, "one", BRIDGE, 0)
    found = update(lake)
    later = NOW + timedelta(days=8)
    assert backlog(lake, later) == [later.date()]

    update(lake, later.date(), now=later)

    assert [story.is_closed for story in lake.read(Story)] == [True]
    assert backlog(lake, later) == []
    put(lake, "two", BRIDGE_AGAIN, 0, day=DAY + timedelta(days=6))
    after = update(lake, DAY + timedelta(days=6), now=later)
    assert after["two"] == found["one"]
    assert [story.is_closed for story in lake.read(Story)] == [False]
    assert sorted(kinds(lake)) == ["closed", "reopened"]


def test_articles_with_vectors_of_another_model_are_placed_too(lake: Lake) -> None:
    put(lake, "one", BRIDGE, 0)
    update(lake)
    (row,) = lake.read(ArticleEmbedding)
    upsert(lake, [replace(row, model="another", dim=4, vector=(1.0, 0.0, 0.0, 0.0))])
    assert backlog(lake) == [DAY]

    update(lake)

    assert [one.model for one in lake.read(StoryMember)] == ["another"]
    assert backlog(lake) == []
