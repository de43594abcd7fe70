"""Paragraphs and sentences of Markdown text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.sentences import paragraphs, prose, sentences
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
