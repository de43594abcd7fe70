import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.charset import decode

TEXT = "<p>São Paulo: ação começa às 10h, diz órgão</p>"


@pytest.mark.parametrize(
    ("body", "stated"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode(), "iso-8859-1"),
        (TEXT.encode(), None),
        (TEXT.encode("cp1252"), "utf-8"),
        (TEXT.encode("cp1252"), "ascii"),
        (TEXT.encode("cp1252"), "no-such-charset"),
        (codecs.BOM_UTF8 + TEXT.encode(), "iso-8859-1"),
        (TEXT.encode("utf-16"), None),
    ],
)
def test_a_wrong_charset_gives_no_mojibake(body: bytes, stated: str | None) -> None:
    assert decode(body, stated) == TEXT


def test_the_header_precedes_the_page() -> None:
    body = '<meta charset="iso-8859-1"><p>Привет, мир, это новости</p>'.encode("cp1251")
    assert "Привет" in decode(body, "windows-1251")


def test_the_page_declares_the_charset_without_a_header() -> None:
    body = '<meta charset="windows-1251"><p>Привет, мир, это новости</p>'.encode(
        "cp1251"
    )
    assert "Привет" in decode(body)


def test_a_cut_character_at_the_end_does_not_change_the_charset() -> None:
    assert decode(TEXT.encode() + "ã".encode()[:1], "utf-8").startswith(TEXT)


def test_escape_based_charsets_are_read_as_declared() -> None:
    assert (
        decode("日本語のニュース".encode("iso-2022-jp"), "iso-2022-jp")
        == "日本語のニュース"
    )


@given(
    st.binary(max_size=300),
    st.sampled_from([None, "utf-8", "base64", "utf-16", "idna", "gb2312", "\0"]),
)
def test_any_bytes_are_decoded(body: bytes, stated: str | None) -> None:
    assert isinstance(decode(body, stated), str)
