import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.enrich.model.reading.evidence import SearchedText, parse_span

TEXT = (
    "O **Ministério da Saúde** disse, na\n\nsexta-feira (20), que [a campanha](https://x.example/a-b) não vacinou "
    "1.200 pessoas."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("o ministério da saúde disse", "O **Ministério da Saúde** disse"),
        ("“disse, na sexta–feira (20)”", "disse, na\n\nsexta-feira (20"),
        (
            "que a campanha não vacinou",
            "que [a campanha](https://x.example/a-b) não vacinou",
        ),
        (
            "O Ministério da Saúde disse na sexta-feria 20 que a campanha",
            TEXT[: TEXT.index("](")],
        ),
    ],
)
def test_a_quote_is_found_as_the_text_writes_it(quote: str, found: str) -> None:
    span = SearchedText(TEXT).find(quote)
    assert span is not None
    assert TEXT[span.start : span.end] == found
    assert parse_span(str(span)) == span


@pytest.mark.parametrize(
    "quote",
    [
        "o ministro da fazenda negou tudo",
        "que a campanha não vacinou 1.300 pessoas",  # another number
        "Ministério da",  # too short to support anything
        "",
        "a " * 400,
    ],
)
def test_what_the_text_does_not_say_is_not_found(quote: str) -> None:
    assert SearchedText(TEXT).find(quote) is None


@given(st.text(max_size=80), st.text(max_size=40))
def test_a_span_is_a_part_of_the_text_whatever_is_quoted(text: str, quote: str) -> None:
    span = SearchedText(text).find(quote)
    assert span is None or (
        0 <= span.start < span.end <= len(text) and text[span.start : span.end]
    )


@given(
    st.lists(
        st.sampled_from(["a", "bc", "déf", "ghi", "12", "jkl"]), min_size=3, max_size=30
    ),
    st.data(),
)
def test_a_part_of_a_text_is_found_in_it(parts: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(parts) - 3))
    quote = parts[start : start + data.draw(st.integers(3, len(parts)))]
    text = ", ".join(parts)
    span = SearchedText(text).find(" ".join(quote))
    assert span is not None
    assert text[span.start : span.end] == ", ".join(quote)
