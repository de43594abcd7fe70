"""Articles are found by their words before a language model answers; the sensors
request the model afterwards.
"""

from pathlib import Path

import dagster as dg
import pytest

from news_assets.defs.active_runs import MODEL_TAGS
from news_assets.records.derived import EnrichedArticle, IndexedDocument
from news_assets.records.desks import Desk
from news_assets_tests.graph.conftest import EMBEDDER
from news_assets_tests.support.graph import Graph
from news_assets_tests.support.model_enrichment import ScriptedModel, enricher


def rows(graph: Graph) -> tuple[list[EnrichedArticle], list[IndexedDocument]]:
    with graph.lake() as lake:
        return lake.read(EnrichedArticle), lake.read(IndexedDocument, outcome=["ok"])


@pytest.mark.slow  # executes many runs
def test_articles_are_indexed_before_their_model_is_requested(
    desk: Desk, tmp_path: Path
) -> None:
    model = ScriptedModel()
    with dg.DagsterInstance.ephemeral() as instance:
        graph = Graph(
            desk, tmp_path, instance, EMBEDDER | {"enricher": enricher(model)}
        )
        graph.execute(graph.tick("due_sources"))
        for name in ("pending_entries", "stale_stages"):
            graph.execute(graph.tick(name))
        enriched, before = rows(graph)
        assert model.sent == []
        assert len(before) == len(enriched) == 8
        assert {row.enricher for row in enriched} == {"local"}

        due = graph.tick("due_model_calls")
        tags = [request.tags for request in due.run_requests or ()]
        assert [MODEL_TAGS.items() <= of_run.items() for of_run in tags] == [True] * 2
        assert not graph.tick("stale_stages").run_requests, (
            "rows that wait for a model are no work of other runs"
        )
        graph.execute(due)
        sent = {request.article_id for request in model.sent}
        assert sent
        assert {
            row.article_id for row in rows(graph)[0] if row.enricher == "model"
        } <= sent
        graph.settle()
        after = {row.article_id: row.document_hash for row in rows(graph)[1]}
        answered = {row.article_id for row in rows(graph)[0] if row.enricher == "model"}
        changed = {
            row.article_id
            for row in before
            if after[row.article_id] != row.document_hash
        }
        assert changed == answered
        assert len(model.sent) == len({request.input_hash for request in model.sent}), (
            "no input was sent twice"
        )
