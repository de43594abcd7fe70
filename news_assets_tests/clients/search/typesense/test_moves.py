"""Writes go to the collection that the alias names, through restarts of the server and
moves of the alias.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets.ports.search_index import SearchDocument
from news_assets_tests.clients.search.typesense.samples import VECTOR, document, opened
from news_assets_tests.support.search_backends import hashes
from news_assets_tests.typesense_server import running


def test_a_restart_undoes_no_write_and_no_deletion() -> None:
    with running(keeps_log=True) as server, opened(server) as index:
        index.upsert([document(n, vector=VECTOR) for n in range(1, 9)])
        index.delete(["mec-1", "mec-2"])
        index.upsert([document(3, "Outro", document_hash="new")])
        before = hashes(index, "govbr")
        server.restart()
        assert (hashes(index, "govbr"), len(before), before["mec-3"]) == (
            before,
            6,
            "new",
        )


def swapped(index: TypesenseSearchIndex, *documents: SearchDocument) -> None:
    rebuild = index.begin_rebuild(None, None, datetime(2026, 2, 1, tzinfo=UTC))
    rebuild.upsert(documents)
    rebuild.swap({"govbr": {one.article_id: one.document_hash for one in documents}})


def test_writes_follow_the_alias_after_a_rebuild() -> None:
    with running() as server, opened(server) as writer, opened(server) as other:
        writer.upsert([document(1)])
        swapped(other, document(1), document(2))
        writer.upsert([document(3)])
        writer.delete(["mec-1"])
        assert hashes(other, "govbr") == {"mec-2": "hash-2", "mec-3": "hash-3"}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("method", "write", "expected"),
    [
        ("import_lines", lambda index: index.upsert([document(2)]), {"mec-1", "mec-2"}),
        ("delete", lambda index: index.delete(["mec-1"]), set()),
    ],
)
def test_a_write_during_a_swap_reaches_the_new_collection(
    moment: str,
    method: str,
    write: Callable[[TypesenseSearchIndex], object],
    expected: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running() as server, opened(server) as writer, opened(server) as other:
        writer.upsert([document(1)])
        send = getattr(writer.connection, method)

        def swapping(*given: object) -> object:
            monkeypatch.undo()
            if moment == "before":
                swapped(other, document(1))
            sent = send(*given)
            if moment == "after":
                swapped(other, document(1))
            return sent

        monkeypatch.setattr(writer.connection, method, swapping)
        write(writer)
        assert set(hashes(other, "govbr")) == expected
