"""Queries of which few or no documents have all words."""

from news_assets.clients.search.typesense.search_requests import StemmedQuery
from news_assets.clients.search.typesense.searcher import KnownWords
from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets.ports.search_index import SearchAnswer, SearchQuery
from news_assets_tests.clients.search.typesense.samples import document
from news_assets_tests.typesense_server import TestServer


def searched(index: TypesenseSearchIndex, text: str, **changes: object) -> SearchAnswer:
    return index.search(SearchQuery(text=text, mode="keyword", **changes))  # type: ignore[arg-type]


def ids(answer: SearchAnswer) -> list[str]:
    return [hit.article_id for hit in answer.hits]


def test_the_commonest_words_alone_do_not_make_a_match() -> None:
    query = StemmedQuery(words=("o", "rara", "comum"), stems=("o", "rar", "comum"))
    known = KnownWords(query, {"o": 99_900, "rar": 3, "comum": 90_000}, 100_000)
    assert (known.by_rarity(), known.informative()) == (["rar", "comum", "o"], ["rar"])


def test_found_and_facets_count_every_document_with_some_of_the_words(
    index: TypesenseSearchIndex,
) -> None:
    index.upsert(
        [document(n, "creches", agency="ms" if n % 2 else "mec") for n in range(1, 301)]
    )
    index.upsert([document(n, "estradas") for n in range(301, 400)])
    index.upsert([document(400, "creches e estradas")])
    answer = searched(index, "creches estradas")
    assert (ids(answer)[0], answer.found, answer.facets["agency"]) == (
        "mec-400",
        400,
        {"mec": 250, "ms": 150},
    )


def test_phrases_exclusions_and_filters_hold_for_some_of_the_words(
    index: TypesenseSearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "ensino superior gratuito"),
            document(2, "superior ao ensino gratuito"),
            document(3, "ensino superior pago"),
            document(4, "ensino superior", agency="ms"),
        ]
    )
    answer = searched(index, '"ensino superior" creches gratuito -pago', agency="mec")
    assert (ids(answer), answer.found) == (["mec-1"], 1)


def test_corrected_words_need_not_all_occur(index: TypesenseSearchIndex) -> None:
    index.upsert(
        [
            document(1, "campanha nacional"),
            document(2, "creches municipais"),
            document(3, "estradas"),
        ]
    )
    assert ids(searched(index, "campnha creches xilofones"))[:2] == ["mec-2", "mec-1"]


def test_a_query_that_enough_documents_match_is_one_request_and_one_for_the_texts(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    index.upsert(
        [document(n, "vacina gratuita", vector=(1.0, 0.0)) for n in range(1, 12)]
    )
    server.requests.clear()
    index.search(SearchQuery(text="vacinas gratuitas", vector=(1.0, 0.0)))
    assert [one.path for one in server.requests] == ["/multi_search"] * 2
