import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text import html
from news_assets.text.html import plain_text, sanitize
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
