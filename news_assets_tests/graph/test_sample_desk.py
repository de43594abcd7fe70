"""The sample desk through the whole graph by polls and range runs: copies, an edit, a
dead link, deleted rows.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.defs.asset_checks import EXTRACTION_CHECK
from news_assets.demo import SampleSite
from news_assets.ports.search_index import SearchQuery
from news_assets.records.articles import (
    ArticleRevision,
    FeedEntry,
    Poll,
    RawArticle,
    SourceState,
)
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.records.desks import Desk
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph, sample_desk

EDITED = "vacinacao-gripe-escolas"
DERIVED = (EnrichedArticle, ArticleEmbedding, IndexedDocument)


@pytest.fixture
def own_site() -> Iterator[SampleSite]:
    """A sample site that the test may change."""
    with SampleSite(datetime.now(UTC), port=0) as running:
        yield running


@pytest.fixture
def own_graph(own_site: SampleSite, tmp_path: Path) -> Iterator[Graph]:
    """The graph over that site, before its first run."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield Graph(sample_desk(own_site), tmp_path, instance, EMBEDDER)


def run_all(graph: Graph) -> dg.ExecuteInProcessResult:
    today = datetime.now(UTC).date()
    assert graph.poll().success
    result = graph.run(today - timedelta(days=4), today)
    assert result.success
    return result


def article(graph: Graph, slug: str) -> RawArticle:
    with graph.lake() as lake:
        (found,) = [row for row in lake.read(RawArticle) if slug in row.url]
    return found


def search(graph: Graph, text: str) -> list[str]:
    with SqliteSearchIndex.open(graph.settings.search_path) as index:
        return [
            hit.title
            for hit in index.search(SearchQuery(text=text, mode="keyword")).hits
        ]


def test_every_entry_becomes_a_searchable_article_or_a_failure_with_a_reason(
    desk: Desk, tmp_path: Path, models_dir: Path
) -> None:
    # here and in no other test of the sample desk, the model's vectors
    (tmp_path / "models").symlink_to(models_dir)
    by_vectors = replace(desk, enrich=replace(desk.enrich, themes=None))
    with dg.DagsterInstance.ephemeral() as instance:
        graph = Graph(by_vectors, tmp_path, instance)
        result = run_all(graph)
        evaluations = graph.check().get_asset_check_evaluations()
    with graph.lake() as lake:
        articles = {
            row.url.rpartition("/")[2].removesuffix(".html"): row
            for row in lake.read(RawArticle)
        }
        places = [f"{row.agency}|{row.day}" for row in articles.values()]
        derived = [{row.article_id for row in lake.read(record)} for record in DERIVED]
    assert len(articles) == 9
    dead = articles.pop("lost-report")
    assert (dead.outcome, dead.attempts, dead.next_try_at is not None) == (
        "failed",
        1,
        True,
    )
    assert "404" in str(dead.reason)
    assert {row.outcome for row in articles.values()} == {"ok"}
    copy, original = (
        articles["feira-familiar-segundo-dia"],
        articles["feira-agricultura-familiar"],
    )
    assert copy.duplicate_of == original.article_id
    assert derived == [{row.article_id for row in articles.values()}] * 3
    assert search(graph, "vacinacao escola")[0].startswith("Vila Serena leva vacinação")
    assert search(graph, "eleição") == [
        "Eleições para o conselho tutelar terão oito locais de votação"
    ]
    failed = [check.check_name for check in evaluations if not check.passed]
    assert failed == ["no_article_has_failed"]  # of `dead`
    assert len(evaluations) >= 15
    counts = {
        str(event.partition): event.metadata["dagster/partition_row_count"].value
        for event in result.asset_materializations_for_node("sample__raw_articles")
    }
    assert {day: count for day, count in counts.items() if count} == Counter(places)


def test_a_second_run_fetches_no_article_and_changes_no_row(filled: Graph) -> None:
    tables = (FeedEntry, RawArticle, *DERIVED)
    with filled.lake() as lake:
        before = [lake.read(record) for record in tables]
    run_all(filled)
    with filled.lake() as lake:
        assert [lake.read(record) for record in tables] == before
        assert [poll.outcome for poll in lake.read(Poll)] == [
            "ok",
            "ok",
            "unchanged",
            "unchanged",
        ]


@pytest.mark.slow  # executes many runs
def test_a_site_that_publishes_has_a_new_article_for_each_minute(
    tmp_path: Path,
) -> None:
    started_at = datetime.now(UTC) - timedelta(minutes=5)
    with (
        SampleSite(started_at, port=0, publishes=True) as site,
        dg.DagsterInstance.ephemeral() as instance,
    ):
        graph = Graph(sample_desk(site), tmp_path, instance, EMBEDDER)
        run_all(graph)
        with graph.lake() as lake:
            found = [row for row in lake.read(RawArticle) if "plantao" in row.url]
    assert len(found) == 5
    assert {row.outcome for row in found} == {"ok"}
    assert {row.duplicate_of for row in found} == {None}


def test_an_edited_article_is_fetched_again_and_its_former_text_is_kept(
    own_graph: Graph, own_site: SampleSite
) -> None:
    run_all(own_graph)
    first = article(own_graph, EDITED)
    own_site.edit(EDITED, datetime.now(UTC))
    run_all(own_graph)
    second = article(own_graph, EDITED)
    assert (first.rev_n, second.rev_n, second.article_id) == (1, 2, first.article_id)
    with own_graph.lake() as lake:
        (revision,) = lake.read(ArticleRevision)
    assert (revision.article_id, revision.rev_n, revision.text) == (
        first.article_id,
        1,
        first.text,
    )
    assert search(own_graph, "dezenove horas")[0] == second.title


@pytest.mark.slow  # executes many runs
def test_an_extractor_that_reads_other_texts_than_those_stored_fails_a_check(
    filled: Graph,
) -> None:
    with filled.lake() as lake:
        articles = [
            replace(row, text="Menu. " * 50)
            for row in lake.read(RawArticle)
            if row.text
        ]
        lake.transact(lambda rows: rows.upsert(articles))
        before = lake.snapshot()
        (check,) = [
            one
            for one in filled.check().get_asset_check_evaluations()
            if one.check_name == EXTRACTION_CHECK
        ]
        assert lake.snapshot() == before
    assert not check.passed
    assert (check.metadata["checked"].value, check.metadata["found"].value) == (8, 8)
    assert articles[0].article_id[:60] in str(check.metadata["rows"].value)


@pytest.mark.slow  # executes many runs
@pytest.mark.exhaustive  # test_self_healing.py has rows of each stage restored by the same runs
def test_deleted_rows_are_restored_by_a_range_run(filled: Graph) -> None:
    with filled.lake() as lake:
        before = {
            record: {row.article_id for row in lake.read(record)}
            for record in (RawArticle, *DERIVED)
        }
        for record, article_id in zip(
            before, sorted(before[IndexedDocument]), strict=False
        ):
            lake.transact(
                lambda rows, r=record, a=article_id: rows.delete(r, article_id=[a])
            )
    run_all(filled)
    with filled.lake() as lake:
        assert {
            record: {row.article_id for row in lake.read(record)} for record in before
        } == before


@pytest.mark.slow  # executes many runs
def test_an_article_removed_from_the_lake_is_removed_from_the_index(
    filled: Graph,
) -> None:
    gone = article(filled, EDITED)
    with filled.lake() as lake:
        lake.transact(lambda rows: rows.delete(FeedEntry, article_id=[gone.article_id]))
        lake.transact(
            lambda rows: rows.delete(RawArticle, article_id=[gone.article_id])
        )
    today = datetime.now(UTC).date()
    assert filled.run(today - timedelta(days=4), today).success
    with filled.lake() as lake:
        assert [
            row
            for record in DERIVED
            for row in lake.read(record, article_id=[gone.article_id])
        ] == []
    assert search(filled, "vacinação gripe") == []


def test_an_unavailable_site_fails_the_poll_with_its_reason_and_changes_no_row(
    own_graph: Graph, own_site: SampleSite
) -> None:
    assert own_graph.poll().success
    with own_graph.lake() as lake:
        before = (
            lake.read(FeedEntry),
            [state.etag for state in lake.read(SourceState)],
        )
    own_site.__exit__()
    result = own_graph.poll()
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "none of 2 sources could be read" in str(failure.step_failure_data.error)
    with own_graph.lake() as lake:
        assert (
            lake.read(FeedEntry),
            [state.etag for state in lake.read(SourceState)],
        ) == before
        assert {state.last_outcome for state in lake.read(SourceState)} == {"failed"}
