"""Any text is searched, or its mistake is named; snippets of any text have no markup."""

from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.errors import QueryError
from news_assets.ports.search_index import SearchIndex, SearchQuery
from news_assets.text.query_parser import parse_operators
from news_assets_tests.clients.search.contract.examples import document


def test_a_snippet_highlights_matches_and_escapes_the_text(index: SearchIndex) -> None:
    index.upsert(
        [
            document(
                1,
                "Nota",
                "O <b>TSE</b> & as eleições; a Educação <script>alert(1)</script>",
            )
        ]
    )
    for typed in ("eleicao educacao", "elieção eduacção"):
        (hit,) = index.search(SearchQuery(text=typed, mode="keyword")).hits
        assert hit.snippet == (
            "O &lt;b&gt;TSE&lt;/b&gt; &amp; as <mark>eleições</mark>; a <mark>Educação</mark> "
            "&lt;script&gt;alert(1)&lt;/script&gt;"
        )


HOSTILE = [
    "\x00",
    "\ud800",
    "'",
    '"',
    '""',
    '"""',
    '"abc',
    "AND",
    "a AND OR NOT",
    "NEAR(a b)",
    "title:a",
    "*",
    "a*",
    "-",
    "--",
    "-a",
    '-"a b"',
    "(((",
    "^a",
    "{a b}",
    "\\",
    "%",
    "_",
    "\U0001f600",
    "a\nb\tc",
    "' OR 1=1 --",
    "\u65e5\u672c",
    "\xdf",
    "<mark>",
    "a" * 10_000,
    "a " * 5_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_searched_or_its_mistake_is_named(
    index: SearchIndex, text: str
) -> None:
    index.upsert(
        [document(1, "vacina a abc", vector=(1.0, 0.0)), document(2, text, text * 2)]
    )
    has_mistake = _has_mistake(text)
    for mode in ("keyword", "hybrid"):
        query = SearchQuery(text=text, mode=mode, vector=(0.0, 1.0))  # type: ignore[arg-type]
        with pytest.raises(QueryError) if has_mistake else nullcontext():
            index.search(query)
    assert index.count() == 2


def _has_mistake(text: str) -> bool:
    try:
        parse_operators(text)
    except QueryError:
        return True
    return False


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(max_size=60))
def test_snippets_of_any_text_have_no_markup(index: SearchIndex, text: str) -> None:
    index.upsert([document(1, text, f"<i>{text}</i>", document_hash="")])
    if _has_mistake(text):
        return
    for hit in index.search(SearchQuery(text=text, mode="keyword")).hits:
        assert "<" not in hit.snippet.replace("<mark>", "").replace("</mark>", "")
