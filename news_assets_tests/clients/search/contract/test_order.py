"""Order of hits by date and by vector, copies as one hit, and explanations of hits."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from news_assets.ports.search_index import SearchIndex, SearchMode, SearchQuery
from news_assets_tests.clients.search.contract.examples import document, found, ids


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "vector"])
def test_sorted_by_date_the_newest_is_first_on_every_page(
    index: SearchIndex, mode: SearchMode
) -> None:
    index.upsert(
        [
            document(n, "vacina " * (n % 3 + 1), vector=(1.0, n / 10))
            for n in range(1, 26)
        ]
    )
    index.upsert(
        [
            document(n, "estrada", vector=(-1.0, 0.1), day=date(2026, 3, 1))
            for n in range(30, 130)
        ]
    )

    def page(offset: int) -> list[str]:
        query = SearchQuery(
            text="vacina",
            mode=mode,
            vector=(1.0, 0.2),
            to_day=date(2026, 2, 1),
            sort="date",
        )
        return ids(index.search(replace(query, offset=offset)))

    assert [one for offset in (0, 10, 20) for one in page(offset)] == [
        f"mec-{n}" for n in range(25, 0, -1)
    ]


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
            document(
                1,
                "Campanha",
                "Vacinas nas escolas",
                keywords=("vacinação",),
                vector=(1.0, 0.0),
            ),
            document(
                2, "Obras", "A campanha de obras", summary="campanha", vector=(0.6, 0.8)
            ),
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
    assert [round(one.similarity or 0, 2) for one in (first, second, third)] == [
        1.0,
        0.6,
        0.8,
    ]
    assert third.keyword_score is None
    assert {
        hit.explanation for hit in index.search(replace(query, explain=False)).hits
    } == {None}


def test_the_explanation_of_an_original_has_the_ranks_of_its_best_copy(
    index: SearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "Nota", "uma vacina"),
            document(2, "Vacina", "vacina", duplicate_of="mec-1"),
        ]
    )
    (hit,) = index.search(SearchQuery(text="vacina", mode="keyword", explain=True)).hits
    assert hit.explanation is not None
    assert (
        hit.article_id,
        hit.explanation.keyword_rank,
        hit.explanation.vector_rank,
    ) == ("mec-1", 1, None)
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
    assert (set(ids(answer)), answer.found, answer.facets["agency"]) == (
        {"mec-2", "mec-3"},
        2,
        {"mec": 2},
    )
    index.delete(["mec-2"])
    assert set(found(index, "vacina")) == {"mec-1", "mec-3"}


def test_the_nearest_vectors_are_first_and_documents_without_one_are_found_by_words(
    index: SearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "vacina", vector=(1.0, 0.0, 0.0)),
            document(2, "estrada", vector=(0.8, 0.6, 0.0)),
            document(3, "campanha de vacina"),
        ]
    )
    near = index.search(SearchQuery(text="", mode="vector", vector=(0.0, 2.0, 0.0)))
    assert (ids(near), [round(hit.score, 2) for hit in near.hits]) == (
        ["mec-2", "mec-1"],
        [0.6, 0.0],
    )
    assert set(
        ids(index.search(SearchQuery(text="vacina", vector=(0.8, 0.6, 0.0))))
    ) == {"mec-1", "mec-2", "mec-3"}


def test_a_hit_says_when_it_was_published(index: SearchIndex) -> None:
    at = datetime(2026, 1, 2, 1, 30, tzinfo=UTC)
    index.upsert([replace(document(1, "vacina"), published_ts=int(at.timestamp()))])
    [hit] = index.search(SearchQuery(text="vacina", mode="keyword")).hits
    assert hit.published_at == at
