"""An embedding model or a taxonomy that does not exist: its stage fails and names it,
every other stage runs.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    Failure,
    IndexedDocument,
)
from news_assets.records.desks import Desk
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph

MISSING = "no-such-file"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def ids(graph: Graph, record: type, **isin: list[str]) -> set[str]:
    with graph.lake() as lake:
        return set(lake.frame(record, None, ("article_id",), **isin)["article_id"])


@pytest.mark.parametrize(
    ("stage", "record", "setting"),
    [
        ("enriched_articles", EnrichedArticle, "taxonomy"),
        ("article_embeddings", ArticleEmbedding, "embedding_model"),
    ],
)
@pytest.mark.slow  # several runs of the graph
def test_one_stage_fails_and_is_caught_up_on_once_what_it_needs_is_there(
    stage: str,
    record: type,
    setting: str,
    desk: Desk,
    instance: dg.DagsterInstance,
    tmp_path: Path,
) -> None:
    usable = EMBEDDER if setting == "taxonomy" else {}
    graph = Graph(
        desk, tmp_path, instance, usable, **{setting: str(tmp_path / MISSING)}
    )
    graph.settle()
    articles = ids(graph, RawArticle, outcome=["ok"])
    assert (len(articles), ids(graph, record)) == (8, set())
    assert ids(graph, IndexedDocument, outcome=["ok"]) == articles, (
        "found by their words meanwhile"
    )
    with graph.lake() as lake:
        failures = [row for row in lake.read(Failure) if row.article_id in articles]
    assert {(row.stage, row.attempts) for row in failures} == {(stage, 1)}
    assert {row.article_id for row in failures} == articles
    assert all(MISSING in row.reason and row.next_try_at for row in failures)
    assert any(MISSING in error for error in errors_of(instance))

    with graph.lake() as lake:
        due = [replace(row, next_try_at=datetime.now(UTC)) for row in failures]
        lake.transact(lambda rows: rows.upsert(due))
    repaired = Graph(desk, tmp_path, instance, EMBEDDER)
    repaired.settle()
    assert ids(repaired, record, outcome=["ok"]) == articles
    assert ids(repaired, Failure).isdisjoint(articles)


def errors_of(instance: dg.DagsterInstance) -> list[str]:
    """Return the errors of the failed steps of all runs."""
    logs = [log for run in instance.get_runs() for log in instance.all_logs(run.run_id)]
    events = [log.dagster_event for log in logs if log.dagster_event]
    return [
        str(event.step_failure_data.error) for event in events if event.is_step_failure
    ]
