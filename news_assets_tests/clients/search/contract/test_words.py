"""Search by words: endings, accents, typos, phrases, exclusions, order of hits, pages."""

import pytest

from news_assets.ports.search_index import SearchIndex, SearchQuery
from news_assets_tests.clients.search.contract.examples import document, found, ids


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
def test_accents_endings_and_one_typo_are_ignored(
    index: SearchIndex, written: str, typed: str
) -> None:
    index.upsert([document(1, written), document(2, "Outra notícia")])
    assert found(index, typed) == ["mec-1"]


def test_short_words_and_two_typos_are_not_corrected(index: SearchIndex) -> None:
    index.upsert([document(1, "Paz e campanha")])
    assert (found(index, "pax"), found(index, "canpamha")) == ([], [])


def test_each_document_is_stemmed_in_its_own_language(index: SearchIndex) -> None:
    index.upsert(
        [
            document(1, "Vaccines arriving", language="en"),
            document(2, "Vacinas chegando"),
        ]
    )
    assert (found(index, "vaccine arrives"), found(index, "vacina")) == (
        ["mec-1"],
        ["mec-2"],
    )


def test_documents_with_some_words_follow_those_with_every_word_only_if_these_are_few(
    index: SearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "vacina"),
            document(2, "vacina para idosos"),
            document(3, "estradas"),
        ]
    )
    assert found(index, "vacina idosos")[0] == "mec-2"
    assert set(found(index, "vacina idosos")) == {"mec-1", "mec-2"}
    index.upsert([document(n, "vacina para idosos") for n in range(10, 25)])
    assert "mec-1" not in found(index, "vacina idosos", limit=50)


def test_any_word_of_a_long_query_finds_a_document(index: SearchIndex) -> None:
    typed = ["creche", "vacina", "estrada", "ponte", "feira", "museu"]
    index.upsert([document(n, word) for n, word in enumerate(typed, 1)])
    index.upsert([document(n, "creche e museu") for n in range(100, 130)])
    assert {f"mec-{n}" for n in range(2, 6)} <= set(
        found(index, " ".join(typed), limit=100)
    )


def test_stop_words_do_not_replace_unknown_words(index: SearchIndex) -> None:
    index.upsert(
        [document(1, "A feira em Vila Serena"), document(2, "Vagas em creches")]
    )
    assert found(index, "xilofones em quermesses") == []
    assert found(index, "vagas em quermesses") == ["mec-2"]
    assert found(index, "em") == ["mec-2", "mec-1"]


def test_title_words_weigh_more_and_of_equal_hits_the_newest_is_first(
    index: SearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "Nota", "vacina e nota"),
            document(2, "Vacina", "e nota"),
            document(3, "Vacina", "e nota"),
        ]
    )
    assert found(index, "vacina") == ["mec-3", "mec-2", "mec-1"]


def test_quoted_words_must_be_adjacent_and_a_minus_excludes(index: SearchIndex) -> None:
    index.upsert(
        [
            document(1, "Ensino superior"),
            document(2, "Superior ao ensino"),
            document(3, "Ensino médio"),
        ]
    )
    assert found(index, '"ensino superior"') == ["mec-1"]
    assert set(found(index, "ensino -superior")) == {"mec-3"}


def test_an_empty_query_lists_the_newest(index: SearchIndex) -> None:
    index.upsert([document(n) for n in (2, 3, 1)])
    answer = index.search(SearchQuery(text="  ", limit=2))
    assert (ids(answer), answer.found) == (["mec-3", "mec-2"], 3)


def test_pages_have_no_gaps_or_repetitions(index: SearchIndex) -> None:
    index.upsert([document(n, "vacina " * (n % 5 + 1)) for n in range(1, 26)])
    pages = [
        found(index, "vacina", limit=10, offset=offset) for offset in (0, 10, 20, 30)
    ]
    assert [hit for page in pages for hit in page] == found(index, "vacina", limit=100)
    assert [len(page) for page in pages] == [10, 10, 5, 0]
