"""Time and memory of maintenance over pages of one month, and how long it makes a
writer wait.

    python -m news_assets_tests.bench.maintenance [--megabytes 400]

Every fifth page is deleted, and another process appends a poll every 50 ms. The wait of
a writer should be less than 5 s. "native" is DuckLake's rewriting and merging of the
whole table, each in one transaction; it has 4 GB of memory, because it fails with the
lake's 512 MB from 300 MB of pages on.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from news_assets.records.articles import Poll, StoredPage
from news_assets.records.desks import KeepDays
from news_assets.store.lake import Lake
from news_assets.store.maintenance import lake_size, maintain
from news_assets.store.retention import delete_old_rows
from news_assets_tests.store.examples import full

PAGE_BYTES = 100_000  # gzip, so without further compression
FILE_PAGES = 60
MAX_WAIT_S = 5.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument(
        "--maintain", choices=["native", "steps"], help=argparse.SUPPRESS
    )
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lake", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        print(_longest_wait(given.lake))
    elif given.maintain:
        _maintain(given.lake, given.maintain)
    else:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(_compare(Path(folder), given.megabytes))


def _compare(folder: Path, megabytes: int) -> int:
    root, copy = folder / "lake", folder / "copy"
    _fill(root, megabytes)
    shutil.copytree(root, copy)
    waits = {}
    for how in ("native", "steps"):
        shutil.rmtree(root)
        shutil.copytree(copy, root)  # at the same place: the catalog stores the path
        with _writer(root) as waited:
            subprocess.run([*_command(root), "--maintain", how], check=True)
        waits[how] = waited[0]
        print(f"{how}: longest wait of a writer {waits[how]:.1f} s", flush=True)
    print(
        f"ratio {waits['native'] / waits['steps']:.1f}; target: {MAX_WAIT_S:g} s at most"
    )
    return int(waits["steps"] > MAX_WAIT_S)


def _command(root: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "news_assets_tests.bench.maintenance",
        "--lake",
        str(root),
    ]


def _fill(root: Path, megabytes: int) -> None:
    """Store pages of one month, and delete every fifth."""
    root.mkdir()
    with Lake.open(root / "catalog.sqlite", root / "data") as lake:
        for start in range(0, megabytes * 1_000_000 // PAGE_BYTES, FILE_PAGES):
            pages = [_page(start + n) for n in range(FILE_PAGES)]
            lake.transact(lambda rows, pages=pages: rows.append(pages))  # type: ignore[misc]
        lake.transact(
            lambda rows: rows.cursor.execute(
                "DELETE FROM pages WHERE hash(page_hash) % 5 = 0"
            )
        )
        print(lake_size(lake), flush=True)


def _page(n: int) -> StoredPage:
    body = os.urandom(PAGE_BYTES)
    return full(
        StoredPage,
        article_id=f"{n:08}",
        page_hash=str(n),
        day=date(2026, 10, 1 + n % 31),
        body_gzip=body,
    )


@contextmanager
def _writer(root: Path) -> Iterator[list[float]]:
    """Run a writer beside the block; its longest wait in seconds is appended to the
    list.
    """
    waited: list[float] = []
    with subprocess.Popen(
        [*_command(root), "--write"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        time.sleep(5)  # until it writes
        yield waited
        waited.append(float(writer.communicate("")[0]))


def _longest_wait(root: Path) -> float:
    """Append polls until standard input is closed; return the longest time that one
    took, in seconds.
    """
    closed = threading.Event()
    threading.Thread(
        target=lambda: (sys.stdin.read(), closed.set()), daemon=True
    ).start()
    longest = 0.0
    with Lake.open(root / "catalog.sqlite", root / "data") as lake:
        while not closed.wait(0.05):
            began = time.monotonic()
            lake.transact(lambda rows: rows.append([full(Poll)]))
            longest = max(longest, time.monotonic() - began)
    return longest


def _maintain(root: Path, how: str) -> None:
    """Maintain the lake and print time and memory; no page may change."""
    with Lake.open(
        root / "catalog.sqlite",
        root / "data",
        memory_mb=4096 if how == "native" else 512,
    ) as lake:
        pages, now = _hash(lake), datetime.now(UTC)
        began = time.monotonic()
        if how == "native":
            for call in (
                "rewrite_data_files('lake', 'pages', delete_threshold => 0.1)",
                "merge_adjacent_files('lake', 'pages')",
            ):
                sql = f"CALL ducklake_{call}"
                lake.transact(lambda rows, sql=sql: rows.cursor.execute(sql).fetchall())  # type: ignore[misc]
        else:
            list(delete_old_rows(lake, KeepDays(400, 400, 1100), now))
            maintain(lake, now=now)
        took, peak_mb = (
            time.monotonic() - began,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )
        if _hash(lake) != pages:
            sys.exit("maintenance changed pages")
        print(
            f"{how}: {took:.1f} s, peak memory of the process {peak_mb:,.0f} MB, {lake_size(lake)}",
            flush=True,
        )


def _hash(lake: Lake) -> tuple[object, ...]:
    return lake.query(
        "SELECT count(*), bit_xor(hash(page_hash, octet_length(body_gzip))) FROM pages"
    ).row(0)


if __name__ == "__main__":
    main()
