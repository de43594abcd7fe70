"""`news_assets.search` as a library: the documented example, filters, modes, and what
it imports.
"""

import doctest
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from news_assets import search
from news_assets.clients.embedding.exported_models import ENGLISH_MODEL
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchDocument
from news_assets.records.reading import Embedded
from news_assets_tests.support.search_backends import (
    BACKENDS,
    Backend,
    configured_backend,
)

PAGE = Path(__file__).parents[1] / "docs" / "search.md"


def document(
    article_id: str, agency: str, day: date, title: str, text: str
) -> SearchDocument:
    return SearchDocument(
        article_id=article_id,
        desk="sample",
        agency=agency,
        agency_name=agency,
        day=day,
        url=f"https://example.org/{article_id}",
        title=title,
        text=text,
        language="pt",
        vector=(1.0, 0.0) if agency == "prefeitura" else (0.0, 1.0),
        document_hash=article_id,
    )


DOCUMENTS = (
    document(
        "p-1",
        "prefeitura",
        date(2026, 1, 5),
        "Vila Serena leva vacinação contra a gripe às escolas",
        "A campanha começa na segunda-feira em doze escolas da rede municipal.",
    ),
    document(
        "p-2",
        "prefeitura",
        date(2026, 1, 6),
        "Feira da agricultura familiar",
        "Produtores na praça central.",
    ),
    document(
        "g-1",
        "gazeta",
        date(2026, 1, 7),
        "Vacinação nas escolas começa",
        "A gazeta esteve em uma escola.",
    ),
)


@pytest.fixture(params=BACKENDS)
def backend(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    with configured_backend(request.param, tmp_path, monkeypatch.setenv) as backend:
        with backend.open() as index:
            assert index.upsert(DOCUMENTS) == {}
        yield backend


def test_the_example_in_the_docstring_runs(backend: Backend) -> None:
    assert doctest.testmod(search) == doctest.TestResults(failed=0, attempted=4)


def test_the_readme_has_the_same_example() -> None:
    example = doctest.DocTestParser().get_examples(search.__doc__ or "")
    lines = [line for one in example for line in one.source.splitlines()]
    page = PAGE.read_text(encoding="utf-8")
    assert [line for line in lines if line.strip() and line.strip() not in page] == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (search.Filters(), ["g-1", "p-1"]),
        (search.Filters(agency="gazeta"), ["g-1"]),
        (search.Filters(desk="other"), []),
        (search.Filters(language="en"), []),
        (search.Filters(from_day=date(2026, 1, 6)), ["g-1"]),
        (search.Filters(to_day=date(2026, 1, 5), desk="sample"), ["p-1"]),
    ],
)
def test_hits_match_every_filter(
    backend: Backend, filters: search.Filters, expected: list[str]
) -> None:
    with search.open_index() as index:
        answer = index.search("vacinacao escola", filters, mode="keyword")
    assert sorted(hit.article_id for hit in answer.hits) == expected


class Embedder:
    """Return for every query the vector of the prefeitura's documents."""

    model, dim, opened = "fixed", 2, 0

    def embed_query(self, query: str) -> Embedded:
        return Embedded((1.0, 0.0), 1, is_cut=False)

    def embed(self, texts: object) -> list[Embedded]:
        return []


def test_the_model_is_loaded_once_and_only_for_searches_that_need_it(
    tmp_path: Path,
) -> None:
    loaded: list[Embedder] = []

    def load() -> Embedder:
        loaded.append(Embedder())
        return loaded[-1]

    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as sqlite:
        sqlite.upsert(DOCUMENTS)
        index = search.Index(sqlite, load, sqlite.close)
        index.search("feira", mode="keyword")
        index.search("", mode="hybrid")
        assert loaded == []
        near = index.search("quermesse", mode="vector", limit=1)
        index.search("feira", mode="hybrid")
        assert (len(loaded), near.hits[0].agency) == (1, "prefeitura")


class Recording(Embedder):
    """Keeps the queries."""

    def __init__(self) -> None:
        self.queries = list[str]()

    def embed_query(self, query: str) -> Embedded:
        self.queries.append(query)
        return super().embed_query(query)


def test_the_time_for_a_vector_does_not_grow_with_the_length_of_a_query(
    backend: Backend,
) -> None:
    model = Recording()
    with backend.open() as opened:
        search.Index(opened, lambda: model, opened.close).search(" " * 300 + "é" * 500)
    assert model.queries == ["é" * 300]


class EnglishEmbedder(Embedder):
    model = ENGLISH_MODEL


@pytest.mark.parametrize(
    ("text", "agency"), [("praça", "gazeta"), ("square", "prefeitura")]
)
def test_a_hybrid_search_searches_by_words_where_the_model_does_not_read_the_language(
    backend: Backend, text: str, agency: str
) -> None:
    with backend.open() as opened:
        english = document(
            "g-2", "gazeta", date(2026, 1, 8), "The square", "A square in the city."
        )
        opened.upsert(
            [
                document("g-3", "gazeta", date(2026, 1, 8), "A praça", "Na praça."),
                replace(english, language="en"),
            ]
        )
        index = search.Index(opened, EnglishEmbedder, opened.close)
        assert index.search(text).hits[0].agency == agency


def test_vectors_of_another_model_are_not_compared_with_the_querys(
    backend: Backend,
) -> None:
    with backend.open() as opened:
        opened.name_model("another")
        index = search.Index(opened, Embedder, opened.close)
        with pytest.raises(
            IndexingError, match="queries is fixed, that of the index's vectors another"
        ):
            index.search("feira")
        assert index.search("agricultura", mode="keyword").found == 1


def test_the_model_is_loaded_once_also_where_the_index_has_vectors_of_another(
    backend: Backend,
) -> None:
    loaded = list[Embedder]()

    def load() -> Embedder:
        loaded.append(Embedder())
        return loaded[-1]

    with backend.open() as opened:
        opened.name_model("another")
        index = search.Index(opened, load, opened.close)
        for _ in range(2):
            with pytest.raises(IndexingError):
                index.search("feira")
    assert len(loaded) == 1


def test_an_index_that_cannot_be_opened_is_an_indexing_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with configured_backend("embedded", tmp_path, monkeypatch.setenv) as backend:
        (backend.home / "search.sqlite").write_bytes(b"no database " * 1000)
        with pytest.raises(IndexingError, match="rebuild search"):
            search.open_index()


def test_importing_it_imports_no_heavy_library() -> None:
    heavy = (
        "dagster",
        "duckdb",
        "numpy",
        "onnxruntime",
        "polars",
        "pydantic",
        "torch",
        "typesense",
    )
    code = f"import sys; from news_assets import search; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
