import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text import html
from news_assets.text.html import decode, plain_text, sanitize
from news_assets_tests.support.growth import grows_linearly


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>um</p><p>dois</p>", "um dois"),
        ("a<br>b<b>c</b>", "a bc"),
        ("Café &amp; p&atilde;o", "Café & pão"),
        ("Caf&amp;eacute;", "Café"),
        ("&lt;b&gt;forte&lt;/b&gt;", "forte"),
        ("AT&T, R&D", "AT&T, R&D"),
        ("3 < 4 & 5 > 2", "3 < 4 & 5 > 2"),
        ("List<String> em Java", "List<String> em Java"),
        ("<script>x()</script>ok<style>p{}</style>", "ok"),
        ("<!-- nota -->ok", "ok"),
        (" a \n\t b\u200b\x00 ", "a b"),
        ("", ""),
    ],
)
def test_markup_becomes_one_line_of_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


def test_unsafe_markup_is_removed() -> None:
    markup = '<p onclick=x>a<script>b</script><a href="javascript:c">d</a><iframe src=e></iframe><b>f</b></p>'
    assert sanitize(markup) == '<p>a<a rel="noopener noreferrer">d</a><b>f</b></p>'


def test_relative_links_are_made_absolute_with_a_base() -> None:
    assert (
        sanitize('<img src="/i.png">', "https://a.org/n/")
        == '<img src="https://a.org/i.png">'
    )


@given(st.text())
def test_any_markup_is_accepted_and_no_script_left(markup: str) -> None:
    assert "<script" not in sanitize(markup + "<script>x</script>" + plain_text(markup))


def test_tags_beyond_the_limit_cost_no_more_than_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html, "_MAX_TAGS", 500)
    assert grows_linearly(plain_text, lambda size: "<div>" * size)


def test_an_invalid_base_keeps_relative_links() -> None:
    assert sanitize('<a href="/x">x</a>', "https://\u00a0//example.org/") == sanitize(
        '<a href="/x">x</a>'
    )


@given(st.text(), st.text())
def test_any_base_is_accepted(markup: str, base: str) -> None:
    assert "<script" not in sanitize(f"<script>1</script>{markup}", f"https://{base}")


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
