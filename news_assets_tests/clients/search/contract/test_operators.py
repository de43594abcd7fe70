"""Operators: OR, brackets, NEAR, fields, days, beginnings of words; the same on every
backend as `text.query_tree` decides for one document.
"""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.errors import QueryError
from news_assets.ports.search_index import SearchIndex, SearchMode, SearchQuery
from news_assets.text.query_parser import parse_operators
from news_assets.text.query_tree import matches, searchable_of
from news_assets_tests.clients.search.contract.examples import document, ids

TODAY = date(2026, 1, 8)
WRITTEN = [
    document(
        1,
        "Vacinas contra a dengue",
        "O governo do estado comprou doses para as escolas.",
        authors=("Ana Lima", "Pedro Souza"),
    ),
    document(
        2,
        "Zika e chikungunya",
        "Dengue, zika: vacinação nas escolas públicas do município.",
        authors=("Ana Souza",),
        agency="ms",
        agency_name="Ministério da Saúde",
    ),
    document(
        3,
        "Obras na estrada",
        "O estado não comprou nada, disse o governo.",
        theme_path=("01", "01.02"),
        theme_labels=("Transporte", "Estradas e vias"),
        tags=("infraestrutura",),
    ),
    document(
        4,
        "School vaccines",
        "The state buys vaccines; covid19 is over.",
        language="en",
        theme_path=("02",),
    ),
    document(5, "Feira do livro", "Vacinar e ler.", language=None),
    document(
        6, "Dengue", "Sem vacina.", summary="Uma epidemia de dengue", day=TODAY
    ),
]  # fmt: skip
EXPECTED = {
    "zika OR obras": {2, 3},
    "dengue (zika OR epidemia)": {2, 6},
    "dengue AND zika": {2},
    "(dengue escola) OR livro": {1, 2, 5},
    "dengue -(zika OR epidemia)": {1},
    "dengue NOT zika": {1, 6},
    "OR OR": None,
    "governo NEAR/2 estado": {1},
    "estado NEAR/2 governo": {1},
    "governo NEAR/9 estado": {1, 3},
    '"doses para" NEAR/2 escolas': {1},
    "(zika OR doses) NEAR/3 (escola OR vacinação)": {1, 2},
    "comprou NEAR/1 estado NEAR/3 governo": {1},
    "title:dengue": {1, 6},
    "title:vacina OR title:vaccine": {1, 4},
    'title:"a dengue"': {1},
    "title:(zika OR estrada)": {2, 3},
    "-title:dengue dengue": {2},
    "author:lima": {1},
    "author:souza": {1, 2},
    'author:"ana souza"': {1, 2},
    'author:"Pedro Souza"': {1},
    "author:(lima OR pedro)": {1},
    "-author:ana dengue": {6},
    "publisher:ms": {2},
    "publisher:saude": {2},
    "theme:01": {3},
    "theme:01.02": {3},
    "theme:1": set(),
    "theme:estradas": {3},
    "date:2026-01-08": {6},
    "date:2026-01-02..2026-01-03": {1, 2},
    "date:2026-01-07..": {6},
    "date:..2026-01-02": {1},
    "date:3d": {5, 6},
    "dengue -date:3d": {1, 2},
    "vacin*": {1, 2, 5, 6},
    "covid*": {4},
    "vacinas*": {1},
    "title:vacin*": {1},
    "infraestr*": {3},
    "dengue -vacin*": set(),
    "(vacin* OR vaccin*) -dengue": {4, 5},
    '"nas escolas" OR epidemia': {2, 6},
    "xilofone OR livro": {5},
    "xilofone AND livro": set(),
}
QUERIES = {text: one for text, one in EXPECTED.items() if one is not None}


@pytest.mark.parametrize("text", QUERIES)
def test_operators_find(index: SearchIndex, text: str) -> None:
    index.upsert(WRITTEN)
    answer = index.search(SearchQuery(text=text, mode="keyword", today=TODAY, limit=50))
    expected = {f"mec-{n}" for n in QUERIES[text]}
    assert (set(ids(answer)), answer.found) == (expected, len(expected))
    assert sum(answer.facets["desk"].values()) == len(expected)


@pytest.mark.parametrize("text", QUERIES)
def test_one_document_is_decided_as_in_an_index(text: str) -> None:
    tree = parse_operators(text)
    assert tree is not None
    found = [one for one in WRITTEN if matches(tree, searchable_of(one), TODAY)]
    expected = {f"mec-{n}" for n in QUERIES[text]}
    assert {one.article_id for one in found} == expected


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_every_hit_by_meaning_matches_the_operators(
    index: SearchIndex, mode: SearchMode
) -> None:
    index.upsert([replace(one, vector=(1.0, one.day.day / 9)) for one in WRITTEN])
    query = SearchQuery(
        text="title:dengue OR author:souza", mode=mode, vector=(1.0, 0.0), today=TODAY
    )
    answer = index.search(query)
    assert (set(ids(answer)), answer.found) == ({"mec-1", "mec-2", "mec-6"}, 3)
    near = index.search(replace(query, text="vacin*"))
    assert set(ids(near)) == {"mec-1", "mec-2", "mec-5", "mec-6"}


def test_hits_of_operators_are_ranked_and_marked_by_their_words(
    index: SearchIndex,
) -> None:
    index.upsert([document(1, "Nota", "uma vacina"), document(2, "Vacina", "vacina")])
    index.upsert([document(3, "Zika", "zika"), document(4, "Nada", "nada")])
    answer = index.search(SearchQuery(text="vacina OR zika", mode="keyword"))
    assert (set(ids(answer)[:2]), ids(answer)[2:]) == ({"mec-2", "mec-3"}, ["mec-1"])
    marked = index.search(SearchQuery(text="vaci*", mode="keyword", sort="date"))
    assert ids(marked) == ["mec-2", "mec-1"]
    assert marked.hits[1].snippet == "uma <mark>vacina</mark>"


def test_pages_of_operators_have_no_gaps_or_repetitions(index: SearchIndex) -> None:
    index.upsert([document(n, "vacina " * (n % 5 + 1)) for n in range(1, 26)])
    for text in ("vacina OR dengue", "vacin*", "-title:dengue"):
        pages = []
        for offset in (0, 10, 20, 30):
            query = SearchQuery(text=text, mode="keyword", offset=offset)
            pages.append(ids(index.search(query)))
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        assert len({hit for page in pages for hit in page}) == 25


def test_operators_and_filters_hold_together(index: SearchIndex) -> None:
    index.upsert(WRITTEN)
    query = SearchQuery(text="zika OR obras", mode="keyword", agency="ms")
    assert ids(index.search(query)) == ["mec-2"]


def test_too_many_operators_are_a_mistake(index: SearchIndex) -> None:
    text = " OR ".join(f"palavra{n}" for n in range(65))
    with pytest.raises(QueryError):
        index.search(SearchQuery(text=text))


PARTS = st.sampled_from(
    ["dengue", "zika", "escola", '"do estado"', "vacin*", "title:dengue", "author:ana",
     "theme:01", "date:3d", "governo NEAR/3 estado", "publisher:ms"]
)  # fmt: skip
TREES = st.recursive(
    PARTS,
    lambda part: st.one_of(
        st.tuples(part, part).map(" OR ".join),
        st.tuples(part, part).map(" ".join),
        part.map("-({})".format),
        part.map("({})".format),
    ),
    max_leaves=6,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=TREES)
def test_an_index_finds_what_a_saved_query_matches(
    index: SearchIndex, text: str
) -> None:
    if index.count() == 0:
        index.upsert(WRITTEN)
    text = f"({text}) OR xilofone"
    tree = parse_operators(text)
    assert tree is not None
    query = SearchQuery(text=text, mode="keyword", today=TODAY, limit=50)
    matching = [one for one in WRITTEN if matches(tree, searchable_of(one), TODAY)]
    expected = {one.article_id for one in matching}
    answer = index.search(query)
    assert (set(ids(answer)), answer.found) == (expected, len(expected))
