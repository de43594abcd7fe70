"""A rebuilt index gives the same answers as one that was filled by upserts."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from news_assets.clients.search.embedded import posting_parts, sqlite_rebuild
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.search.embedded.sqlite_rebuild import SqliteRebuild
from news_assets.ports.search_index import (
    SearchAnswer,
    SearchDocument,
    SearchMode,
    SearchQuery,
)
from news_assets_tests.clients.search.contract.examples import document

WORDS = (
    *("vacina", "vacinação", "escola", "escolas", "hospital", "ferrovia", "cultura"),
    *("–", "“biblioteca”", "Ação", "e", "l'été", "2026"),
)
QUERIES = ("vacinas", "escola hospital", "bibliotecas", "acao", "ferovia", "")
MODES: tuple[SearchMode, ...] = ("keyword", "vector", "hybrid")


def made(count: int) -> list[SearchDocument]:
    rng = np.random.default_rng(1)
    return [
        document(
            number,
            " ".join(rng.choice(WORDS, 3)),
            " ".join(rng.choice(WORDS, number % 17)),
            summary=str(rng.choice(WORDS)) if number % 4 else None,
            language=("pt-BR", "en", None)[number % 3],
            duplicate_of="mec-3" if number % 11 == 10 else None,
            text_hash=f"text {number % 29}",
            vector=tuple(rng.standard_normal(4).tolist()) if number % 5 else None,
        )
        for number in range(count)
    ]


def answers(path: Path) -> list[SearchAnswer]:
    vector = (1.0, 0.5, 0.0, -0.5)
    with SqliteSearchIndex.open(path) as index:
        queries = [
            SearchQuery(text=text, mode=mode, vector=vector, limit=50)
            for text in QUERIES
            for mode in MODES
        ]
        return [replace(index.search(query), took_ms=0.0) for query in queries]


def test_a_rebuilt_index_equals_an_upserted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_parts, "FOLD_AT", 10)
    monkeypatch.setattr(posting_parts, "MERGE_AT", 3)
    monkeypatch.setattr(sqlite_rebuild, "FOLD_AT", 50)
    documents = made(130)
    upserted, rebuilt = tmp_path / "upserted.sqlite", tmp_path / "rebuilt.sqlite"
    with SqliteSearchIndex.open(upserted) as index:
        for one in documents:
            assert index.upsert([one]) == {}
    filled = SqliteRebuild.begin(rebuilt, 4, "made")
    for start in range(0, len(documents), 40):
        assert filled.upsert(documents[start : start + 40]) == {}
    filled.swap({"govbr": {one.article_id: one.document_hash for one in documents}})
    assert answers(rebuilt) == answers(upserted)


def test_a_rebuild_refuses_vectors_of_other_dimensions(tmp_path: Path) -> None:
    with closing(SqliteRebuild.begin(tmp_path / "search.sqlite", 3, "made")) as rebuild:
        assert rebuild.upsert([document(1, vector=(1.0, 0.0))]) == {
            "mec-1": "the vector has 2 dimensions, the index has 3"
        }
        assert rebuild.upsert([document(1, vector=(1.0, 0.0, 0.0))]) == {}
