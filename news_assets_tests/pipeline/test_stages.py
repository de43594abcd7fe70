"""The last two stages refuse a model other than that of the lake or the index, and
write nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.errors import EmbedError, IndexingError
from news_assets.pipeline.stages import stage_named
from news_assets.ports.search_index import SearchIndex
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, IndexedDocument
from news_assets.records.desks import Agency, Desk
from news_assets.records.reading import AgencyDays, Embedded
from news_assets.store.lake import Lake
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.search_backends import hashes

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
DESK = Desk(
    key="d",
    timezone="UTC",
    language="en",
    first_day=date(2026, 1, 1),
    agencies=(Agency(key="a", name="A", timezone="UTC", language="en", sources=()),),
)
KEYS = AgencyDays("d", frozenset({("a", NOW.date())}))
ARTICLE = RawArticle(
    article_id="a-1",
    desk="d",
    agency="a",
    day=NOW.date(),
    source_id="s",
    entry_id="1",
    entry_hash="h",
    url="https://example.org/1",
    canonical_url="https://example.org/1",
    url_hash="u",
    text_hash="t",
    title="Night buses",
    subtitle=None,
    authors=(),
    section=None,
    category=None,
    tags=(),
    article_type=None,
    language="en",
    published_at=NOW,
    updated_at=None,
    first_seen_at=NOW,
    fetched_at=NOW,
    image_url=None,
    video_url=None,
    text="The council keeps the night buses.",
    text_origin="page",
    text_chars=34,
    word_count=6,
    out_links=(),
    outcome="ok",
    reason=None,
    duplicate_of=None,
    rev_n=1,
    attempts=0,
    next_try_at=None,
    trace_id="t",
)


@dataclass
class OneVector:
    """An embedder with the same vector for every text."""

    model: str = "old"
    dim: int = 2

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        return Embedded(
            (1.0, *(0.0,) * (self.dim - 1)), len(query.split()), is_cut=False
        )


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        opened.transact(lambda rows: rows.upsert([ARTICLE]))
        yield opened


@pytest.fixture
def index() -> SearchIndex:
    return FakeSearchIndex()


def run(
    lake: Lake, index: SearchIndex, embedder: OneVector, *, replace_model: bool = False
) -> None:
    """Run the last two stages."""
    ports = {"embedder": embedder, "search": index, "sandbox": InlineSandbox()}
    options = {"replace_model": replace_model}
    stage_named("article_embeddings").run_batch(
        lake, DESK, KEYS, lambda: NOW, ports, options
    )
    stage_named("search_index").run_batch(lake, DESK, KEYS, lambda: NOW, ports)


def models(lake: Lake) -> list[str]:
    return [row.model for row in lake.read(ArticleEmbedding)]


def test_another_model_is_refused_and_nothing_is_written(
    lake: Lake, index: SearchIndex
) -> None:
    run(lake, index, OneVector())
    with pytest.raises(
        EmbedError, match=r"the model is new .*article_embeddings holds vectors of old"
    ):
        run(lake, index, OneVector("new"))
    assert models(lake) == ["old"]


@pytest.mark.parametrize("other", [OneVector("new"), OneVector("wide", 3)])
def test_an_index_of_another_model_is_unchanged_until_it_is_rebuilt(
    lake: Lake, index: SearchIndex, other: OneVector
) -> None:
    run(lake, index, OneVector())
    with pytest.raises(EmbedError, match=r"article_embeddings holds vectors of old"):
        run(lake, index, other)
    before = hashes(index, "d")
    with pytest.raises(
        IndexingError,
        match=rf"are of {other.model} .*, those of the search index of old \(2 dim",
    ):
        run(lake, index, other, replace_model=True)
    assert (models(lake), hashes(index, "d")) == ([other.model], before)
    fresh = FakeSearchIndex()
    run(lake, fresh, other)
    assert (fresh.vector_dim(), fresh.vector_model(), fresh.count()) == (
        other.dim,
        other.model,
        1,
    )


def test_rows_of_a_gone_article_are_deleted_from_lake_and_index(
    lake: Lake, index: SearchIndex
) -> None:
    run(lake, index, OneVector())
    lake.transact(
        lambda rows: rows.upsert([replace(ARTICLE, outcome="gone", text=None)])
    )
    run(lake, index, OneVector())
    assert (lake.read(ArticleEmbedding), lake.read(IndexedDocument), index.count()) == (
        [],
        [],
        0,
    )
