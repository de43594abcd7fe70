"""The sample desk through the whole graph: copies, an edit, a dead link, a day corrected, rows deleted by hand."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.demo.site import SampleSite
from news_assets.ports import SearchQuery
from news_assets.records import (
    ArticleEmbedding,
    ArticleRevision,
    Desk,
    EnrichedArticle,
    FeedEntry,
    IndexedDocument,
    Poll,
    RawArticle,
    SourceState,
)
from news_assets_tests.support.graph import Graph, sample_desk

EDITED = "vacinacao-gripe-escolas"
DERIVED = (EnrichedArticle, ArticleEmbedding, IndexedDocument)


@pytest.fixture
def site() -> Iterator[SampleSite]:
    with SampleSite(datetime.now(UTC), port=0) as running:
        yield running


@pytest.fixture
def desk(site: SampleSite) -> Desk:
    return sample_desk(site)


@pytest.fixture
def graph(desk: Desk, tmp_path: Path, models_dir: Path) -> Iterator[Graph]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Graph(desk, tmp_path, models_dir, instance)


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
        return [hit.title for hit in index.search(SearchQuery(text=text, mode="keyword")).hits]


def test_every_entry_becomes_an_article_or_a_stated_failure_and_is_found_by_search(graph: Graph) -> None:
    run_all(graph)
    with graph.lake() as lake:
        articles = {row.url.rpartition("/")[2].removesuffix(".html"): row for row in lake.read(RawArticle)}
        derived = [{row.article_id for row in lake.read(record)} for record in DERIVED]
    assert len(articles) == 9
    dead = articles.pop("lost-report")
    assert (dead.outcome, dead.attempts, dead.next_try_at is not None) == ("failed", 1, True)
    assert "404" in str(dead.reason)
    assert {row.outcome for row in articles.values()} == {"ok"}
    copy, original = articles["feira-familiar-segundo-dia"], articles["feira-agricultura-familiar"]
    assert copy.duplicate_of == original.article_id
    assert derived == [{row.article_id for row in articles.values()}] * 3
    assert search(graph, "vacinacao escola")[0].startswith("Vila Serena leva vacinação")
    assert search(graph, "eleição") == ["Eleições para o conselho tutelar terão oito locais de votação"]
    evaluations = graph.check().get_asset_check_evaluations()
    assert [check.check_name for check in evaluations if not check.passed] == []
    assert len(evaluations) >= 14


def test_a_second_run_asks_for_no_article_and_changes_no_row(graph: Graph) -> None:
    run_all(graph)
    tables = (FeedEntry, RawArticle, *DERIVED)
    with graph.lake() as lake:
        before = [lake.read(record) for record in tables]
    run_all(graph)
    with graph.lake() as lake:
        assert [lake.read(record) for record in tables] == before
        assert [poll.outcome for poll in lake.read(Poll)] == ["ok", "ok", "unchanged", "unchanged"]


def test_an_edited_article_is_fetched_again_and_its_former_text_is_kept(graph: Graph, site: SampleSite) -> None:
    run_all(graph)
    first = article(graph, EDITED)
    site.edit(EDITED, datetime.now(UTC))
    run_all(graph)
    second = article(graph, EDITED)
    assert (first.rev_n, second.rev_n, second.article_id) == (1, 2, first.article_id)
    with graph.lake() as lake:
        (revision,) = lake.read(ArticleRevision)
    assert (revision.article_id, revision.rev_n, revision.text) == (first.article_id, 1, first.text)
    assert search(graph, "dezenove horas")[0] == second.title


@pytest.mark.parametrize("record", [RawArticle, *DERIVED], ids=lambda record: record.__name__)
def test_rows_deleted_by_hand_are_made_again(graph: Graph, record: type) -> None:
    run_all(graph)
    with graph.lake() as lake:
        before = {row.article_id for row in lake.read(record)}
        lake.transact(lambda rows: rows.delete(record, agency=["prefeitura"]))
    run_all(graph)
    with graph.lake() as lake:
        assert {row.article_id for row in lake.read(record)} == before


def test_an_article_that_left_the_lake_leaves_the_index(graph: Graph) -> None:
    run_all(graph)
    gone = article(graph, EDITED)
    with graph.lake() as lake:
        lake.transact(lambda rows: rows.delete(FeedEntry, article_id=[gone.article_id]))
        lake.transact(lambda rows: rows.delete(RawArticle, article_id=[gone.article_id]))
    today = datetime.now(UTC).date()
    assert graph.run(today - timedelta(days=4), today).success
    with graph.lake() as lake:
        assert [row for record in DERIVED for row in lake.read(record, article_id=[gone.article_id])] == []
    assert search(graph, "vacinação gripe") == []


def test_a_site_that_is_down_fails_the_poll_with_its_reason_and_loses_nothing(graph: Graph, site: SampleSite) -> None:
    run_all(graph)
    with graph.lake() as lake:
        before = (lake.read(FeedEntry), [state.etag for state in lake.read(SourceState)])
    site.__exit__()
    result = graph.poll()
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "none of 2 sources could be read" in str(failure.step_failure_data.error)
    with graph.lake() as lake:
        assert (lake.read(FeedEntry), [state.etag for state in lake.read(SourceState)]) == before
        assert {state.last_outcome for state in lake.read(SourceState)} == {"failed"}


def test_each_partition_carries_its_own_counts_and_preview(graph: Graph) -> None:
    result = run_all(graph)
    made = result.asset_materializations_for_node("sample__raw_articles")
    rows = {str(event.partition): event.metadata["dagster/partition_row_count"].value for event in made}
    with graph.lake() as lake:
        stored = lake.read(RawArticle)
    assert sum(rows.values()) == len(stored)
    assert all(rows[f"{row.agency}|{row.day}"] for row in stored)
