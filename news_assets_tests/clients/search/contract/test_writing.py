"""Writing: documents are stored once, changed, deleted and listed; a refused one has a
reason.
"""

from datetime import date

import pytest

from news_assets.errors import IndexingError
from news_assets.ports.search_index import FACETS, SearchIndex, SearchQuery
from news_assets.records.reading import AgencyDays
from news_assets_tests.clients.search.contract.examples import document, found
from news_assets_tests.support.search_backends import hashes


def test_an_empty_index_returns_no_hits(index: SearchIndex) -> None:
    answer = index.search(SearchQuery(text="educação", vector=(1.0, 0.0)))
    assert (answer.hits, answer.found, answer.facets) == (
        (),
        0,
        {name: {} for name in FACETS},
    )


def test_a_document_stored_twice_is_one_document(index: SearchIndex) -> None:
    one = document(1, "Eleições")
    assert (index.upsert([one]), index.upsert([one]), index.upsert([one, one])) == (
        {},
        {},
        {},
    )
    assert (index.count(), hashes(index, "govbr"), hashes(index, "other")) == (
        1,
        {"mec-1": "hash-1"},
        {},
    )


def test_a_document_with_the_stored_hash_is_not_written_again(
    index: SearchIndex,
) -> None:
    index.upsert([document(1, "vacinas")])
    index.upsert([document(1, "estradas")])
    assert (found(index, "vacinas"), found(index, "estradas")) == (["mec-1"], [])
    index.upsert(
        [
            document(1, "estradas", document_hash="a"),
            document(1, "pontes", document_hash="b"),
        ]
    )
    assert (found(index, "pontes"), hashes(index, "govbr")) == (
        ["mec-1"],
        {"mec-1": "b"},
    )


def test_a_changed_document_is_found_by_its_new_words_only(index: SearchIndex) -> None:
    index.upsert([document(1, "vacinas")])
    index.upsert([document(1, "estradas", document_hash="other")])
    assert (found(index, "vacinas"), found(index, "estradas"), index.count()) == (
        [],
        ["mec-1"],
        1,
    )


def test_a_deleted_document_is_not_found_and_unknown_ids_are_ignored(
    index: SearchIndex,
) -> None:
    index.upsert([document(1, "vacinas"), document(2, "vacinas")])
    index.delete(["mec-1", "unknown"])
    index.delete(["mec-1"])
    assert (found(index, "vacinas"), index.count(), hashes(index, "govbr")) == (
        ["mec-2"],
        1,
        {"mec-2": "hash-2"},
    )


def test_stored_documents_are_selected_by_desk_agency_and_day(
    index: SearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "a"),
            document(2, "b"),
            document(30, "c"),
            document(4, "d", agency="mj"),
        ]
    )
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

    assert stored(("mec", date(2026, 1, 3)), ("mj", date(2026, 1, 2))) == [
        "mec-2",
        "mec-30",
    ]
    assert stored(("mec", date(2026, 1, 2)), ("mj", date(2026, 1, 5))) == [
        "mec-1",
        "mec-4",
    ]
    assert stored() == stored(("unknown", date(2026, 1, 3))) == []


def test_a_vector_of_other_dimensions_is_an_error_that_names_both(
    index: SearchIndex,
) -> None:
    index.upsert([document(1, vector=(1.0, 0.0, 0.0))])
    with pytest.raises(IndexingError, match=r"2 dimensions.* 3"):
        index.search(SearchQuery(text="", mode="vector", vector=(1.0, 0.0)))


def test_the_first_model_name_is_kept(index: SearchIndex) -> None:
    assert index.vector_model() is None
    for name in ("one", "another"):
        index.name_model(name)
    index.upsert([document(1, vector=(1.0, 0.0))])
    assert (index.vector_model(), index.vector_dim()) == ("one", 2)
    assert index.search(SearchQuery(text="", mode="keyword")).facets["language"] == {
        "pt-BR": 1
    }


def test_a_refused_document_has_a_reason_and_the_others_are_stored(
    index: SearchIndex,
) -> None:
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
