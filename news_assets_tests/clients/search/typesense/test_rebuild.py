"""A new index beside the old one: searches never see it half built, and an interrupted one goes on."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from news_assets.clients.search.typesense.index import TypesenseSearchIndex
from news_assets.errors import IndexingError
from news_assets.ports import SearchQuery
from news_assets_tests.clients.search.typesense.samples import VECTOR, address_of, document, opened
from news_assets_tests.typesense_server import TestServer, running

NOW = datetime(2026, 2, 1, 10, 20, 30, tzinfo=UTC)
NEW = "news_articles_20260201102030"


@pytest.fixture
def server() -> Iterator[TestServer]:
    with running(is_strict=True) as started:
        yield started


@pytest.fixture
def index(server: TestServer) -> Iterator[TypesenseSearchIndex]:
    with opened(server) as index:
        yield index


def ids(index: TypesenseSearchIndex) -> list[str]:
    return [hit.article_id for hit in index.search(SearchQuery(text="vacina", mode="keyword")).hits]


def test_searches_go_to_the_old_index_until_the_new_one_is_whole(
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
        ({"mec-1": "hash-1", "mec-2": "hash-2", "mec-3": "hash-3"}, r"1 missing of govbr \(mec-3\)"),
        ({"mec-1": "hash-1"}, r"1 not expected of govbr \(mec-2\)"),
        ({"mec-1": "hash-1", "mec-2": "other"}, r"1 in another state of govbr \(mec-2\)"),
    ],
)
def test_the_alias_stays_where_the_new_index_is_not_as_expected(
    server: TestServer, index: TypesenseSearchIndex, expected: dict[str, str], reason: str
) -> None:
    before = server.store.aliases["news_articles"]
    rebuild = index.begin_rebuild(None, None, NOW)
    rebuild.upsert([document(1), document(2)])
    with pytest.raises(IndexingError, match=f"{NEW} is not complete: {reason}"):
        rebuild.swap({"govbr": expected})
    assert server.store.aliases["news_articles"] == before


def test_documents_of_a_desk_that_is_not_expected_stop_the_swap(index: TypesenseSearchIndex) -> None:
    rebuild = index.begin_rebuild(None, None, NOW)
    rebuild.upsert([document(1), document(2, desk="world")])
    with pytest.raises(IndexingError, match="2 documents there, 1 expected"):
        rebuild.swap({"govbr": {"mec-1": "hash-1"}})


def test_an_interrupted_rebuild_goes_on_with_what_it_lacks(server: TestServer, index: TypesenseSearchIndex) -> None:
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
def test_a_rebuild_for_another_model_is_not_gone_on_with_and_is_removed_in_the_end(
    server: TestServer, index: TypesenseSearchIndex, dim: int, model: str
) -> None:
    index.begin_rebuild(3, "model", NOW)
    later = datetime(2026, 2, 2, tzinfo=UTC)
    rebuild = index.begin_rebuild(dim, model, later)
    assert rebuild.name == "news_articles_20260202000000"
    server.store.create({"name": "news_articles_of_others", "fields": [{"name": "a", "type": "string"}]})
    rebuild.swap({})
    assert set(server.store.collections) == {rebuild.name, "news_articles_of_others"}


def test_a_finished_index_that_was_kept_is_no_unfinished_rebuild(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    first = index.begin_rebuild(3, "model", NOW)
    first.swap({})
    second = index.begin_rebuild(3, "model", datetime(2026, 2, 2, tzinfo=UTC))
    second.swap({}, keeps_old=True)
    assert set(server.store.collections) == {first.name, second.name}
    third = index.begin_rebuild(3, "model", datetime(2026, 2, 3, tzinfo=UTC))
    assert third.name == "news_articles_20260203000000"


def test_a_document_sent_twice_leaves_no_stale_vector(index: TypesenseSearchIndex) -> None:
    rebuild = index.begin_rebuild(3, "model", NOW)
    rebuild.upsert([document(1, vector=VECTOR)])
    rebuild.upsert([document(1, document_hash="new")])
    rebuild.swap({"govbr": {"mec-1": "new"}})
    assert index.search(SearchQuery(text="", mode="vector", vector=VECTOR)).hits == ()


def test_an_alias_that_points_at_nothing_is_mended_by_a_rebuild(server: TestServer) -> None:
    with opened(server):
        pass
    server.store.collections.clear()
    with TypesenseSearchIndex.connect(address_of(server), server.admin_key) as broken:
        rebuild = broken.begin_rebuild(None, None, NOW)
        rebuild.upsert([document(1)])
        rebuild.swap({"govbr": {"mec-1": "hash-1"}})
    with opened(server) as index:
        assert index.count() == 1


def test_an_outage_during_a_rebuild_loses_nothing(server: TestServer, index: TypesenseSearchIndex) -> None:
    rebuild = index.begin_rebuild(None, None, NOW)
    server.faults.drops_connections = 1
    with pytest.raises(IndexingError):
        rebuild.upsert([document(1)])
    rebuild.upsert([document(1)])
    rebuild.swap({"govbr": {"mec-1": "hash-1"}})
    assert ids(index) == ["mec-1"]
