"""Rebuilds on a Typesense server: searches never see an incomplete index, and
interrupted rebuilds are resumed.
"""

from datetime import UTC, datetime

import pytest

from news_assets.clients.search.typesense.collection import (
    read_collection,
    write_metadata,
)
from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchQuery
from news_assets_tests.clients.search.typesense.samples import (
    VECTOR,
    address_of,
    document,
    opened,
)
from news_assets_tests.typesense_server import TestServer

NOW = datetime(2026, 2, 1, 10, 20, 30, tzinfo=UTC)
NEW = "news_articles_20260201102030"


def ids(index: TypesenseSearchIndex) -> list[str]:
    return [
        hit.article_id
        for hit in index.search(SearchQuery(text="vacina", mode="keyword")).hits
    ]


def test_searches_use_the_old_index_until_the_swap(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    index.upsert([document(1)])
    rebuild = index.begin_rebuild(3, "model", NOW)
    assert rebuild.upsert([document(2, vector=VECTOR), document(3)]) == {}
    assert (ids(index), rebuild.is_resumed) == (["mec-1"], False)
    rebuild.swap({"govbr": {"mec-2": "hash-2", "mec-3": "hash-3"}})
    assert (ids(index), list(server.store.collections)) == (["mec-3", "mec-2"], [NEW])
    assert index.vector_dim() == 3


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        (
            {"mec-1": "hash-1", "mec-2": "hash-2", "mec-3": "hash-3"},
            r"govbr: 1 missing \(mec-3\)",
        ),
        ({"mec-1": "hash-1"}, r"govbr: 1 unexpected \(mec-2\)"),
        ({"mec-1": "hash-1", "mec-2": "other"}, r"govbr: 1 outdated \(mec-2\)"),
    ],
)
def test_the_alias_is_unchanged_if_the_new_index_differs(
    server: TestServer,
    index: TypesenseSearchIndex,
    expected: dict[str, str],
    reason: str,
) -> None:
    before = server.store.aliases["news_articles"]
    rebuild = index.begin_rebuild(None, None, NOW)
    rebuild.upsert([document(1), document(2)])
    with pytest.raises(IndexingError, match=f"{NEW} is incomplete: {reason}"):
        rebuild.swap({"govbr": expected})
    assert server.store.aliases["news_articles"] == before


def test_documents_of_an_unexpected_desk_prevent_the_swap(
    index: TypesenseSearchIndex,
) -> None:
    rebuild = index.begin_rebuild(None, None, NOW)
    rebuild.upsert([document(1), document(2, desk="world")])
    with pytest.raises(IndexingError, match="2 documents stored, 1 expected"):
        rebuild.swap({"govbr": {"mec-1": "hash-1"}})


def test_an_interrupted_rebuild_is_resumed(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    index.begin_rebuild(3, "model", NOW).upsert([document(2, duplicate_of="mec-1")])
    later = datetime(2026, 2, 2, tzinfo=UTC)
    resumed = index.begin_rebuild(3, "model", later)
    assert (resumed.name, resumed.is_resumed) == (NEW, True)
    assert resumed.stored("govbr")["article_id"].to_list() == ["mec-2"]
    resumed.upsert([document(1, text_hash="a")])
    resumed.swap({"govbr": {"mec-1": "hash-1", "mec-2": "hash-2"}})
    assert ids(index) == ["mec-1"]
    assert list(server.store.collections) == [NEW]


@pytest.mark.parametrize(("dim", "model"), [(4, "model"), (3, "other")])
def test_a_rebuild_for_another_model_is_not_resumed_but_dropped_at_the_swap(
    server: TestServer, index: TypesenseSearchIndex, dim: int, model: str
) -> None:
    index.begin_rebuild(3, "model", NOW)
    later = datetime(2026, 2, 2, tzinfo=UTC)
    rebuild = index.begin_rebuild(dim, model, later)
    assert rebuild.name == "news_articles_20260202000000"
    server.store.create(
        {"name": "news_articles_of_others", "fields": [{"name": "a", "type": "string"}]}
    )
    rebuild.swap({})
    assert set(server.store.collections) == {rebuild.name, "news_articles_of_others"}


def test_a_finished_rebuild_is_not_resumed(index: TypesenseSearchIndex) -> None:
    first = index.begin_rebuild(3, "model", NOW)
    state = read_collection(index.connection, first.name)
    # as a swap that ended before it moved the alias
    write_metadata(index.connection, state, is_finished=True)
    assert (
        index.begin_rebuild(3, "model", datetime(2026, 2, 3, tzinfo=UTC)).name
        == "news_articles_20260203000000"
    )


def test_a_document_sent_twice_leaves_no_stale_vector(
    index: TypesenseSearchIndex,
) -> None:
    rebuild = index.begin_rebuild(3, "model", NOW)
    rebuild.upsert([document(1, vector=VECTOR)])
    rebuild.upsert([document(1, document_hash="new")])
    rebuild.swap({"govbr": {"mec-1": "new"}})
    assert index.search(SearchQuery(text="", mode="vector", vector=VECTOR)).hits == ()


def test_a_rebuild_repairs_an_alias_of_a_missing_collection(server: TestServer) -> None:
    with opened(server):
        pass
    server.store.collections.clear()
    with TypesenseSearchIndex.connect(address_of(server), server.admin_key) as broken:
        rebuild = broken.begin_rebuild(None, None, NOW)
        rebuild.upsert([document(1)])
        rebuild.swap({"govbr": {"mec-1": "hash-1"}})
    with opened(server) as index:
        assert index.count() == 1


def test_an_outage_during_a_rebuild_loses_nothing(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    rebuild = index.begin_rebuild(None, None, NOW)
    server.faults.drops_connections = 1
    with pytest.raises(IndexingError):
        rebuild.upsert([document(1)])
    rebuild.upsert([document(1)])
    rebuild.swap({"govbr": {"mec-1": "hash-1"}})
    assert ids(index) == ["mec-1"]
