import csv
import io
from datetime import UTC, date, datetime

import pytest

from news_assets.text import tabular
from news_assets.text.tabular import CELL_CHARS, cell_of, json_of, write_csv, write_xlsx
from news_assets_tests.text.workbooks import sheets_of


def test_json_says_the_same_without_controls() -> None:
    value = {"title": "\x1b[2J\x9b\x7f\u2028\u202e\ud800 ção"}
    assert (
        json_of(value)
        == '{"title": "\\u001b[2J\\u009b\\u007f\\u2028\\u202e\\ud800 ção"}'
    )


def test_a_number_stays_a_number_and_no_text_is_a_formula() -> None:
    assert [
        cell_of(value) for value in (-1, 1.5, None, "=A1", b"\xf8", ("a", "-b"))
    ] == [
        *(-1, 1.5, None, "'=A1", "'+A=="),
        '["a", "-b"]',
    ]


ROW = {
    "title": "=1+1",
    "control": "a\x0bb",
    "score": -1.5,
    "big": 2**60,
    "seen": True,
    "day": date(2026, 1, 31),
    "at": datetime(2026, 1, 31, 12, tzinfo=UTC),
    "old": date(1899, 1, 1),
    "tags": ("a", "b"),
    "nan": float("nan"),
}


def test_a_csv_has_a_header_also_without_rows() -> None:
    text = io.StringIO()
    write_csv(text, ["a", "b"], [])
    assert text.getvalue() == "a,b\r\n"


def test_a_csv_reads_as_what_was_written() -> None:
    text = io.StringIO(newline="")
    write_csv(text, list(ROW), [ROW])
    row = next(csv.DictReader(io.StringIO(text.getvalue(), newline="")))
    assert (row["title"], row["score"], row["big"], row["day"]) == (
        "'=1+1",
        "-1.5",
        str(2**60),
        "2026-01-31",
    )


def test_a_workbook_has_numbers_days_and_times_and_no_formulas() -> None:
    file = io.BytesIO()
    assert write_xlsx(file, list(ROW), [ROW]) == 0
    [[header, row]] = sheets_of(file)
    assert [name for _, name in header] == list(ROW)
    assert row == [
        ("inlineStr", "'=1+1"),
        ("inlineStr", "a\u240bb"),
        ("n", "-1.5"),
        ("inlineStr", str(2**60)),
        ("b", "1"),
        ("n", "46053"),
        ("n", "46053.5"),
        ("inlineStr", "1899-01-01"),
        ("inlineStr", '["a", "b"]'),
        ("inlineStr", "nan"),
    ]


def test_a_text_longer_than_a_cell_is_cut_with_a_note_and_counted() -> None:
    file = io.BytesIO()
    assert (
        write_xlsx(
            file,
            ["text"],
            [{"text": "x" * (CELL_CHARS + 1)}, {"text": "x" * CELL_CHARS}],
        )
        == 1
    )
    [[_, [(_, cut)], [(_, whole)]]] = sheets_of(file)
    assert (len(cut), cut.endswith("[cut: a cell holds no more]")) == (CELL_CHARS, True)
    assert whole == "x" * CELL_CHARS


def test_more_rows_than_a_sheet_holds_go_to_a_further_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tabular, "_SHEET_ROWS", 3)
    file = io.BytesIO()
    write_xlsx(file, ["n"], [{"n": n} for n in range(5)])
    assert [[text for [(_, text)] in rows] for rows in sheets_of(file)] == [
        ["n", "0", "1"],
        ["n", "2", "3"],
        ["n", "4"],
    ]
