from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.desks.import_rows import ImportRow, ImportRows, Refusal
from news_assets.desks.site_list import parse_source_file
from news_assets.errors import NewsAssetsError
from news_assets_tests.support.growth import grows_linearly

CSV = """\
Nome;URL;agency;kind;Idioma;time zone;notes

"Gazeta; da Serra";https://example.org/rss;gazeta;feed;pt_BR;America/Manaus;x
# a comment
"two
lines";example.net/feed
nothing;;;
broken;not an address
"""


def test_a_csv_is_read_by_column_name() -> None:
    assert parse_source_file(CSV.encode("cp1252")) == ImportRows(
        (
            ImportRow(
                line=3,
                url="https://example.org/rss",
                name="Gazeta; da Serra",
                agency="gazeta",
                kind="feed",
                language="pt-BR",
                timezone="America/Manaus",
            ),
            ImportRow(line=5, url="https://example.net/feed", name="two lines"),
        ),
        (Refusal(7, "no address"), Refusal(8, "`not an address` is not a web address")),
    )


def test_a_csv_may_state_the_pace() -> None:
    (row,) = parse_source_file(b"url,pace\nhttps://example.org/council,civic\n").rows
    assert row == ImportRow(line=2, url="https://example.org/council", pace="civic")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    text = "name,feed_url\nGazeta,https://example.org/a?b=1\n".replace(",", delimiter)
    assert parse_source_file(text.encode()).rows == (
        ImportRow(line=2, url="https://example.org/a?b=1", name="Gazeta"),
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_csv_is_read_in_the_charsets_of_spreadsheets(encoding: str) -> None:
    body = "url,name\r\nhttps://example.org/,Câmara de Itápolis\r\n".encode(encoding)
    assert parse_source_file(body).rows == (
        ImportRow(line=2, url="https://example.org/", name="Câmara de Itápolis"),
    )


def test_a_plain_list_has_an_address_and_optional_name_a_line() -> None:
    text = "# mine\n\nhttps://example.org/rss\nwww.example.net/feed  Gazeta da Serra  # good\nnot one\n"
    assert parse_source_file(text.encode()) == ImportRows(
        (
            ImportRow(line=3, url="https://example.org/rss"),
            ImportRow(
                line=4, url="https://www.example.net/feed", name="Gazeta da Serra"
            ),
        ),
        (Refusal(5, "`not one` is not a web address"),),
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no source in this file; give OPML"),
        (
            b"desk: x\nagencies:\n",
            r"no source in this file \(line 1: `desk: x` is not a web address\)",
        ),
        (b"url,name\n", "no source in this file"),
        (b"\x89PNG\r\n\x1a\n\x00", "no source in this file"),
        (
            b"<!doctype html><title>Log in</title>",
            "not OPML: it begins with <!doctype html",
        ),
        (b"<opml><body/></opml>", "no source in this file"),
    ],
)
def test_a_file_without_a_source_is_an_error(body: bytes, reason: str) -> None:
    with pytest.raises(NewsAssetsError, match=reason):
        parse_source_file(body)


def test_an_unreadable_csv_row_is_refused_alone() -> None:
    long = "x" * 140_000
    text = f"url,name\nhttps://example.org/a,{long}\nhttps://example.org/b,B\n"
    found = parse_source_file(text.encode())
    assert [row.url for row in found.rows] == ["https://example.org/b"]
    assert [refusal.line for refusal in found.refused] == [2]


@given(
    st.binary()
    | st.binary().map(b"url,name\n".__add__)
    | st.binary().map(b"<opml ".__add__)
)
def test_any_bytes_give_rows_or_an_error(body: bytes) -> None:
    with suppress(NewsAssetsError):
        parse_source_file(body)


@pytest.mark.parametrize(
    "text",
    [
        "x" + " " * 1_000_000 + "x",
        "<opml><outline " + " ".join(f'a{n}="1"' for n in range(100_000)) + "/></opml>",
        "<opml><body>" + "<outline>" * 100_000,
        '<!DOCTYPE o [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><opml><body><outline xmlUrl="&b;"/></body></opml>',
        'url,name\nx,"' + '"",' * 500_000,
    ],
    ids=["blanks", "attributes", "depth", "entities", "quotes"],
)
def test_a_bomb_is_refused(text: str) -> None:
    with pytest.raises(
        NewsAssetsError, match=r"no source in this file|declares entities"
    ):
        parse_source_file(text.encode())


def test_a_folder_with_many_attributes_is_read_in_linear_time() -> None:
    def folder(size: int) -> bytes:
        attributes = " ".join(f'a{n}="1"' for n in range(size * 100))
        feeds = "".join(
            f'<outline xmlUrl="https://example.org/{n}"/>' for n in range(size)
        )
        return f"<opml><outline text='x' {attributes}>{feeds}</outline></opml>".encode()

    found = parse_source_file(folder(50))
    assert (len(found.rows), len(found.refused)) == (50, 1)
    assert grows_linearly(parse_source_file, folder)
