import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.language import language_of, language_tag

PORTUGUESE = "A prefeitura abre inscrições para um curso gratuito de informática nesta segunda-feira, no centro da cidade."
ENGLISH = "The city council voted on Monday night to delay the plan for a new library until the budget is settled."


@pytest.mark.parametrize(
    ("text", "hint", "language"),
    [
        (PORTUGUESE, None, "pt"),
        (PORTUGUESE, "pt-BR", "pt-BR"),
        (PORTUGUESE, "en", "pt"),
        (ENGLISH, "pt_BR", "en"),
        ("Leia mais", "pt-BR", "pt-BR"),
        ("", "pt", "pt"),
        ("", None, None),
        ("!!! 123", None, None),
    ],
)
def test_the_hint_wins_for_short_texts_only(
    text: str, hint: str | None, language: str | None
) -> None:
    assert language_of(text, hint) == language


@pytest.mark.parametrize(
    ("stated", "tag"),
    [
        ("pt_br", "pt-BR"),
        ("pt-BR.UTF-8", "pt-BR"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("EN", "en"),
        ("english", None),
        ("", None),
        (None, None),
        ("und", None),
    ],
)
def test_a_tag_is_normalised_to_bcp_47(stated: str | None, tag: str | None) -> None:
    assert language_tag(stated) == tag


@given(st.text(max_size=300))
def test_any_text_is_accepted(text: str) -> None:
    assert language_of(text, "pt") is not None
