"""The arrays that searching processes map: they change no answer, whatever happened to
them, and hold nothing of a deleted document.
"""

import logging
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from news_assets.clients.search.embedded import nearest_vectors, search_file
from news_assets.clients.search.embedded.document_writer import remove_documents
from news_assets.clients.search.embedded.search_file import connect
from news_assets.clients.search.embedded.sqlite_index import (
    SqliteRebuild,
    SqliteSearchIndex,
    save_arrays,
)
from news_assets.ports.search_index import SearchAnswer, SearchDocument, SearchQuery
from news_assets_tests.clients.search.contract.examples import document

DIM = 16
TEXTS = ("vacina", "vacina escola", "escola hospital", "ferrovia")
_rng = np.random.default_rng(3)
_VECTORS = _rng.standard_normal((400, DIM))


@pytest.fixture(autouse=True)
def _small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_file, "_FEW_NEW", 100)
    monkeypatch.setattr(nearest_vectors, "BLOCK_ROWS", 32)
    monkeypatch.setattr(nearest_vectors, "_READ_BELOW", 20)


def made(first: int, end: int, text: str = "") -> list[SearchDocument]:
    return [
        document(
            n,
            TEXTS[n % 4],
            f"{text} número {n}",
            agency=f"agency-{n % 3}",
            entities=(f"Name {n % 5}",),
            text_hash=f"{text} {n % 90}",
            duplicate_of="mec-2" if n % 17 == 9 else None,
            document_hash=f"{text} {n}",
            vector=tuple(_VECTORS[n].tolist()),
        )
        for n in range(first, end)
    ]


def answers(path: Path) -> list[SearchAnswer]:
    """Return the answers of a process that opens the file now."""
    found = []
    with SqliteSearchIndex.open(path) as index:
        for text in ("vacina", "escola", "depois", ""):
            for n, agency in ((0, None), (7, "agency-1"), (399, None)):
                vector = tuple(_VECTORS[n].tolist())
                query = SearchQuery(text=text, vector=vector, agency=agency, limit=40)
                found.append(replace(index.search(query), took_ms=0.0))
    return found


def folder(path: Path) -> Path:
    return Path(f"{path}.arrays")


def answers_of_rows(path: Path, home: Path) -> list[SearchAnswer]:
    """Return the answers of a copy of the file, without arrays."""
    copy = home / "copy" / "search.sqlite"
    shutil.rmtree(copy.parent, ignore_errors=True)
    copy.parent.mkdir()
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    assert not folder(copy).exists()
    return answers(copy)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with saved arrays of 300 documents."""
    made_path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(made_path) as index:
        assert index.upsert(made(0, 300)) == {}
    assert len(list(folder(made_path).iterdir())) == 1
    return made_path


def test_answers_are_those_of_the_rows(path: Path, tmp_path: Path) -> None:
    assert answers(path) == answers_of_rows(path, tmp_path)


def test_answers_have_what_was_written_since(path: Path, tmp_path: Path) -> None:
    with SqliteSearchIndex.open(path) as index:
        index.upsert(made(300, 340, "depois"))
        index.upsert(made(10, 30, "depois"))
        index.delete(["mec-7", "mec-2", "mec-310"])
        before = [one.name for one in folder(path).iterdir()]
    assert answers(path) == answers_of_rows(path, tmp_path)
    assert before == [one.name for one in folder(path).iterdir()]


def test_arrays_are_made_again_after_many_documents(path: Path, tmp_path: Path) -> None:
    (first,) = folder(path).iterdir()
    with SqliteSearchIndex.open(path) as index:
        index.upsert(made(0, 250, "depois"))
    (second,) = folder(path).iterdir()
    assert first != second
    assert answers(path) == answers_of_rows(path, tmp_path)


def test_a_reader_keeps_its_arrays_while_a_writer_makes_others(
    path: Path, tmp_path: Path
) -> None:
    query = SearchQuery(text="", mode="vector", vector=tuple(_VECTORS[3].tolist()))
    with SqliteSearchIndex.open(path) as reader:
        assert reader.search(query).hits[0].article_id == "mec-3"
        with SqliteSearchIndex.open(path) as index:
            index.upsert(made(0, 250, "depois"))
        found = reader.search(replace(query, limit=40))
    with SqliteSearchIndex.open(path) as fresh:
        expected = fresh.search(replace(query, limit=40))
    assert found.hits == expected.hits


def saved_vector(path: Path, n: int) -> list[np.ndarray]:
    """Return the values that are saved of the vector of a document's number."""
    (arrays,) = folder(path).iterdir()
    ns, levels, scales = (
        np.load(arrays / f"vector_{name}.npy") for name in ("ns", "levels", "scales")
    )
    ((block, row),) = np.argwhere(ns == n)
    return [levels[block, :, row], scales[block, :3, row]]


def test_a_deleted_document_leaves_the_saved_vectors(path: Path) -> None:
    assert all(values.any() for values in saved_vector(path, 6))
    with SqliteSearchIndex.open(path) as index:
        index.delete(["mec-5"])  # its number is 6
    assert not any(values.any() for values in saved_vector(path, 6))
    assert all(values.any() for values in saved_vector(path, 7))


def test_a_changed_document_leaves_the_saved_vectors(path: Path) -> None:
    with SqliteSearchIndex.open(path) as index:
        index.upsert(made(5, 6, "depois"))
    assert not any(values.any() for values in saved_vector(path, 6))


def test_a_deletion_that_is_not_committed_changes_no_answer(path: Path) -> None:
    before = answers(path)
    with closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        remove_documents(connection, ["mec-0", "mec-7"])
        connection.execute("ROLLBACK")
    assert not saved_vector(path, 8)[0].any()
    assert answers(path) == before


_KILLED = """
import os, sys
from pathlib import Path
from news_assets.clients.search.embedded import search_file
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex, save_arrays

written = []

def write(path, parts):
    written.append(path)
    path.write_bytes(b"half")
    if len(written) == 3:
        os._exit(9)

search_file._write_array = write
with SqliteSearchIndex.open(Path(sys.argv[1])) as index:
    save_arrays(index._connection)
"""


def test_a_writer_killed_while_it_saves_changes_no_answer(
    path: Path, tmp_path: Path
) -> None:
    before = answers(path)
    command = [sys.executable, "-c", _KILLED, str(path)]
    assert subprocess.run(command, check=False).returncode == 9
    assert len(list(folder(path).iterdir())) == 2
    assert answers(path) == before
    with SqliteSearchIndex.open(path) as index:
        save_arrays(index._connection)
    assert len(list(folder(path).iterdir())) == 1
    assert answers(path) == before


def test_missing_and_damaged_arrays_are_made_of_rows(path: Path) -> None:
    before = answers(path)
    (arrays,) = folder(path).iterdir()
    (arrays / "vector_levels.npy").write_bytes(b"")
    assert answers(path) == before
    shutil.rmtree(arrays)
    assert answers(path) == before
    with SqliteSearchIndex.open(path) as index:
        index.delete(["mec-unknown"])
        assert not arrays.exists()
        index.upsert(made(0, 1))
    assert len(list(folder(path).iterdir())) == 1
    assert answers(path) == before


def test_arrays_of_a_later_state_are_not_those_of_a_restored_file(
    path: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.sqlite"
    with sqlite3.connect(path) as source, sqlite3.connect(backup) as target:
        source.backup(target)
    source.close()
    target.close()
    before = answers(path)
    with SqliteSearchIndex.open(path) as index:
        index.upsert(made(0, 250, "depois"))
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    shutil.copy(backup, path)
    assert answers(path) == before


def test_a_rebuild_removes_the_arrays_of_before(path: Path, tmp_path: Path) -> None:
    (first,) = folder(path).iterdir()
    documents = made(0, 200, "depois")
    rebuild = SqliteRebuild.begin(path, DIM, None)
    assert rebuild.upsert(documents) == {}
    rebuild.swap({"govbr": {one.article_id: one.document_hash for one in documents}})
    (second,) = folder(path).iterdir()
    assert first != second
    assert answers(path) == answers_of_rows(path, tmp_path)
    small = SqliteRebuild.begin(path, DIM, None)
    assert small.upsert(documents[:20]) == {}
    small.swap({"govbr": {one.article_id: one.document_hash for one in documents[:20]}})
    assert list(folder(path).iterdir()) == []


def test_a_folder_that_cannot_be_written_refuses_no_document(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "search.sqlite"
    folder(path).write_text("a file")
    with (
        caplog.at_level(logging.WARNING),
        SqliteSearchIndex.open(path) as index,
    ):
        assert index.upsert(made(0, 300)) == {}
        assert index.count() == 300
    assert "no arrays are saved" in caplog.text
