"""The SQLite backend beyond the contract of every backend (`contract`)."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from news_assets.clients.search.embedded import nearest_vectors, postings, sqlite_index
from news_assets.clients.search.embedded.sqlite_index import (
    SqliteRebuild,
    SqliteSearchIndex,
)
from news_assets.errors import IndexingError
from news_assets.ports.search_index import (
    SearchAnswer,
    SearchDocument,
    SearchMode,
    SearchQuery,
)
from news_assets_tests.clients.search.contract.examples import document
from news_assets_tests.support.search_backends import hashes

_WRITER = """
import sys
from pathlib import Path
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets_tests.clients.search.contract.examples import document

name, count = sys.argv[2], int(sys.argv[3])
with SqliteSearchIndex.open(Path(sys.argv[1])) as index:
    for n in range(count):
        index.upsert([document(n, "vacina", article_id=f"{name}-{n}", vector=(1.0, 0.0)), document(0, "estrada")])
        print(f"{name}-{n}", flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def keyword(index: SqliteSearchIndex, text: str, limit: int = 10) -> list[str]:
    return [
        hit.article_id
        for hit in index.search(
            SearchQuery(text=text, mode="keyword", limit=limit)
        ).hits
    ]


@pytest.mark.slow  # several processes write
def test_concurrent_writers_lose_nothing_and_a_reader_sees_all(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(path) as index:
        assert keyword(index, "vacina") == []
        writers = [writer(path, name, 20) for name in ("a", "b", "c")]
        assert [
            process.communicate()[1] or process.returncode for process in writers
        ] == [0, 0, 0]
        answer = index.search(SearchQuery(text="vacina", vector=(1.0, 0.0)))
        assert (index.count(), answer.found) == (61, 60)


def test_a_killed_writer_loses_no_acknowledged_document(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    process = writer(path, "a", 100_000)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(15)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += process.communicate()[0].split()
    with SqliteSearchIndex.open(path) as index:
        assert set(acknowledged) <= set(hashes(index, "govbr"))
        assert set(acknowledged) <= set(keyword(index, "vacina", limit=10_000))
        assert index.upsert([document(1, "depois")]) == {}


def test_threads_may_share_an_index(tmp_path: Path) -> None:
    with (
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
        ThreadPoolExecutor(8) as pool,
    ):
        list(
            pool.map(
                lambda n: (
                    index.upsert([document(n, "vacina")]),
                    keyword(index, "vacina"),
                ),
                range(40),
            )
        )
        assert index.count() == 40


def test_folding_and_deleting_leave_other_documents_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "FOLD_AT", 7)
    path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(path) as index, SqliteSearchIndex.open(path) as reader:
        for step in range(6):
            index.upsert(
                [
                    document(n, f"vacina etapa{step}", document_hash=f"{step}-{n}")
                    for n in range(20)
                ]
            )
            assert len(keyword(reader, f"etapa{step}", limit=99)) == 20
        index.delete([f"mec-{n}" for n in range(15)])
        expected = {f"mec-{n}" for n in range(15, 20)}
        for text in ("vacina", "etapa5"):
            assert (
                set(keyword(reader, text, limit=99))
                == set(keyword(index, text, limit=99))
                == expected
            )
        assert keyword(reader, "etapa0") == keyword(reader, "etapa5", limit=0) == []


@pytest.mark.parametrize("block_rows", [8_192, 64])
def test_vector_search_is_exact_also_with_filters_and_after_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr(nearest_vectors, "BLOCK_ROWS", block_rows)
    monkeypatch.setattr(nearest_vectors, "_READ_BELOW", 50)
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((600, 24))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    documents = [
        document(n, agency=f"agency-{n % 3}", vector=tuple(rows[n].tolist()))
        for n in range(600)
    ]
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        index.upsert(documents[:300])
        index.search(
            SearchQuery(text="", mode="vector", vector=tuple(rows[0].tolist()))
        )
        index.upsert(documents[300:])
        index.delete(["mec-5"])
        stored = rows.astype(np.float16).astype(np.float32)
        for query in rng.standard_normal((20, 24)):
            cosines = stored @ (query / np.linalg.norm(query)).astype(np.float32)
            order = [n for n in np.argsort(-cosines).tolist() if n != 5]
            for agency in (None, "agency-1"):
                search = SearchQuery(
                    text="", mode="vector", vector=tuple(query.tolist()), agency=agency
                )
                expected = [f"mec-{n}" for n in order if agency is None or n % 3 == 1][
                    :10
                ]
                assert [hit.article_id for hit in index.search(search).hits] == expected


def test_a_changed_vector_replaces_the_old_one(tmp_path: Path) -> None:
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        index.upsert([document(1, vector=(1.0, 0.0)), document(2, vector=(0.6, 0.8))])
        query = SearchQuery(text="", mode="vector", vector=(1.0, 0.0), limit=1)
        assert index.search(query).hits[0].article_id == "mec-1"
        index.upsert([document(1, vector=(0.0, 1.0), document_hash="new")])
        assert index.search(query).hits[0].article_id == "mec-2"


def test_an_original_added_after_its_duplicates_is_their_hit(tmp_path: Path) -> None:
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        index.upsert([document(n, "vacina", duplicate_of="mec-9") for n in (1, 2)])
        assert len(keyword(index, "vacina")) == 1
        index.upsert([document(9, "vacina e mais")])
        assert keyword(index, "vacina") == ["mec-9"]
        index.upsert([document(9, "vacina e menos", document_hash="new")])
        assert keyword(index, "vacina") == ["mec-9"]


def test_a_copy_is_found_in_its_desk_if_its_original_is_in_another(
    tmp_path: Path,
) -> None:
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        index.upsert(
            [
                document(1, "vacina", desk="govbr"),
                document(2, "vacina", desk="g1", duplicate_of="mec-1"),
            ]
        )
        found = {
            desk: index.search(SearchQuery(text="vacina", desk=desk))
            for desk in ("govbr", "g1", None)
        }
        assert {
            desk: [hit.article_id for hit in answer.hits]
            for desk, answer in found.items()
        } == {
            "govbr": ["mec-1"],
            "g1": ["mec-2"],
            None: ["mec-1"],
        }
        index.delete(["mec-1"])
        assert keyword(index, "vacina") == ["mec-2"]


def test_a_file_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(IndexingError, match="not a search index"):
        SqliteSearchIndex.open(path)
    assert path.read_bytes() == before


def test_a_file_with_other_facets_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(path) as index:
        index.upsert([document(1, "vacina")])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE documents SET facts = facts || x'0000'")
    with pytest.raises(IndexingError, match="has other facets than this program"):
        SqliteSearchIndex.open(path)


@pytest.mark.parametrize(
    "content",
    [b"hello, this is no database" * 100, b"SQLite format 3\x00" + b"\xff" * 5000],
)
def test_a_damaged_file_is_an_error_with_path_and_remedy(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "search.sqlite"
    path.write_bytes(content)
    with pytest.raises(IndexingError, match=r"search\.sqlite: .*(delete|move)"):
        SqliteSearchIndex.open(path)


def test_a_page_damaged_inside_the_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(path) as index:
        index.upsert([document(n, "vacina") for n in range(200)])
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xa5" * (len(content) - 4096 * 2)
    path.write_bytes(content)
    with (
        pytest.raises(IndexingError, match=r"search\.sqlite: .*damaged"),
        SqliteSearchIndex.open(path) as index,
    ):
        keyword(index, "vacina")


def test_a_directory_at_the_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IndexingError, match=tmp_path.name):
        SqliteSearchIndex.open(tmp_path)


def test_an_unchanged_batch_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(path) as index:
        index.upsert([document(n, "vacina") for n in range(20)])
        wal = path.with_name(path.name + "-wal")
        before = wal.stat().st_size, wal.stat().st_mtime_ns
        time.sleep(0.01)
        index.upsert([document(n, "vacina") for n in range(20)])
        assert (wal.stat().st_size, wal.stat().st_mtime_ns) == before


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
    monkeypatch.setattr(postings, "FOLD_AT", 10)
    monkeypatch.setattr(postings, "MERGE_AT", 3)
    monkeypatch.setattr(sqlite_index, "FOLD_AT", 50)
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
