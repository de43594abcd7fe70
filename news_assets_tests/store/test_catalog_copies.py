import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import Poll
from news_assets.store.catalog_copies import copy_sqlite, drop_free_pages, sqlite_commit
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import full


def test_a_catalog_that_this_process_reads_and_writes_is_copied_and_shrunk_without_losing_a_row(
    tmp_path: Path,
) -> None:
    catalog = tmp_path / "catalog.sqlite"
    written, ended = threading.Semaphore(0), threading.Event()

    def write() -> None:
        with Lake.open(catalog, tmp_path / "data") as other:
            while not ended.is_set():
                other.transact(
                    lambda transaction: transaction.append(
                        [full(Poll, polled_at=datetime.now(UTC))]
                    )
                )
                written.release()

    with Lake.open(catalog, tmp_path / "data") as lake:
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for n in range(5):
                assert written.acquire(timeout=60)
                copy_sqlite(catalog, tmp_path / f"{n}.sqlite")
                drop_free_pages(catalog)
        finally:
            ended.set()
            writer.join()
        commits = lake.snapshot()
    with Lake.open(catalog, tmp_path / "data") as again:
        assert again.snapshot() == commits
        assert len(again.read(Poll)) >= 5
    kept = [sqlite_commit(tmp_path / f"{n}.sqlite") for n in range(5)]
    assert None not in kept
    assert kept == sorted(kept)


def test_a_damaged_catalog_is_not_copied(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.sqlite"
    catalog.write_bytes(b"no database" * 100)
    with pytest.raises(
        LakeError, match=r"SQLite cannot read or copy it.*not a database"
    ):
        copy_sqlite(catalog, tmp_path / "copy.sqlite")
