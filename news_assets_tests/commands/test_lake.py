"""`status`, `export` and `search` over a small lake."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from news_assets.records import StoredPage
from news_assets.store.lake import Lake

TODAY = datetime.now(UTC).date()
PAGE = StoredPage(
    article_id="gazeta-1",
    desk="sample",
    agency="gazeta",
    day=TODAY,
    url="https://example.org/1",
    final_url="https://example.org/1",
    status=200,
    content_type="text/html",
    encoding=None,
    page_hash="ab",
    body_gzip=b"\x1f\x8b",
    body_bytes=2,
    fetched_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:
        lake.transact(lambda rows: rows.upsert([PAGE]))
    return tmp_path


def run(home: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "NEWS_HOME": str(home), **settings}
    command = [sys.executable, "-c", "from news_assets.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, env=environment)


def test_export_writes_each_format(home: Path, tmp_path: Path) -> None:
    (line,) = run(home, "export", "pages", "--agency", "gazeta").stdout.splitlines()
    row = json.loads(line)
    assert (row["article_id"], row["body_gzip"], row["fetched_at"]) == ("gazeta-1", "H4s=", "2026-11-20T12:00:00+00:00")
    header, values = run(home, "export", "pages", "--format", "csv").stdout.decode().splitlines()
    assert dict(zip(header.split(","), values.split(","), strict=True))["body_bytes"] == "2"
    path = tmp_path / "pages.parquet"
    assert run(home, "export", "pages", "--format", "parquet", "--output", str(path)).returncode == 0
    assert pl.read_parquet(path)["article_id"].to_list() == ["gazeta-1"]


def test_export_applies_its_filters(home: Path) -> None:
    assert run(home, "export", "pages", "--agency", "prefeitura").stdout == b""
    assert run(home, "export", "pages", "--to", "2020-01-01").stdout == b""
    assert run(home, "export", "pages", "--from", TODAY.isoformat()).stdout != b""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "--desk", "nowhere"), "no desk `nowhere`; there are: sample"),
        (("search", "x", "--agency", "nobody"), "no agency `nobody`; there are: gazeta, prefeitura"),
        (("export", "articles"), "no table `articles`; there are: sources, polls, entries"),
        (("export", "sources", "--from", "2026-01-01"), "table `sources` has no day to filter by"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(
    home: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run(home, *arguments)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert message in line


def test_a_wrong_setting_is_an_error_of_one_line(home: Path) -> None:
    done = run(home, "status", NEWS_HOST_DELAY_S="soon")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("news-assets: NEWS_HOST_DELAY_S='soon'")


def test_an_unknown_model_is_an_error_that_lists_the_known_ones(home: Path) -> None:
    done = run(home, "search", "x", NEWS_EMBEDDING_MODEL="no-such-model")
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert "all-MiniLM-L6-v2" in line


def test_the_error_of_an_unavailable_catalog_has_its_address_without_the_password(home: Path) -> None:
    done = run(home, "status", NEWS_CATALOG="postgresql://user:secret@127.0.0.1:1/news")
    assert done.returncode == 1
    assert "127.0.0.1:1/news" in done.stderr.decode()
    assert "secret" not in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
