"""Paragraphs and sentences of Markdown text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.prose import (
    language_of,
    language_tag,
    paragraphs,
    prose,
    sentences,
    strip_markdown,
)
from news_assets_tests.support.growth import grows_linearly


@pytest.mark.parametrize(
    "whole",
    [
        "O Dr. Silva citou o art. 5º da Lei nº 8.112.",
        "Custa R$ 1.500,00 (cf. pág. 3), disse o Sr. Lima.",
        "The U.S. Senate met J. K. Rowling at 3.5 degrees.",
        "See no. 10 of vol. 2 in St. Louis.",
        "Ele esperou... e saiu.",
        "\"Vamos!\" disse ela.",
    ],
)  # fmt: skip
def test_a_dot_within_a_sentence_does_not_end_it(whole: str) -> None:
    assert sentences(f"{whole} Next one.") == [whole, "Next one."]


def test_closing_quotes_and_brackets_end_the_sentence() -> None:
    assert sentences('He said "Go." (She stayed.) Why? Because…') == [
        'He said "Go."',
        "(She stayed.)",
        "Why?",
        "Because…",
    ]


def test_paragraphs_are_running_text_only() -> None:
    text = """Title
=====

## Heading

A first **bold** [link](https://x.example/a_(b)) with
a wrapped line. ![Photo: x](a.jpg)
| a | b |
- item
**Leia mais**
```
code
```
> Quoted *words* here.
Compartilhe:
[Compartilhe por Facebook](http://f.example/sharer.php?u=cut
"""
    assert paragraphs(text) == [
        "A first bold link with a wrapped line.",
        "Quoted words here.",
    ]


def test_prose_keeps_words_without_markup() -> None:
    assert prose(
        "# One\n\n- *two* [three](http://x.example) www.x.example\n\n| four | `five` |"
    ).split() == [
        "One",
        "two",
        "three",
        "four",
        "five",
    ]


@given(st.text())
def test_sentences_lose_nothing_but_spaces(text: str) -> None:
    line = " ".join(text.split())

    assert "".join("".join(sentences(line)).split()) == "".join(line.split())


@pytest.mark.parametrize(
    "piece", [".", "a. ", "![", "[a](", "**a", "<a ", "a@", "```\n", "- ", "\\"]
)
def test_repetition_takes_linear_time(piece: str) -> None:
    def read(text: str) -> None:
        prose(text)
        for paragraph in paragraphs(text):
            sentences(paragraph)

    assert grows_linearly(read, lambda size: piece * size)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# Um\n\n- dois\n* três\n\n> quatro", "Um\n\ndois\ntrês\n\nquatro"),
        ("**um** e *dois* e `três` e ~~quatro~~", "um e dois e três e quatro"),
        ("[um](https://example.org/a_(b)) ![dois](x.png)", "um dois"),
        ("| a | b |\n|---|---|\n| c | d |", "a   b \n\nc   d"),
        ("um\n\n---\n\ndois", "um\n\ndois"),
        ("snake_case_name 2*3*4 #tag 1. - x", "snake_case_name 2*3*4 #tag 1. - x"),
    ],
)
def test_markdown_syntax_is_removed_and_the_words_stay(
    markdown: str, text: str
) -> None:
    assert strip_markdown(markdown) == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**um *dois* três** e ***quatro***", "um dois três e quatro"),
        ("_um_ e __dois__ e _a_b_ e a_b_c e _c", "um e dois e a_b e a_b_c e _c"),
        ("``um`` ` dois ` * três * ~~~", "um ` dois ` * três * ~~~"),
        ("* * *\n- - -\n___\n| :-- | --- |\n--\n``` py\num", "--\n\num"),
    ],
)
def test_emphasis_is_removed_two_levels_deep_and_rules_whole(
    markdown: str, text: str
) -> None:
    assert strip_markdown(markdown) == text


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
