from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.desks.import_rows import Offer, Offers, Refusal
from news_assets.desks.site_list import parse_source_file
from news_assets.errors import NewsAssetsError

CSV = """\
Nome;URL;agency;kind;Idioma;time zone;notes

"Gazeta; da Serra";https://example.org/rss;gazeta;feed;pt_BR;America/Manaus;x
# a comment
"two
lines";example.net/feed
nothing;;;
broken;not an address
"""


def test_a_table_is_read_by_the_names_of_its_columns() -> None:
    assert parse_source_file(CSV.encode("cp1252")) == Offers(
        (
            Offer(
                line=3,
                url="https://example.org/rss",
                name="Gazeta; da Serra",
                agency="gazeta",
                kind="feed",
                language="pt-BR",
                timezone="America/Manaus",
            ),
            Offer(line=5, url="https://example.net/feed", name="two lines"),
        ),
        (Refusal(7, "no address"), Refusal(8, "`not an address` is no web address")),
    )


def test_a_table_may_say_how_often_a_source_is_asked() -> None:
    (offer,) = parse_source_file(b"url,pace\nhttps://example.org/council,civic\n").offers
    assert offer == Offer(line=2, url="https://example.org/council", pace="civic")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_usual_delimiter_is_seen_from_the_header(delimiter: str) -> None:
    text = "name,feed_url\nGazeta,https://example.org/a?b=1\n".replace(",", delimiter)
    assert parse_source_file(text.encode()).offers == (Offer(line=2, url="https://example.org/a?b=1", name="Gazeta"),)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_is_read_in_the_charsets_of_spreadsheets(encoding: str) -> None:
    body = "url,name\r\nhttps://example.org/,Câmara de Itápolis\r\n".encode(encoding)
    assert parse_source_file(body).offers == (Offer(line=2, url="https://example.org/", name="Câmara de Itápolis"),)


def test_a_plain_list_has_an_address_a_line_and_perhaps_a_name() -> None:
    text = "# mine\n\nhttps://example.org/rss\nwww.example.net/feed  Gazeta da Serra  # good\nnot one\n"
    assert parse_source_file(text.encode()) == Offers(
        (
            Offer(line=3, url="https://example.org/rss"),
            Offer(line=4, url="https://www.example.net/feed", name="Gazeta da Serra"),
        ),
        (Refusal(5, "`not one` is no web address"),),
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not one source in it; a list is OPML"),
        (b"desk: x\nagencies:\n", r"not one source in it \(line 1: `desk: x` is no web address\)"),
        (b"url,name\n", "not one source in it"),
        (b"\x89PNG\r\n\x1a\n\x00", "not one source in it"),
        (b"<!doctype html><title>Log in</title>", "no OPML: it begins with <!doctype html"),
        (b"<opml><body/></opml>", "not one source in it"),
    ],
)
def test_a_file_without_a_source_says_what_a_list_is(body: bytes, reason: str) -> None:
    with pytest.raises(NewsAssetsError, match=reason):
        parse_source_file(body)


def test_a_row_that_no_csv_reader_takes_holds_no_other_back() -> None:
    long = "x" * 140_000
    text = f"url,name\nhttps://example.org/a,{long}\nhttps://example.org/b,B\n"
    found = parse_source_file(text.encode())
    assert [offer.url for offer in found.offers] == ["https://example.org/b"]
    assert [refusal.line for refusal in found.refused] == [2]


@given(st.binary() | st.binary().map(b"url,name\n".__add__) | st.binary().map(b"<opml ".__add__))
def test_no_bytes_raise_anything_but_a_reason(body: bytes) -> None:
    with suppress(NewsAssetsError):
        parse_source_file(body)
