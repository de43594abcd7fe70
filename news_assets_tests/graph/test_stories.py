"""The sample desk's articles get their stories through the graph."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from news_assets.defs.active_runs import RANGE_END, RANGE_START
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, Story, StoryMember
from news_assets.store.queries.story_lists import days_without_stories
from news_assets_tests.support.graph import Graph


def materialize(graph: Graph, *, rebuild: bool = False) -> dg.ExecuteInProcessResult:
    today = datetime.now(UTC).date()
    job = graph.definitions.resolve_job_def("stories")
    return job.execute_in_process(
        instance=graph.instance,
        tags={RANGE_START: str(today - timedelta(days=4)), RANGE_END: str(today)},
        run_config={"ops": {"newsroom__stories": {"config": {"rebuild": rebuild}}}},
    )


def test_every_embedded_article_has_a_story_and_a_copy_is_in_its_originals(
    filled: Graph,
) -> None:
    assert materialize(filled).success

    with filled.lake() as lake:
        members = {row.article_id: row.story_id for row in lake.read(StoryMember)}
        embedded = {row.article_id for row in lake.read(ArticleEmbedding)}
        copies = [row for row in lake.read(RawArticle) if row.duplicate_of]
        stories = {row.story_id: row.article_count for row in lake.read(Story)}
        now = datetime.now(UTC)
        desk = filled.desk
        assert days_without_stories(lake, [desk.key], desk.first_day, now) == []
    assert members.keys() == embedded
    assert copies
    for copy in copies:
        assert members[copy.article_id] == members[copy.duplicate_of or ""]
    assert sum(stories.values()) == len(members)

    assert materialize(filled, rebuild=True).success
    with filled.lake() as lake:
        again = {row.article_id: row.story_id for row in lake.read(StoryMember)}
    assert again == members
