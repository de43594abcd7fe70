import csv
import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.defuse import (
    json_line,
    markdown_text,
    spreadsheet_cell,
    terminal_line,
)

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
