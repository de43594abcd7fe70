"""`rebuild search` over both backends: from the lake alone, interrupted, refused, and
during reads and writes.
"""

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from subprocess import PIPE

import pytest

from news_assets.clients.factory import open_rebuild
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.commands import search_upkeep
from news_assets.errors import IndexingError
from news_assets.pipeline.reindex import (
    DeskDocuments,
    IndexRebuild,
    read_documents,
    sync_desk,
)
from news_assets.ports.search_index import SearchIndex, SearchQuery
from news_assets.records.derived import IndexedDocument
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import expected_documents, lost_documents
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.search_backends import (
    ADMIN_KEY,
    BACKENDS,
    Backend,
    configured_backend,
    hashes,
)
from news_assets_tests.support.small_desk import DESK, NOW, TODAY, Newsroom, entry
from news_assets_tests.support.waiting import HANG_S

# The command with chunks of one document, which stops after the first chunk.
_SLOW = """
import sys, time
from news_assets.cli import main
from news_assets.pipeline import reindex

def slowly(*given, send=reindex._send):
    send(*given)
    print("sent", flush=True)
    time.sleep(60)

reindex._send, reindex.CHUNK_DOCUMENTS = slowly, 1
sys.argv = ["news-assets", "rebuild", "search"]
main()
"""


@pytest.fixture(params=BACKENDS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    with configured_backend(request.param, tmp_path, monkeypatch.setenv) as made:
        yield made


@pytest.fixture(scope="module")
def embedded(empty_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed lake with three articles, all stages done but the index, as a template."""
    folder = tmp_path_factory.mktemp("embedded")
    copy_lake(empty_lake, folder)
    with Lake.open(folder / "catalog.sqlite", folder / "data") as lake:
        room = Newsroom(lake, FakeSearchIndex())
        room.list(entry(1), entry(2), entry(3, "b", TODAY - timedelta(days=400)))
        room.run("raw_articles", "enriched_articles", "article_embeddings")
    return folder


@pytest.fixture
def room(place: Backend, embedded: Path, tmp_path: Path) -> Iterator[Newsroom]:
    """Three articles, all stages done."""
    copy_lake(embedded, tmp_path)
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        place.open() as index,
    ):
        room = Newsroom(lake, index)
        room.run("search_index")
        yield room


def begin() -> AbstractContextManager[IndexRebuild]:
    return open_rebuild(*Settings.read().search_place, 2, "1", NOW)


def found(index: SearchIndex, text: str) -> list[str]:
    return sorted(
        hit.article_id
        for hit in index.search(SearchQuery(text=text, mode="keyword")).hits
    )


def lost(room: Newsroom, index: SearchIndex) -> list[str]:
    return lost_documents(room.lake, index, DESK, room.now)["article_id"].to_list()


def test_an_empty_index_is_rebuilt_from_the_lake(
    room: Newsroom, place: Backend, call: Call
) -> None:
    before = hashes(room.index, "d")
    room.index.delete(list(before))
    code, out, err = call("rebuild", "search")
    assert (code, err) == (0, "")
    assert out.startswith("3 documents in the new index after ")
    with place.open() as index:
        assert (hashes(index, "d"), lost(room, index), found(index, "line2")) == (
            before,
            [],
            ["a-2"],
        )
    assert (hashes(room.index, "d"), found(room.index, "line2")) == (before, ["a-2"])


def test_orphaned_and_stale_documents_are_corrected_and_receipts_match(
    room: Newsroom, call: Call
) -> None:
    (one,) = read_documents(room.lake, ["a-1"], {})
    room.index.upsert(
        [replace(one, article_id="a-9"), replace(one, document_hash="stale")]
    )
    room.lake.transact(lambda rows: rows.delete(IndexedDocument, article_id=["a-1"]))
    code, out, _ = call("rebuild", "search")
    assert (code, out.partition("; ")[2]) == (0, "1 receipts updated\n")
    receipts = {
        row.article_id: row.document_hash for row in room.lake.read(IndexedDocument)
    }
    assert hashes(room.index, "d") == receipts
    assert sorted(receipts) == ["a-1", "a-2", "b-3"]


def test_a_dry_run_prints_the_differences_and_changes_nothing(
    room: Newsroom, place: Backend, call: Call
) -> None:
    (one,) = read_documents(room.lake, ["a-1"], {})
    room.index.upsert(
        [replace(one, article_id="a-9"), replace(one, document_hash="stale")]
    )
    room.index.delete(["b-3"])
    before = hashes(room.index, "d")
    code, out, _ = call("rebuild", "search", "--dry-run")
    first, second, *fields = out.splitlines()
    assert (code, first) == (
        0,
        f"{place.search}: 3 documents would be sent from the lake, vectors of 1, 2 dimensions",
    )
    assert second == "desk d: 3 documents; the index lacks 1, 1 are outdated, 1 extra"
    assert fields == (
        ["the index has every field that this program writes"] if place.server else []
    )
    assert hashes(room.index, "d") == before


def test_more_documents_than_the_embedded_index_is_made_for_are_named(
    room: Newsroom, place: Backend, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_upkeep, "MOST_EMBEDDED", 2)
    note = "3 documents are more than the 2 that the embedded index is made for"
    for options in (["--dry-run"], []):
        code, out, error = call("rebuild", "search", *options)
        assert (code, error) == (0, "")
        assert (note in out) == (not place.server)


def test_an_interrupted_rebuild_is_resumed(
    room: Newsroom, place: Backend, call: Call
) -> None:
    first, _, third = sorted(
        read_documents(
            room.lake, ["a-1", "a-2", "b-3"], {"a": "Câmara a", "b": "Câmara b"}
        ),
        key=lambda d: d.article_id,
    )
    with begin() as rebuild:
        rebuild.upsert(
            [
                first,
                replace(third, article_id="b-9"),
                replace(third, document_hash="stale"),
            ]
        )
    code, out, _ = call("rebuild", "search")
    assert (code, out.splitlines()[0]) == (0, "resuming an interrupted rebuild")
    assert (sorted(hashes(room.index, "d")), lost(room, room.index)) == (
        ["a-1", "a-2", "b-3"],
        [],
    )


@pytest.mark.parametrize(
    ("signal_", "expected"),
    [
        (
            signal.SIGINT,
            (
                130,
                "interrupted: run the command again to resume; searches still use the old index\n",
            ),
        ),
        (signal.SIGKILL, (-signal.SIGKILL, "")),
    ],
)
@pytest.mark.slow  # a process for each case
def test_a_stopped_rebuild_changes_nothing_and_is_resumed(
    room: Newsroom,
    place: Backend,
    call: Call,
    signal_: signal.Signals,
    expected: tuple[int, str],
) -> None:
    before = hashes(room.index, "d")
    aliases = dict(place.server.store.aliases) if place.server else {}
    with subprocess.Popen(
        [sys.executable, "-c", _SLOW], stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sent\n"
        process.send_signal(signal_)
        _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == expected
    assert (dict(place.server.store.aliases) if place.server else {}) == aliases
    assert found(room.index, "line2") == ["a-2"]
    code, out, _ = call("rebuild", "search")
    assert (code, out.splitlines()[0]) == (0, "resuming an interrupted rebuild")
    assert (hashes(room.index, "d"), lost(room, room.index)) == (before, [])
    assert list(place.home.glob("search.sqlite.rebuild*")) == []
    assert place.server is None or len(place.server.store.collections) == 1


def test_rows_on_another_day_are_found(room: Newsroom, call: Call) -> None:
    def move(rows: object) -> None:
        rows.cursor.execute(
            "UPDATE article_embeddings SET day = day - 90 WHERE article_id = 'a-1'"
        )  # type: ignore[attr-defined]

    before = hashes(room.index, "d")
    room.lake.transact(move)
    expected = DeskDocuments("d", {"a": "Câmara a", "b": "Câmara b"})
    expected.refresh(expected_documents(room.lake, "d", expected.agency_names))
    with begin() as rebuild:
        assert (
            sync_desk(room.lake, rebuild, InlineSandbox(), expected, lambda _: None)
            == 3
        )
        assert (
            dict(rebuild.stored("d").select("article_id", "document_hash").iter_rows())
            == before
        )
    assert call("rebuild", "search")[0] == 0


def test_an_incomplete_rebuild_is_not_swapped_in(room: Newsroom) -> None:
    before = hashes(room.index, "d")
    with begin() as rebuild:
        rebuild.upsert(read_documents(room.lake, ["a-1"], {}))
        with pytest.raises(IndexingError, match="2 missing"):
            rebuild.swap({"d": before})
    assert hashes(room.index, "d") == before


def test_a_refused_document_is_reported_and_the_others_are_indexed(
    room: Newsroom, call: Call
) -> None:
    def spoil(rows: object) -> None:
        rows.cursor.execute(
            "UPDATE article_embeddings SET vector = [0, 0] WHERE article_id = 'a-2'"
        )  # type: ignore[attr-defined]

    room.lake.transact(spoil)
    room.index.delete(["a-1", "a-2", "b-3"])
    code, out, _ = call("rebuild", "search")
    assert (code, sorted(hashes(room.index, "d"))) == (0, ["a-1", "b-3"])
    assert out.splitlines()[1].startswith("refused: a-2: the vector is")
    (receipt,) = room.lake.read(IndexedDocument, article_id=["a-2"])
    assert (receipt.outcome, receipt.has_vector) == ("failed", False)


def test_vectors_of_several_models_are_refused_in_one_line(
    room: Newsroom, call: Call
) -> None:
    def other(rows: object) -> None:
        rows.cursor.execute(
            "UPDATE article_embeddings SET model = '2' WHERE article_id = 'a-2'"
        )  # type: ignore[attr-defined]

    room.lake.transact(other)
    code, _, err = call("rebuild", "search")
    assert (code, len(err.splitlines())) == (1, 1)
    assert "vectors of several models: 1 (2 dimensions), 2 (2 dimensions)" in err


def test_a_second_rebuild_of_the_same_home_is_refused(
    room: Newsroom, place: Backend, call: Call
) -> None:
    from filelock import FileLock

    with FileLock(place.home / "rebuild.lock"):
        code, _, err = call("rebuild", "search")
    assert (code, err.startswith("news-assets: another rebuild is running in ")) == (
        1,
        True,
    )


def test_the_backend_is_changed_by_the_setting_and_a_rebuild(
    tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    with (
        configured_backend("embedded", tmp_path, monkeypatch.setenv) as place,
        place.open() as index,
    ):
        room = Newsroom(lake, index)
        room.list(entry(1), entry(2))
        room.run()
        before = hashes(index, "d")
    with configured_backend("typesense", tmp_path, monkeypatch.setenv) as place:
        code, out, err = call("rebuild", "search")
        assert (code, err, out.partition("; ")[2]) == (0, "", "0 receipts updated\n")
        with place.open() as index:
            assert (hashes(index, "d"), lost(room, index)) == (before, [])
        code, out, _ = call("search", "line2", "--mode", "keyword", "--json")
        assert (code, out.count('"a-2"')) == (0, 1)


def test_an_unavailable_server_is_one_line_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    with configured_backend("typesense", tmp_path, monkeypatch.setenv) as place:
        assert place.server is not None
        with place.server.down():
            code, out, err = call("rebuild", "search")
    assert (code, out, len(err.splitlines()), ADMIN_KEY in err) == (1, "", 1, False)


# --- the embedded index, used while it is swapped -------------------------------------


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    with configured_backend("embedded", tmp_path, monkeypatch.setenv) as place:
        yield place


@pytest.mark.slow  # several rebuilds beside readers and writers
def test_open_readers_and_writers_continue_through_rebuilds(
    file: Backend, lake: Lake, call: Call
) -> None:
    with file.open() as reader, file.open() as writer:
        room = Newsroom(lake, writer)
        room.list(entry(1), entry(2))
        room.run()
        seen: list[int] = []
        stops = threading.Event()

        def read() -> None:
            while not stops.is_set():
                seen.append(
                    len(reader.search(SearchQuery(text="bus", mode="keyword")).hits)
                )

        thread = threading.Thread(target=read)
        thread.start()
        for number, word in ((3, "Harbour"), (4, "Festivity")):
            assert call("rebuild", "search")[0] == 0
            room.pages.words = f"{word} news of the day. "
            room.list(entry(number, "b"))
            room.run()
        stops.set()
        thread.join()
        assert set(seen) <= {2, 3, 4}
        assert found(reader, "bus") == ["a-1", "a-2", "b-3", "b-4"]
        assert (lost(room, reader), found(reader, "festvity")) == ([], ["b-4"])


def test_documents_written_just_before_the_swap_are_sent_afterwards(
    file: Backend, lake: Lake, call: Call
) -> None:
    with file.open() as index:
        room = Newsroom(lake, index)
        room.list(entry(1))
        room.run()
        with begin() as rebuild:
            rebuild.upsert(read_documents(lake, ["a-1"], {"a": "Câmara a"}))
            expected = hashes(index, "d")
            room.list(entry(2))
            room.run()
            rebuild.swap({"d": expected})
        assert found(index, "bus") == ["a-1"]
        assert call("rebuild", "search")[0] == 0
        assert (found(index, "bus"), lost(room, index)) == (["a-1", "a-2"], [])


def test_an_unusable_file_of_an_interrupted_rebuild_is_replaced(
    file: Backend, lake: Lake, call: Call
) -> None:
    with file.open() as index:
        room = Newsroom(lake, index)
        room.list(entry(1))
        room.run()
    (file.home / "search.sqlite.rebuild").write_bytes(b"no database " * 1000)
    assert call("rebuild", "search")[0] == 0
    with SqliteSearchIndex.open(file.home / "search.sqlite") as index:
        assert sorted(hashes(index, "d")) == ["a-1"]
    assert list(file.home.glob("search.sqlite.rebuild*")) == []


def test_an_open_file_with_another_page_size_is_replaced(
    file: Backend, lake: Lake, call: Call
) -> None:
    with closing(sqlite3.connect(file.home / "search.sqlite")) as older:
        older.execute("PRAGMA page_size = 4096")
        older.execute("VACUUM")
    with file.open() as index:
        room = Newsroom(lake, index)
        room.list(entry(1))
        room.run()
        index.delete(["a-1"])
        assert call("rebuild", "search")[0] == 0
        assert found(index, "bus") == ["a-1"]


def test_a_file_of_another_program_is_unchanged(
    file: Backend, lake: Lake, call: Call
) -> None:
    with closing(sqlite3.connect(file.home / "search.sqlite")) as other, other:
        other.execute("CREATE TABLE mine (x)")
    code, _, err = call("rebuild", "search")
    assert (
        code,
        len(err.splitlines()),
        "not a search index of news_assets" in err,
    ) == (1, 1, True)
