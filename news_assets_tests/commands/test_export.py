"""`status`, `export` and `search` over a small lake."""

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from news_assets.records.articles import StoredPage
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.text.workbooks import sheets_of

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


@pytest.fixture(autouse=True)
def _one_page(lake: Lake) -> None:
    lake.transact(lambda rows: rows.upsert([PAGE]))


def test_export_writes_each_format(call: Call, tmp_path: Path) -> None:
    (line,) = call("export", "pages", "--agency", "gazeta")[1].splitlines()
    row = json.loads(line)
    assert (row["article_id"], row["body_gzip"], row["fetched_at"]) == (
        "gazeta-1",
        "H4s=",
        "2026-11-20T12:00:00+00:00",
    )
    header, values = call("export", "pages", "--format", "csv")[1].splitlines()
    assert (
        dict(zip(header.split(","), values.split(","), strict=True))["body_bytes"]
        == "2"
    )
    path = tmp_path / "pages.parquet"
    assert call("export", "pages", "--format", "parquet", "--output", str(path))[0] == 0
    assert pl.read_parquet(path)["article_id"].to_list() == ["gazeta-1"]
    path = tmp_path / "pages.xlsx"
    assert call("export", "pages", "--format", "xlsx", "--output", str(path)) == (
        0,
        "",
        "",
    )
    [[header, row]] = sheets_of(path)
    assert dict(zip([name for _, name in header], row, strict=False))["article_id"] == (
        "inlineStr",
        "gazeta-1",
    )


def test_no_cell_of_a_csv_file_is_a_formula(
    call: Call, lake: Lake, tmp_path: Path
) -> None:
    formula = '=HYPERLINK("http://x.example")'
    page = replace(
        PAGE,
        article_id=formula,
        url="@SUM(1)",
        content_type="\tx",
        body_gzip=b"\xf8",
        body_bytes=-5,
    )
    lake.transact(lambda rows: rows.upsert([page]))
    path = tmp_path / "pages.csv"
    assert call("export", "pages", "--format", "csv", "--output", str(path))[0] == 0
    with path.open(newline="", encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["body_bytes"] == "-5")
    assert (row["article_id"], row["url"], row["content_type"]) == (
        f"'{formula}",
        "'@SUM(1)",
        "'\tx",
    )
    assert row["body_gzip"] == "'+A=="
    (line,) = [
        one for one in call("export", "pages")[1].splitlines() if "HYPERLINK" in one
    ]
    assert json.loads(line)["article_id"] == formula


def test_export_keeps_to_its_filters(call: Call) -> None:
    assert call("export", "pages", "--agency", "prefeitura") == (0, "", "")
    assert call("export", "pages", "--to", "2020-01-01") == (0, "", "")
    assert call("export", "pages", "--from", TODAY.isoformat())[1] != ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "--desk", "nowhere"), "no desk `nowhere`; there are: sample"),
        (
            ("search", "x", "--agency", "nobody"),
            "no agency `nobody`; there are: gazeta, prefeitura",
        ),
        (
            ("export", "articles"),
            "no table `articles`; there are: sources, polls, entries",
        ),
        (
            ("export", "sources", "--from", "2026-01-01"),
            "table `sources` has no day to filter by",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_exist(
    call: Call, arguments: tuple[str, ...], message: str
) -> None:
    code, _, err = call(*arguments)
    (line,) = err.splitlines()
    assert (code, message in line) == (1, True)


def test_a_wrong_setting_stops_the_start_with_one_line(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_HOST_DELAY_S", "soon")
    code, _, err = call("status")
    assert (code, err.startswith("news-assets: NEWS_HOST_DELAY_S='soon'")) == (1, True)


def test_an_unknown_model_is_refused_with_those_that_exist(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_EMBEDDING_MODEL", "no-such-model")
    code, _, err = call("search", "x")
    (line,) = err.splitlines()
    assert (code, "all-MiniLM-L6-v2" in line) == (1, True)


def test_a_catalog_that_cannot_be_opened_is_named_without_its_password(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_CATALOG", "postgresql://user:secret@127.0.0.1:1/news")
    code, _, err = call("status")
    assert code == 1
    assert "127.0.0.1:1/news" in err
    assert "secret" not in err
    assert "Traceback" not in err
