"""Another embedding model: refused with both values and the way to it, which then
works, over both backends.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.clients.factory import OpenIndex
from news_assets.errors import EmbedError, IndexingError
from news_assets.ports.search_index import SearchQuery
from news_assets.records.derived import ArticleEmbedding, IndexedDocument
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import lost_documents
from news_assets_tests.commands.conftest import Call
from news_assets_tests.pipeline.test_stages import ARTICLE, DESK, NOW, OneVector, run
from news_assets_tests.support.search_backends import (
    BACKENDS,
    Backend,
    configured_backend,
)

OLD, WIDE, NEW = OneVector("old", 2), OneVector("wide", 3), OneVector("new", 2)


@pytest.fixture(params=BACKENDS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    with configured_backend(request.param, tmp_path, monkeypatch.setenv) as made:
        yield made


@pytest.fixture
def index(place: Backend) -> Iterator[OpenIndex]:
    with place.open() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _previous_model(lake: Lake, index: OpenIndex) -> None:
    """Store an article, embedded and indexed with the previous model."""
    lake.transact(lambda rows: rows.upsert([ARTICLE]))
    run(lake, index, OLD)


def near(index: OpenIndex, model: OneVector) -> int:
    vector = model.embed_query("").vector
    return index.search(SearchQuery(text="", mode="vector", vector=vector)).found


def test_another_model_takes_over_by_embedding_everything_and_a_rebuild(
    lake: Lake, index: OpenIndex, call: Call
) -> None:
    with pytest.raises(EmbedError) as refused:
        run(lake, index, WIDE)
    assert str(refused.value) == (
        "the model is wide (3 dimensions), but article_embeddings holds vectors of old (2 dimensions) and the search "
        "index holds vectors of 2 dimensions: set NEWS_EMBEDDING_MODEL to old, or materialise every partition of "
        "article_embeddings with `replace_model: true`, then run `news-assets rebuild search`"
    )
    receipts = lake.read(IndexedDocument)
    with pytest.raises(
        IndexingError,
        match=r"are of wide \(3 dimensions\), those of .* \(2 dimensions\): run `news-assets ",
    ):
        run(lake, index, WIDE, replace_model=True)
    assert [row.model for row in lake.read(ArticleEmbedding)] == ["wide"]
    assert (near(index, OLD), lake.read(IndexedDocument)) == (1, receipts)
    assert call("rebuild", "search")[0] == 0
    assert near(index, WIDE) == 1
    lake.transact(
        lambda rows: rows.upsert(
            [replace(ARTICLE, content_hash="new", text="Another text.")]
        )
    )
    run(lake, index, WIDE)
    assert (near(index, WIDE), lost_documents(lake, index, DESK, NOW).height) == (1, 0)


def test_an_index_knows_the_model_of_vectors_of_one_length(
    lake: Lake, index: OpenIndex, call: Call
) -> None:
    assert index.vector_model() == "old"
    with pytest.raises(
        IndexingError,
        match=r"are of new \(2 dimensions\), those of the search index of old \(2 dimensions",
    ):
        run(lake, index, NEW, replace_model=True)
    assert call("rebuild", "search")[0] == 0
    assert index.vector_model() == "new"
