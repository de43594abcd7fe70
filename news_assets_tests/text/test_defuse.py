import csv
import io
import json
import unicodedata
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text import defuse
from news_assets.text.defuse import (
    CELL_CHARS,
    cell_of,
    json_line,
    json_of,
    markdown_text,
    spreadsheet_cell,
    terminal_line,
    write_csv,
    write_xlsx,
)
from news_assets_tests.text.workbooks import sheets_of

ANY_TEXT = st.text(st.characters(), max_size=30)  # with controls and lone surrogates


def obeyed(text: str) -> list[str]:
    """Return the characters of a text that a terminal obeys or that change the order of
    others.
    """
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        c
        for c in text
        if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(c) in bidi
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Câmara aprova 日本 👩‍🚀", "Câmara aprova 日本 👩‍🚀"),
        ("\x1b]0;owned\x07\x1b[2J", "␛]0;owned␇␛[2J"),
        ("\x9b2J", "\ufffd2J"),
        ("user\u202excod.exe", "user\ufffdxcod.exe"),
        ("one\r\ntwo\tthree\u2028four", "one  two three four"),
        ("nul\0 del\x7f \ud800", "nul␀ del␡ \ufffd"),
        ("[red]markup[/red] :smile:", "[red]markup[/red] :smile:"),
    ],
)
def test_controls_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert terminal_line(text) == shown


@given(ANY_TEXT)
def test_a_terminal_line_of_any_text_is_one_line_of_the_same_length(text: str) -> None:
    shown = terminal_line(text)
    assert obeyed(shown) == []
    assert len(shown) == len(text)


@pytest.mark.parametrize(
    "start",
    [
        "=",
        "+",
        "-",
        "@",
        "\t",
        "\r",
        "\n",
        "＝",
        "＋",
        "－",
        "＠",
        " =",
        "\u200b=",
        "\x00@",
        "\ufeff+",
    ],
)
def test_a_formula_gets_an_apostrophe(start: str) -> None:
    cell = spreadsheet_cell(f"{start}cmd|' /C calc'!A0")
    assert cell.startswith("'")
    assert cell.endswith("cmd|' /C calc'!A0")


@pytest.mark.parametrize(
    "text",
    ["", "Title", "1-2", "a=b", "'quoted", "[1, -2]", "https://example.org/?a=-1"],
)
def test_other_cells_are_unchanged(text: str) -> None:
    assert spreadsheet_cell(text) == text


@given(ANY_TEXT)
def test_a_cell_of_any_text_is_no_formula_and_fits_into_xlsx(text: str) -> None:
    cell = spreadsheet_cell(text)
    assert not cell.lstrip("".join(map(chr, range(33)))).startswith(
        ("=", "+", "-", "@")
    )
    assert not set(map(chr, range(32))) - set("\t\n\r") & set(cell)
    assert [
        list(
            csv.reader(
                io.StringIO(f'"{cell.replace(chr(34), chr(34) * 2)}"', newline="")
            )
        )
    ] == [[[cell]]]


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_a_json_line_has_the_same_value_and_nothing_that_a_terminal_obeys(
    value: dict[str, str],
) -> None:
    line = json_line(json.dumps(value, ensure_ascii=False))
    assert obeyed(line) == []
    # json.loads joins halves of a surrogate pair that were written one after the other
    assert json.loads(line) == json.loads(json.dumps(value))


def test_markdown_from_outside_is_text() -> None:
    title = "[x](javascript:alert(1)) ![](http://tracker.example/p.png) | `a` <b>\n# b"
    assert markdown_text(title) == (
        r"\[x\](javascript:alert(1)) \!\[\](http://tracker.example/p.png) \| \`a\` \<b> # b"
    )


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
    monkeypatch.setattr(defuse, "_SHEET_ROWS", 3)
    file = io.BytesIO()
    write_xlsx(file, ["n"], [{"n": n} for n in range(5)])
    assert [[text for [(_, text)] in rows] for rows in sheets_of(file)] == [
        ["n", "0", "1"],
        ["n", "2", "3"],
        ["n", "4"],
    ]
