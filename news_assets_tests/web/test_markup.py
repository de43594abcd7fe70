"""Evidence marked in stored texts: valid HTML, whatever Markdown the marks begin and end in."""

from typing import Any

import pytest
from lxml import html

from news_assets.pipeline.enrich.model.evidence import Span
from news_assets.web.markup import article_html, passages


def marked(text: str, *quotes: str) -> str:
    return article_html(
        text,
        [
            (n, Span(text.index(q), text.index(q) + len(q)))
            for n, q in enumerate(quotes, 1)
        ],
    )


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        (
            "A b c d.",
            "b c",
            '<p>A <mark>b c</mark><sup id="evidence-1">[1]</sup> d.</p>',
        ),
        (
            "A **b c** d.",
            "b c",
            '<p>A <strong><mark>b c</mark><sup id="evidence-1">[1]</sup></strong> d.</p>',
        ),
        (
            "A **b c** d.",
            "c** d",
            '<p>A <strong>b <mark>c</mark></strong><mark> d</mark><sup id="evidence-1">[1]</sup>.</p>',
        ),
        (
            "1. One.\n2. Two.",
            "1. One.\n2. Two",
            '<ol>\n<li><mark>One.</mark></li>\n<li><mark>Two</mark><sup id="evidence-1">[1]</sup>.</li>\n</ol>',
        ),
        (
            "## Head\n\nText.",
            "Head",
            '<h3><mark>Head</mark><sup id="evidence-1">[1]</sup></h3>\n<p>Text.</p>',
        ),
        (
            "1 < 2 & 3.",
            "1 < 2 & 3",
            '<p><mark>1 &lt; 2 &amp; 3</mark><sup id="evidence-1">[1]</sup>.</p>',
        ),
    ],
)
def test_a_span_is_marked_within_each_element_that_it_crosses(
    text: str, quote: str, expected: str
) -> None:
    assert marked(text, quote) == expected


def test_a_mark_in_an_address_leaves_the_link_as_it_is() -> None:
    text = "See <https://example.org/a/b> now."
    assert 'href="https://example.org/a/b"' in marked(text, "a/b")


def test_spans_that_overlap_are_numbered_and_nested_soundly() -> None:
    page = marked("one two three four", "one two three", "two three four")
    first = '<mark>one </mark><mark>two three</mark><sup id="evidence-1">[1]</sup>'
    assert page == f'<p>{first}<mark> four</mark><sup id="evidence-2">[2]</sup></p>'


def test_signs_of_the_text_itself_are_no_marks() -> None:
    assert "<mark" not in article_html("a \ufdd01\ufdd2 b \ufdd11\ufdd2 c")


@pytest.mark.parametrize(
    "text",
    [
        "**a** _b_ `c` [d](https://x.org/e) f\n\n> g\n\n| h | i |\n|---|---|\n| j | k |\n"
    ],
)
def test_marks_at_any_place_change_no_element(text: str) -> None:
    def elements(page: str) -> list[Any]:
        tree = html.fragment_fromstring(page, create_parent="div")
        return [
            (one.tag, sorted(one.items()))
            for one in tree.iter()
            if one.tag not in ("mark", "sup")
        ]

    # offsets of evidence are never in the target of a link
    words = [
        n
        for n, letter in enumerate(text)
        if letter.isalnum() and not text.index("](") < n < text.index(")")
    ]
    plain = elements(article_html(text))
    for start in words:
        for end in words:
            if start < end:
                assert (
                    elements(article_html(text, [(1, Span(start, end + 1))])) == plain
                ), text[start : end + 1]


def passages_of(before: str, after: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text.strip()) for one in passages(before, after)]


def test_passages_far_from_a_change_are_folded() -> None:
    words = [f"w{n}" for n in range(400)]
    later = [*words[:200], "new", *words[201:]]
    found = passages_of(" ".join(words), " ".join(later))
    assert found == [
        ("folded", " ".join(words[:170])),
        ("equal", " ".join(words[170:200])),
        ("del", "w200"),
        ("ins", "new"),
        ("equal", " ".join(words[201:231])),
        ("folded", " ".join(words[231:])),
    ]
    assert passages(" ".join(words), " ".join(later))[0].count == 170


def test_a_short_passage_between_two_changes_is_not_folded() -> None:
    words = [f"w{n}" for n in range(80)]
    later = ["a", *words[1:79], "b"]
    found = passages_of(" ".join(words), " ".join(later))
    assert [kind for kind, _ in found] == ["del", "ins", "equal", "del", "ins"]


def test_equal_texts_are_one_folded_passage() -> None:
    assert [kind for kind, _ in passages_of("a " * 90, "a  " * 90)] == ["folded"]
    assert passages("", "") == []
