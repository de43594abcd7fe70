import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.desks.import_rows import one_line, quoted, same_source_key, web_address


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (" https://example.org/rss ", "https://example.org/rss"),
        ("feed://example.org/rss", "http://example.org/rss"),
        ("feed:https://example.org/rss", "https://example.org/rss"),
        ("feed://https://example.org/rss", "https://example.org/rss"),
        ("www.gov.br/mec/pt-br/noticias", "https://www.gov.br/mec/pt-br/noticias"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://example.org/two words", None),
        ("https://", None),
        ("MEC", None),
        ("", None),
    ],
)
def test_a_written_address_is_normalised(written: str, address: str | None) -> None:
    assert web_address(written) == address


@pytest.mark.parametrize(
    "spelling",
    [
        "http://example.org/news/rss",
        "https://www.example.org/news/rss/",
        "HTTPS://Example.ORG:443/news/rss?utm_source=list",
        "https://example.org/news/./rss#top",
    ],
)
def test_spellings_of_one_source_have_one_key(spelling: str) -> None:
    assert same_source_key(spelling) == same_source_key("https://example.org/news/rss")


@pytest.mark.parametrize(
    "other", ["https://example.org/news", "https://example.org/news/rss?page=2"]
)
def test_other_sources_have_other_keys(other: str) -> None:
    assert same_source_key(other) != same_source_key("https://example.org/news/rss")


@given(st.text())
def test_any_text_is_accepted(text: str) -> None:
    same_source_key(text)
    address = web_address(text)
    assert address is None or address.lower().startswith(("http://", "https://"))


@given(st.text())
def test_a_name_is_one_line(text: str) -> None:
    name = one_line(text)
    assert name is None or (name.isprintable() and name.strip() == name != "")


def test_quoted_text_is_one_short_line() -> None:
    assert quoted(" two\nlines ") == "`two lines`"
    assert quoted("x" * 2_000_000) == f"`{'x' * 100}…`"
