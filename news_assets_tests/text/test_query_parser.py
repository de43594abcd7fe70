import re
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import QueryError
from news_assets.text.query_parser import (
    MAX_DEPTH,
    MAX_QUERY_CHARS,
    MAX_WORDS,
    PROBLEMS,
    ParsedQuery,
    parse_operators,
    parse_query,
    plain_words,
)
from news_assets.text.query_tree import (
    And,
    Days,
    FieldValue,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Prefix,
    Searchable,
    Word,
    matches,
)
from news_assets.web.localization import portuguese
from news_assets_tests.support.growth import grows_linearly

A, B, C = Word("a"), Word("b"), Word("c")


@pytest.mark.parametrize(
    "text",
    [
        "", "vacina", "vacina -gripe", '"conselho tutelar" -gripe', '-"duas doses"',
        "Universidade Federal (UFSC) abre vagas", "(a b) (c)", "Governo: veja", "10:30",
        "https://example.org/a", "** destaque **", "and or not near", "a - b", "x -",
        "a/b", "C&A", "()", "hotel 4*",
        "UPDATE:NZ net up", '"A ciência fura muros”, afirma',
    ],
)  # fmt: skip
def test_a_text_without_operators_has_no_tree(text: str) -> None:
    assert parse_operators(text) is None
    assert plain_words(text) == text


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a OR b", Or((A, B))),
        ("a b OR c", Or((And((A, B)), C))),
        ("a (b OR c)", And((A, Or((B, C))))),
        ("a AND b NOT c", And((A, B, Not(C)))),
        ("a -(b OR c)", And((A, Not(Or((B, C)))))),
        ("a NEAR/5 b", Near(A, B, 5)),
        ("a NEAR/5 b NEAR/2 c", And((Near(A, B, 5), Near(B, C, 2)))),
        ('(a OR "b c") NEAR/1 c', Near(Or((A, Phrase(("b", "c")))), C, 1)),
        ("Vacín*", Prefix("vacin")),
        ("guarda-chuva OR a", Or((Phrase(("guarda", "chuva")), A))),
        ("title:a", Word("a", in_title=True)),
        ("-Title:a", Not(Word("a", in_title=True))),
        ("title:(a OR vac*)", Or((Word("a", True), Prefix("vac", True, 13)))),
        ('author:"Ana Lima"', FieldValue("author", "ana lima", ("ana", "lima"))),
        ("theme:01.02", FieldValue("theme", "01.02", ("01", "02"))),
        ("date:7d", Days(recent=7)),
        ("date:2026-11-01", Days(date(2026, 11, 1), date(2026, 11, 1))),
        ("date:2026-11-01..", Days(date(2026, 11, 1))),
        ("date:..2026-11-07", Days(None, date(2026, 11, 7))),
    ],
)
def test_operators_make_a_tree(text: str, tree: Node) -> None:
    assert parse_operators(text) == tree


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a (b OR c", "column 3 of the search: the bracket is never closed"),
        ("a) b", "column 2 of the search: no bracket was opened"),
        ('a "b', "column 3 of the search: the quotation mark is never closed"),
        ("a writer:b", "column 3 of the search: there is no field writer:; the fields are"),
        ("title:(author:b)", "column 8 of the search: author: is within another field"),
        ("a NEAR b", "column 3 of the search: NEAR needs a number"),
        ("a NEAR/0 b", "column 3 of the search: NEAR needs a number"),
        ("a NEAR/x b", "column 3 of the search: NEAR needs a number"),
        ("a NEAR/2 -b", "column 3 of the search: NEAR stands between words"),
        ("(a b) NEAR/2 c", "column 7 of the search: NEAR stands between words"),
        ("NEAR/2 b", "column 1 of the search: NEAR/2 has nothing before it"),
        ("OR a", "column 1 of the search: OR has nothing before it"),
        ("a OR OR b", "column 3 of the search: OR has nothing after it"),
        ("a (b OR)", "column 6 of the search: OR has nothing after it"),
        ("a OR &", "column 3 of the search: OR has nothing after it"),
        ("a AND", "column 3 of the search: AND has nothing after it"),
        ("NOT", "column 1 of the search: NOT has nothing after it"),
        ('title:""', "column 1 of the search: title: has nothing after it"),
        ("date:ontem", "column 6 of the search: ontem is no date; write date:7d"),
        ("date:2026-02-30", "column 6 of the search: 2026-02-30 is no date"),
        ("date:0d", "column 6 of the search: 0d is no date"),
        ("va*", "column 1 of the search: write at least 3 letters before the *"),
        ("a OR b " * 40, "a search with operators has at most 64 words"),
        ("(" * (MAX_DEPTH + 1) + "a", f"brackets are at most {MAX_DEPTH} deep"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_column(text: str, mistake: str) -> None:
    with pytest.raises(QueryError, match=re.escape(mistake)):
        parse_operators(text)


def test_what_can_be_wrong_is_said_in_portuguese_too() -> None:
    texts = portuguese()
    assert [one for one in PROBLEMS if one not in texts] == []


def test_a_search_by_meaning_has_the_words_that_a_hit_may_have() -> None:
    text = 'title:vacina ("dose extra" OR escol*) -gripe date:7d author:lima'
    assert plain_words(text) == "vacina dose extra escol"
    assert plain_words("date:7d") == ""


@given(st.text(alphabet='ab ()"-:*/OR NEAR/5 title', max_size=40))
def test_any_text_is_read_or_its_mistake_has_a_column_of_it(text: str) -> None:
    column = 1
    try:
        parse_operators(text)
    except QueryError as error:
        column = error.column
    assert 1 <= column <= max(len(text), 1)


def test_a_long_pasted_text_has_no_operators() -> None:
    assert parse_operators("(" * (MAX_QUERY_CHARS + 1)) is None


@pytest.mark.parametrize("part", ["(a OR b) ", "a NEAR/2 ", "-a:b (", "title:a "])
def test_reading_takes_linear_time(part: str) -> None:
    most = MAX_QUERY_CHARS // len(part)

    def read(text: str) -> None:
        with suppress(QueryError):
            parse_operators(text)

    assert grows_linearly(read, lambda size: part * size, most)


def test_comparing_takes_linear_time() -> None:
    tree = parse_operators('a NEAR/1 c OR "b b" OR xyz*')
    assert tree is not None
    day = date(2026, 11, 1)

    def compare(text: str) -> None:
        matches(tree, Searchable("pt", day, "", text), day)

    assert grows_linearly(compare, lambda size: "a b c " * size, 6_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O governo do Brasil", ParsedQuery(("governo", "brasil"))),
        ("o que é", ParsedQuery(("o", "que", "é"))),
        ('"Ensino Superior" já', ParsedQuery(("ensino", "superior"), (("ensino", "superior"),))),
        ("vacina -idosos -\"duas doses\"", ParsedQuery(("vacina",), (), ("idosos", "duas", "doses"))),
        ("guarda-chuva", ParsedQuery(("guarda", "chuva"))),
        ('vacina "aberta', ParsedQuery(("vacina", "aberta"))),
        ('"uma"', ParsedQuery(("uma",))),
        ("vacina vacina", ParsedQuery(("vacina",))),
        ("-", ParsedQuery(())),
        ("", ParsedQuery(())),
    ],
)  # fmt: skip
def test_words_phrases_and_exclusions_are_parsed(
    text: str, expected: ParsedQuery
) -> None:
    assert parse_query(text, ("pt-BR",)) == expected


def test_a_pasted_article_is_cut_to_its_first_words() -> None:
    assert (
        len(parse_query(" ".join(f"palavra{n}" for n in range(5_000)), ()).words)
        == MAX_WORDS
    )
