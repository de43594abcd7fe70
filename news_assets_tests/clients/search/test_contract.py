"""The contract of every search backend in `SEARCH_BACKENDS`.

A real Typesense server is tested if NEWS_TEST_TYPESENSE_URL (`typesense://host:port`) and NEWS_TEST_TYPESENSE_API_KEY
name one; each test uses an alias of its own there and drops what it created.
"""

import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.clients.search.typesense.collection import collections
from news_assets.clients.search.typesense.index import TypesenseSearchIndex
from news_assets.clients.search.typesense.rebuild import drop, is_of_alias
from news_assets.errors import IndexingError
from news_assets.ports.search import FACETS, SearchAnswer, SearchDocument, SearchIndex, SearchMode, SearchQuery
from news_assets.records.reading import AgencyDays
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.search_backends import hashes
from news_assets_tests.typesense_server import running

REAL_SERVER = os.environ.get("NEWS_TEST_TYPESENSE_URL")


@contextmanager
def on_test_server() -> Iterator[SearchIndex]:
    with running(is_strict=True) as server:
        address = server.url.replace("http://", "typesense://")
        with TypesenseSearchIndex.open(address, server.admin_key) as index:
            yield index


@contextmanager
def on_real_server() -> Iterator[SearchIndex]:
    alias = f"contract_{uuid.uuid4().hex}"
    address = re.sub(r"^http", "typesense+http", str(REAL_SERVER)).replace("typesense+http:", "typesense:")
    with TypesenseSearchIndex.open(f"{address}/{alias}", os.environ["NEWS_TEST_TYPESENSE_API_KEY"]) as index:
        yield index
        for name in collections(index.connection):
            if is_of_alias(name, alias):
                drop(index.connection, name)
        index.connection.call("delete", f"/aliases/{alias}")


SEARCH_BACKENDS: dict[str, Callable[[Path], AbstractContextManager[SearchIndex]]] = {
    "fake": lambda _: nullcontext(FakeSearchIndex()),
    "embedded": lambda folder: closing(SqliteSearchIndex.open(folder / "search.sqlite")),
    "typesense": lambda _: on_test_server(),
} | ({"real": lambda _: on_real_server()} if REAL_SERVER else {})


def document(number: int, title: str = "", text: str = "texto", **changes: object) -> SearchDocument:
    valid = SearchDocument(
        article_id=f"mec-{number}",
        desk="govbr",
        agency="mec",
        agency_name="Ministério da Educação",
        day=date(2026, 1, number % 28 + 1),
        url=f"https://example.org/{number}",
        title=title,
        text=text,
        language="pt-BR",
        published_ts=1_767_225_600 + number,
        document_hash=f"hash-{number}",
    )
    return replace(valid, **changes)  # type: ignore[arg-type]


@pytest.fixture(params=SEARCH_BACKENDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchIndex]:
    with SEARCH_BACKENDS[request.param](tmp_path) as opened:
        yield opened


def ids(answer: SearchAnswer) -> list[str]:
    return [hit.article_id for hit in answer.hits]


def found(index: SearchIndex, text: str, **filters: object) -> list[str]:
    return ids(index.search(SearchQuery(text=text, mode="keyword", **filters)))  # type: ignore[arg-type]


def test_an_empty_index_returns_no_hits(index: SearchIndex) -> None:
    answer = index.search(SearchQuery(text="educação", vector=(1.0, 0.0)))
    assert (answer.hits, answer.found, answer.facets) == ((), 0, {name: {} for name in FACETS})


def test_a_document_stored_twice_is_one_document(index: SearchIndex) -> None:
    one = document(1, "Eleições")
    assert (index.upsert([one]), index.upsert([one]), index.upsert([one, one])) == ({}, {}, {})
    assert (index.count(), hashes(index, "govbr"), hashes(index, "other")) == (1, {"mec-1": "hash-1"}, {})


def test_a_document_with_the_stored_hash_is_not_written_again(index: SearchIndex) -> None:
    index.upsert([document(1, "vacinas")])
    index.upsert([document(1, "estradas")])
    assert (found(index, "vacinas"), found(index, "estradas")) == (["mec-1"], [])
    index.upsert([document(1, "estradas", document_hash="a"), document(1, "pontes", document_hash="b")])
    assert (found(index, "pontes"), hashes(index, "govbr")) == (["mec-1"], {"mec-1": "b"})


def test_a_changed_document_is_found_by_its_new_words_only(index: SearchIndex) -> None:
    index.upsert([document(1, "vacinas")])
    index.upsert([document(1, "estradas", document_hash="other")])
    assert (found(index, "vacinas"), found(index, "estradas"), index.count()) == ([], ["mec-1"], 1)


def test_a_deleted_document_is_not_found_and_unknown_ids_are_ignored(index: SearchIndex) -> None:
    index.upsert([document(1, "vacinas"), document(2, "vacinas")])
    index.delete(["mec-1", "unknown"])
    index.delete(["mec-1"])
    assert (found(index, "vacinas"), index.count(), hashes(index, "govbr")) == (["mec-2"], 1, {"mec-2": "hash-2"})


def test_stored_documents_are_selected_by_desk_agency_and_day(index: SearchIndex) -> None:
    index.upsert([document(1, "a"), document(2, "b"), document(30, "c"), document(4, "d", agency="mj")])
    index.upsert([document(5, "e", desk="other")])
    columns = ["article_id", "agency", "day", "document_hash"]
    assert sorted(index.stored("govbr").select(columns).iter_rows()) == [
        ("mec-1", "mec", date(2026, 1, 2), "hash-1"),
        ("mec-2", "mec", date(2026, 1, 3), "hash-2"),
        ("mec-30", "mec", date(2026, 1, 3), "hash-30"),
        ("mec-4", "mj", date(2026, 1, 5), "hash-4"),
    ]

    def stored(*pairs: tuple[str, date]) -> list[str]:
        found = index.stored("govbr", AgencyDays("govbr", frozenset(pairs)))
        assert found.columns == columns
        return sorted(found["article_id"])

    assert stored(("mec", date(2026, 1, 3)), ("mj", date(2026, 1, 2))) == ["mec-2", "mec-30"]
    assert stored(("mec", date(2026, 1, 2)), ("mj", date(2026, 1, 5))) == ["mec-1", "mec-4"]
    assert stored() == stored(("unknown", date(2026, 1, 3))) == []


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("Eleições municipais", "eleicao"),
        ("Eleição municipal", "ELEIÇÕES"),
        ("Reforma da educação", "educacao"),
        ("Reforma da educacao", "educação"),
        ("Cidadãos em festa", "cidadão"),
        ("Vacinação no país", "vacinaçao"),
        ("Programa de bolsas", "bolsa"),
        ("Campanha nacional", "campnha"),
        ("Campanha nacional", "camapnha"),
        ("Campanha nacional", "camppanha"),
        ("Campanha nacional", "canpanha"),
    ],
)
def test_accents_endings_and_one_typo_are_ignored(index: SearchIndex, written: str, typed: str) -> None:
    index.upsert([document(1, written), document(2, "Outra notícia")])
    assert found(index, typed) == ["mec-1"]


def test_short_words_and_two_typos_are_not_corrected(index: SearchIndex) -> None:
    index.upsert([document(1, "Paz e campanha")])
    assert (found(index, "pax"), found(index, "canpamha")) == ([], [])


def test_each_document_is_stemmed_in_its_own_language(index: SearchIndex) -> None:
    index.upsert([document(1, "Vaccines arriving", language="en"), document(2, "Vacinas chegando")])
    assert (found(index, "vaccine arrives"), found(index, "vacina")) == (["mec-1"], ["mec-2"])


def test_documents_with_some_words_follow_those_with_every_word_only_if_these_are_few(index: SearchIndex) -> None:
    index.upsert([document(1, "vacina"), document(2, "vacina para idosos"), document(3, "estradas")])
    assert found(index, "vacina idosos")[0] == "mec-2"
    assert set(found(index, "vacina idosos")) == {"mec-1", "mec-2"}
    index.upsert([document(n, "vacina para idosos") for n in range(10, 25)])
    assert "mec-1" not in found(index, "vacina idosos", limit=50)


def test_any_word_of_a_long_query_finds_a_document(index: SearchIndex) -> None:
    typed = ["creche", "vacina", "estrada", "ponte", "feira", "museu"]
    index.upsert([document(n, word) for n, word in enumerate(typed, 1)])
    index.upsert([document(n, "creche e museu") for n in range(100, 130)])
    assert {f"mec-{n}" for n in range(2, 6)} <= set(found(index, " ".join(typed), limit=100))


def test_stop_words_do_not_replace_unknown_words(index: SearchIndex) -> None:
    index.upsert([document(1, "A feira em Vila Serena"), document(2, "Vagas em creches")])
    assert found(index, "xilofones em quermesses") == []
    assert found(index, "vagas em quermesses") == ["mec-2"]
    assert found(index, "em") == ["mec-2", "mec-1"]


def test_title_words_weigh_more_and_of_equal_hits_the_newest_is_first(index: SearchIndex) -> None:
    index.upsert(
        [document(1, "Nota", "vacina e nota"), document(2, "Vacina", "e nota"), document(3, "Vacina", "e nota")]
    )
    assert found(index, "vacina") == ["mec-3", "mec-2", "mec-1"]


def test_quoted_words_must_be_adjacent_and_a_minus_excludes(index: SearchIndex) -> None:
    index.upsert([document(1, "Ensino superior"), document(2, "Superior ao ensino"), document(3, "Ensino médio")])
    assert found(index, '"ensino superior"') == ["mec-1"]
    assert set(found(index, "ensino -superior")) == {"mec-3"}


def test_an_empty_query_lists_the_newest(index: SearchIndex) -> None:
    index.upsert([document(n) for n in (2, 3, 1)])
    answer = index.search(SearchQuery(text="  ", limit=2))
    assert (ids(answer), answer.found) == (["mec-3", "mec-2"], 3)


def test_pages_have_no_gaps_or_repetitions(index: SearchIndex) -> None:
    index.upsert([document(n, "vacina " * (n % 5 + 1)) for n in range(1, 26)])
    pages = [found(index, "vacina", limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [hit for page in pages for hit in page] == found(index, "vacina", limit=100)
    assert [len(page) for page in pages] == [10, 10, 5, 0]


FILTERED = [
    document(1, "vacina", sentiment="positive", entities=("Vila Serena", "Ana Lima", "Ana Lima")),
    document(2, "vacina", desk="world", agency="bbc", language="en", theme_path=("02",), day=date(2026, 2, 3)),
    document(3, "vacina", agency="ms", theme_path=("01", "01.02"), theme_code="01.02", day=date(2025, 12, 31)),
    document(4, "vacina", agency="ms", body="City Council", matter="24-0123", meeting_status="confirmed"),
    document(5, "vacina", agency="ms", matter="240123", meeting_status="cancelled", entities=("Ana Lima",)),
]


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"desk": "world"}, {"mec-2"}),
        ({"agency": "ms"}, {"mec-3", "mec-4", "mec-5"}),
        ({"agency": "unknown"}, set()),
        ({"theme": "01"}, {"mec-3"}),
        ({"theme": "01.02"}, {"mec-3"}),
        ({"theme": "0"}, set()),
        ({"language": "pt"}, {"mec-1", "mec-3", "mec-4", "mec-5"}),
        ({"entity": "Ana Lima"}, {"mec-1", "mec-5"}),
        ({"entity": "Ana"}, set()),
        ({"entity": "\ud800"}, set()),
        ({"sentiment": "positive"}, {"mec-1"}),
        ({"body": "City Council"}, {"mec-4"}),
        ({"body": "City"}, set()),
        ({"matter": "24-0123"}, {"mec-4"}),
        ({"matter": "24-0123", "meeting_status": "cancelled"}, set()),
        ({"meeting_status": "cancelled"}, {"mec-5"}),
        ({"from_day": date(2026, 1, 1)}, {"mec-1", "mec-2", "mec-4", "mec-5"}),
        ({"to_day": date(2025, 12, 31)}, {"mec-3"}),
        ({"from_day": date(2026, 1, 2), "to_day": date(2026, 1, 2)}, {"mec-1"}),
    ],
)
def test_filters_apply_in_every_mode(
    index: SearchIndex, mode: str, filters: dict[str, object], expected: set[str]
) -> None:
    index.upsert([replace(one, vector=(1.0, 0.0)) for one in FILTERED])
    answer = index.search(SearchQuery(text="vacina", mode=mode, vector=(1.0, 0.1), **filters))  # type: ignore[arg-type]
    assert (set(ids(answer)), answer.found) == (expected, len(expected))


def test_facets_count_every_match_of_all_pages(index: SearchIndex) -> None:
    index.upsert(FILTERED)
    facets = index.search(SearchQuery(text="vacina", mode="keyword", limit=1)).facets
    assert facets == {
        "desk": {"govbr": 4, "world": 1},
        "agency": {"bbc": 1, "mec": 1, "ms": 3},
        "theme": {"01": 1, "01.02": 1, "02": 1},
        "language": {"pt-BR": 4, "en": 1},
        "sentiment": {"positive": 1},
        "entity": {"Ana Lima": 2, "Vila Serena": 1},
        "body": {"City Council": 1},
        "matter": {"24-0123": 1, "240123": 1},
        "meeting_status": {"cancelled": 1, "confirmed": 1},
        "month": {"2026-02": 1, "2026-01": 3, "2025-12": 1},
        "day": {"2026-02-03": 1, "2026-01-06": 1, "2026-01-05": 1, "2026-01-02": 1, "2025-12-31": 1},
    }
    assert tuple(facets) == FACETS


def test_facets_follow_changed_and_deleted_documents(index: SearchIndex) -> None:
    index.upsert([document(n, "vacina", entities=(f"Nome {n}", "Ana")) for n in (1, 2, 3)])
    index.upsert([document(2, "vacina", entities=("Rita",), document_hash="changed")])
    index.delete(["mec-3"])
    facets = index.search(SearchQuery(text="vacina", mode="keyword")).facets
    assert facets["entity"] == {"Ana": 1, "Nome 1": 1, "Rita": 1}
    assert facets["day"] == {"2026-01-03": 1, "2026-01-02": 1}


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "vector"])
def test_sorted_by_date_the_newest_is_first_on_every_page(index: SearchIndex, mode: SearchMode) -> None:
    index.upsert([document(n, "vacina " * (n % 3 + 1), vector=(1.0, n / 10)) for n in range(1, 26)])
    index.upsert([document(n, "estrada", vector=(-1.0, 0.1), day=date(2026, 3, 1)) for n in range(30, 130)])

    def page(offset: int) -> list[str]:
        query = SearchQuery(text="vacina", mode=mode, vector=(1.0, 0.2), to_day=date(2026, 2, 1), sort="date")
        return ids(index.search(replace(query, offset=offset)))

    assert [one for offset in (0, 10, 20) for one in page(offset)] == [f"mec-{n}" for n in range(25, 0, -1)]


def test_sorted_by_date_an_original_stands_at_its_own_time(index: SearchIndex) -> None:
    index.upsert(
        [
            document(1, "vacina"),
            document(2, "vacina"),
            document(3, "vacina", duplicate_of="mec-1"),
            document(4, "vacina", duplicate_of="unknown"),
        ]
    )
    answer = index.search(SearchQuery(text="vacina", mode="keyword", sort="date"))
    assert (ids(answer), answer.found) == (["mec-4", "mec-2", "mec-1"], 3)


def test_a_hit_explains_its_words_fields_and_ranks(index: SearchIndex) -> None:
    index.upsert(
        [
            document(1, "Campanha", "Vacinas nas escolas", keywords=("vacinação",), vector=(1.0, 0.0)),
            document(2, "Obras", "A campanha de obras", summary="campanha", vector=(0.6, 0.8)),
            document(3, "Feira", "Nada disso", vector=(0.8, 0.6)),
        ]
    )
    query = SearchQuery(text="vacina campnha", vector=(1.0, 0.0), explain=True)
    answer = index.search(query)
    explained = {hit.article_id: hit.explanation for hit in answer.hits}
    first, second, third = (explained[f"mec-{n}"] for n in (1, 2, 3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.words["campnha"] == ("title",)
    assert first.words["vacina"][0] == "text"
    assert second.words == {"campnha": ("text", "summary")}
    assert third.words == {}
    assert [one.keyword_rank for one in (first, second, third)] == [1, 2, None]
    assert [one.vector_rank for one in (first, second, third)] == [1, 3, 2]
    assert [round(one.similarity or 0, 2) for one in (first, second, third)] == [1.0, 0.6, 0.8]
    assert third.keyword_score is None
    assert {hit.explanation for hit in index.search(replace(query, explain=False)).hits} == {None}


def test_the_explanation_of_an_original_has_the_ranks_of_its_best_copy(index: SearchIndex) -> None:
    index.upsert([document(1, "Nota", "uma vacina"), document(2, "Vacina", "vacina", duplicate_of="mec-1")])
    (hit,) = index.search(SearchQuery(text="vacina", mode="keyword", explain=True)).hits
    assert hit.explanation is not None
    assert (hit.article_id, hit.explanation.keyword_rank, hit.explanation.vector_rank) == ("mec-1", 1, None)
    assert hit.explanation.words == {"vacina": ("text",)}


def test_duplicates_are_one_hit_and_count_once(index: SearchIndex) -> None:
    index.upsert(
        [
            document(1, "vacina vacina vacina", duplicate_of="mec-2"),
            document(2, "vacina e outras coisas"),
            document(3, "vacina", text_hash="same"),
            document(4, "vacina", text_hash="same"),
        ]
    )
    answer = index.search(SearchQuery(text="vacina", mode="keyword"))
    assert (set(ids(answer)), answer.found, answer.facets["agency"]) == ({"mec-2", "mec-3"}, 2, {"mec": 4})
    index.delete(["mec-2"])
    assert set(found(index, "vacina")) == {"mec-1", "mec-3"}


def test_the_nearest_vectors_are_first_and_documents_without_one_are_found_by_words(index: SearchIndex) -> None:
    index.upsert(
        [
            document(1, "vacina", vector=(1.0, 0.0, 0.0)),
            document(2, "estrada", vector=(0.8, 0.6, 0.0)),
            document(3, "campanha de vacina"),
        ]
    )
    near = index.search(SearchQuery(text="", mode="vector", vector=(0.0, 2.0, 0.0)))
    assert (ids(near), [round(hit.score, 2) for hit in near.hits]) == (["mec-2", "mec-1"], [0.6, 0.0])
    assert set(ids(index.search(SearchQuery(text="vacina", vector=(0.8, 0.6, 0.0))))) == {"mec-1", "mec-2", "mec-3"}


def test_a_vector_of_other_dimensions_is_an_error_that_names_both(index: SearchIndex) -> None:
    index.upsert([document(1, vector=(1.0, 0.0, 0.0))])
    with pytest.raises(IndexingError, match=r"2 dimensions.* 3"):
        index.search(SearchQuery(text="", mode="vector", vector=(1.0, 0.0)))


def test_the_first_model_name_is_kept(index: SearchIndex) -> None:
    assert index.vector_model() is None
    for name in ("one", "another"):
        index.name_model(name)
    index.upsert([document(1, vector=(1.0, 0.0))])
    assert (index.vector_model(), index.vector_dim()) == ("one", 2)
    assert index.search(SearchQuery(text="", mode="keyword")).facets["language"] == {"pt-BR": 1}


def test_a_refused_document_has_a_reason_and_the_others_are_stored(index: SearchIndex) -> None:
    index.upsert([document(1, vector=(1.0, 0.0, 0.0))])
    refused = index.upsert(
        [
            document(2, vector=(1.0, 0.0)),
            document(3, vector=(float("nan"), 0.0, 1.0)),
            document(4, vector=(0.0, 0.0, 0.0)),
            document(5, article_id=" "),
            document(6, vector=(0.0, 1.0, 0.0)),
        ]
    )
    assert set(refused) == {"mec-2", "mec-3", "mec-4", " "}
    assert "2" in refused["mec-2"]
    assert "3" in refused["mec-2"]
    assert set(hashes(index, "govbr")) == {"mec-1", "mec-6"}


def test_a_snippet_highlights_matches_and_escapes_the_text(index: SearchIndex) -> None:
    index.upsert([document(1, "Nota", "O <b>TSE</b> & as eleições; a Educação <script>alert(1)</script>")])
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
    index.upsert([document(1, "vacina a abc", vector=(1.0, 0.0)), document(2, text, text * 2)])
    for mode in ("keyword", "hybrid"):
        index.search(SearchQuery(text=text, mode=mode, vector=(0.0, 1.0)))  # type: ignore[arg-type]
    assert index.count() == 2


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60))
def test_snippets_of_any_text_have_no_markup(index: SearchIndex, text: str) -> None:
    index.upsert([document(1, text, f"<i>{text}</i>", document_hash="")])
    for hit in index.search(SearchQuery(text=text, mode="keyword")).hits:
        assert "<" not in hit.snippet.replace("<mark>", "").replace("</mark>", "")
