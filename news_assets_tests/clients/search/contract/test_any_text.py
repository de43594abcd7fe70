"""Any text is a valid query, and snippets of any text have no markup."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.ports.search_index import SearchIndex, SearchQuery
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
def test_any_text_is_a_valid_query(index: SearchIndex, text: str) -> None:
    index.upsert(
        [document(1, "vacina a abc", vector=(1.0, 0.0)), document(2, text, text * 2)]
    )
    for mode in ("keyword", "hybrid"):
        index.search(SearchQuery(text=text, mode=mode, vector=(0.0, 1.0)))  # type: ignore[arg-type]
    assert index.count() == 2


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(max_size=60))
def test_snippets_of_any_text_have_no_markup(index: SearchIndex, text: str) -> None:
    index.upsert([document(1, text, f"<i>{text}</i>", document_hash="")])
    for hit in index.search(SearchQuery(text=text, mode="keyword")).hits:
        assert "<" not in hit.snippet.replace("<mark>", "").replace("</mark>", "")
