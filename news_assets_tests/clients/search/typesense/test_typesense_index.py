"""The Typesense backend beyond the contract: partial updates, stale vectors, outages,
compatibility checks.
"""

import traceback
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from news_assets.clients.search.typesense.collection import (
    metadata_of,
    read_collection,
    write_metadata,
)
from news_assets.clients.search.typesense.documents import fields_of
from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchQuery
from news_assets_tests.clients.search.typesense.samples import (
    SECRET,
    VECTOR,
    address_of,
    document,
    opened,
)
from news_assets_tests.support.search_backends import hashes
from news_assets_tests.typesense_server import TestServer, running

METADATA = {"metadata": metadata_of(None, None, ("pt", "en"))}


def sent(server: TestServer) -> list[tuple[str, str]]:
    """The write requests: method or action, and the last part of the path."""
    return [
        (one.action or one.method, one.path.rsplit("/", 1)[1])
        for one in server.requests
        if one.path.endswith(("/import", "/documents"))
    ]


def stored_document(server: TestServer, article_id: str) -> dict[str, object]:
    (collection,) = server.store.collections.values()
    return dict(collection.one(article_id))


# --- writes ---------------------------------------------------------------------------


def test_a_document_stored_with_the_same_hash_is_not_sent_again(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    index.upsert([document(1), document(2)])
    server.requests.clear()
    assert index.upsert([document(1), document(2)]) == {}
    assert sent(server) == []


def test_a_changed_text_keeps_the_vector_and_erases_empty_fields(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    index.upsert([document(1, vector=VECTOR, summary="Resumo", theme_path=("01",))])
    server.requests.clear()
    index.upsert([document(1, "Outro", vector=VECTOR, document_hash="new")])
    assert sent(server) == [("update", "import")]
    stored = stored_document(server, "mec-1")
    assert (stored["title"], stored["vector"], stored.get("summary"), stored.get("theme_path")) == (
        "Outro", [1.0, 0.0, 0.0], None, None
    )  # fmt: skip


@pytest.mark.parametrize("vector", [(0.0, 1.0, 0.0), None])
def test_a_replaced_or_removed_vector_is_no_longer_found(
    server: TestServer, index: TypesenseSearchIndex, vector: tuple[float, ...] | None
) -> None:
    index.upsert([document(1, vector=VECTOR), document(2, vector=(0.0, 0.0, 1.0))])
    server.requests.clear()
    index.upsert([document(1, vector=vector, document_hash="new")])
    assert sent(server) == [("DELETE", "documents"), ("upsert", "import")]
    answer = index.search(SearchQuery(text="", mode="vector", vector=VECTOR))
    assert [round(hit.score, 2) for hit in answer.hits] == [0.0] * (2 if vector else 1)


def test_the_vector_field_is_added_with_the_first_vector(
    index: TypesenseSearchIndex,
) -> None:
    index.upsert([document(1)])
    assert index.vector_dim() is None
    assert index.search(SearchQuery(text="", mode="vector", vector=VECTOR)).hits == ()
    index.upsert([document(2, vector=VECTOR)])
    assert index.vector_dim() == 3


def test_a_refused_document_has_a_reason_and_the_others_are_stored(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    server.faults.refused_ids["mec-2"] = "Field `day` must be an int32."
    assert index.upsert([document(1), document(2), document(3)]) == {
        "mec-2": "Field `day` must be an int32."
    }
    assert hashes(index, "govbr") == {"mec-1": "hash-1", "mec-3": "hash-3"}
    server.faults.refused_ids.clear()
    assert index.upsert([document(1), document(2), document(3)]) == {}
    assert index.count() == 3


def test_documents_of_more_than_one_batch_are_all_stored(
    index: TypesenseSearchIndex,
) -> None:
    assert index.upsert([document(n) for n in range(1, 1_205)]) == {}
    assert index.count() == 1_204
    index.delete([f"mec-{n}" for n in range(1, 1_201)])
    assert index.count() == 4


def test_ids_with_special_characters_are_stored_found_and_deleted(
    index: TypesenseSearchIndex,
) -> None:
    signs = ["a/b c", "a,b", "a && b", "[x]", 'a"b', "á%20"]
    documents = [
        document(n, article_id=article_id) for n, article_id in enumerate(signs)
    ]
    assert (index.upsert(documents), index.upsert(documents)) == ({}, {})
    assert set(hashes(index, "govbr")) == set(signs)
    index.delete(signs)
    assert index.count() == 0


def test_filters_match_keys_exactly_and_accept_any_text(
    index: TypesenseSearchIndex,
) -> None:
    index.upsert(
        [
            document(1, agency="a-b"),
            document(2, desk="gov-br"),
            document(3, desk="GOVBR"),
        ]
    )
    assert set(hashes(index, "govbr")) == {"mec-1"}
    for text in ("", "`", "a && b", "||", ")", "[", "é", "a:b"):
        assert index.search(SearchQuery(text="", agency=text)).found == 0
        assert index.search(SearchQuery(text="", language=text)).found == 0


def test_a_page_of_copies_is_filled_from_deeper_hits(
    index: TypesenseSearchIndex,
) -> None:
    copies = [document(n, text_hash="one text") for n in range(300, 450)]
    index.upsert([*copies, *[document(n, text_hash=str(n)) for n in range(1, 9)]])
    for mode in ("keyword", "hybrid"):
        answer = index.search(SearchQuery(text="vacina", mode=mode, limit=5))
        assert [hit.article_id for hit in answer.hits] == [
            "mec-300",
            "mec-8",
            "mec-7",
            "mec-6",
            "mec-5",
        ]
        assert answer.found == 9


def test_copies_are_one_hit_of_a_vector_search_and_count_once(
    index: TypesenseSearchIndex,
) -> None:
    index.upsert(
        [
            document(1, "Nota", vector=VECTOR, text_hash="same"),
            document(2, "Vacina", vector=VECTOR, text_hash="same"),
            document(3, "Vacina", vector=(0.9, 0.1, 0.0), duplicate_of="mec-1"),
            document(4, "Vacina", vector=(0.0, 1.0, 0.0)),
        ]
    )
    for mode in ("vector", "hybrid"):
        answer = index.search(SearchQuery(text="vacina", mode=mode, vector=VECTOR))
        assert ([hit.article_id for hit in answer.hits], answer.found) == (
            ["mec-1", "mec-4"],
            2,
        )


def test_duplicates_join_their_original_in_any_order(
    index: TypesenseSearchIndex,
) -> None:
    index.upsert([document(2, duplicate_of="mec-1", text_hash="other")])
    index.upsert([document(3, duplicate_of="mec-1")])
    assert index.search(SearchQuery(text="vacina")).found == 1
    index.upsert([document(1, text_hash="first")])
    index.upsert([document(4, duplicate_of="mec-1", text_hash="fourth")])
    answer = index.search(SearchQuery(text="vacina"))
    assert (
        [hit.article_id for hit in answer.hits],
        answer.found,
        answer.facets["agency"],
    ) == (
        ["mec-1"],
        1,
        {"mec": 1},
    )


def test_a_page_may_exceed_the_hits_of_one_search(index: TypesenseSearchIndex) -> None:
    index.upsert([document(n) for n in range(1, 601)])
    answer = index.search(
        SearchQuery(text="vacina", mode="keyword", limit=520, offset=30)
    )
    assert [hit.article_id for hit in answer.hits] == [
        f"mec-{n}" for n in range(570, 50, -1)
    ]
    assert answer.found == 600


# --- outages --------------------------------------------------------------------------


def not_ready(server: TestServer) -> None:
    server.faults.is_not_ready = True


def lagging(server: TestServer) -> None:
    server.faults.is_write_lagging = True


def out_of_disk(server: TestServer) -> None:
    server.faults.out_of = "OUT_OF_DISK"


def read_only(server: TestServer) -> None:
    server.faults.is_read_only = True


def failing(server: TestServer) -> None:
    server.faults.fails_next = 1_000


def dropping(server: TestServer) -> None:
    server.faults.drops_connections = 1_000


def slow(server: TestServer) -> None:
    server.faults.delay_s = 0.6


OUTAGES: dict[str, tuple[Callable[[TestServer], None], str]] = {
    "not ready": (not_ready, "not ready: .*Not Ready or Lagging"),
    "lagging": (lagging, "not ready: .*Not Ready or Lagging"),
    "out of disk": (out_of_disk, "no space to write: .*OUT_OF_DISK.*free some"),
    "read-only": (read_only, "read-only: .*Skipping writes"),
    "failing": (failing, "the server failed: .*Internal Server Error"),
    "dropping": (dropping, "the connection broke"),
    "slow": (slow, "no response in time"),
}


@pytest.mark.parametrize("name", OUTAGES)
def test_an_outage_is_a_transient_error_without_the_key_and_a_retry_succeeds(
    server: TestServer, name: str
) -> None:
    begin, reason = OUTAGES[name]
    with opened(server, search_timeout_s=0.3, write_timeout_s=0.3) as index:
        index.upsert([document(1)])
        begin(server)
        with pytest.raises(IndexingError, match=reason) as caught:
            index.upsert([document(1), document(2)])
        assert caught.value.is_transient
        assert f"typesense at 127.0.0.1:{server.server_port}: " in str(caught.value)
        assert SECRET not in str(caught.value) + repr(caught.value.__cause__)
        server.faults = type(server.faults)()
        assert index.upsert([document(1), document(2)]) == {}
        assert hashes(index, "govbr") == {"mec-1": "hash-1", "mec-2": "hash-2"}


def test_an_unavailable_server_is_named_in_the_error() -> None:
    with running() as server:
        address = address_of(server)
    with pytest.raises(
        IndexingError,
        match=rf"typesense at 127.0.0.1:{server.server_port}: no connection",
    ) as caught:
        TypesenseSearchIndex.open(address, SECRET)
    assert caught.value.is_transient
    assert SECRET not in str(caught.value)


def test_an_interrupted_import_is_continued(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    documents = [document(n) for n in range(1, 1_501)]
    index.upsert(documents[:1_000])
    server.faults.drops_connections = 1
    with pytest.raises(IndexingError):
        index.upsert(documents)
    server.requests.clear()
    assert index.upsert(documents) == {}
    assert (sent(server), index.count()) == ([("upsert", "import")], 1_500)


def test_a_full_disk_within_an_import_is_an_outage_and_not_a_refusal(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    server.faults.refused_ids["mec-2"] = (
        "Rejecting write: running out of resource type: OUT_OF_DISK"
    )
    with pytest.raises(
        IndexingError, match="a write failed: Rejecting write"
    ) as caught:
        index.upsert([document(1), document(2), document(3)])
    assert caught.value.is_transient
    server.faults.refused_ids.clear()
    assert index.upsert([document(1), document(2), document(3)]) == {}
    assert index.count() == 3


@pytest.mark.parametrize("key", ["a-wrong-key-that-must-stay-secret", ""])
def test_a_wrong_key_is_a_permanent_error_that_names_the_setting_and_hides_the_key(
    server: TestServer,
    key: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    with pytest.raises(
        IndexingError, match="refuses the API key; check NEWS_TYPESENSE_API_KEY"
    ) as caught:
        TypesenseSearchIndex.open(address_of(server), key or "x")
    assert not caught.value.is_transient
    shown = "".join(
        (*traceback.format_exception(caught.value), *capfd.readouterr(), caplog.text)
    )
    assert "/collections" in shown  # includes the log of the client's HTTP layer
    assert not key or key not in shown


def test_stored_is_an_error_while_the_server_replays_its_log(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    index.connection.queue_wait_s = 0.0
    server.faults.queued_writes = 12
    with pytest.raises(IndexingError, match="12 writes are waiting") as caught:
        index.stored("govbr")
    assert caught.value.is_transient


# --- compatibility --------------------------------------------------------------------


def test_other_languages_and_another_schema_are_refused_with_both_values(
    server: TestServer,
) -> None:
    reason = r"languages of the stems: this program has de, the index pt\+en; run `news-assets rebuild search`"
    with opened(server) as index:
        with (
            pytest.raises(IndexingError, match=reason),
            opened(server, languages=("de",)),
        ):
            pass
        name = server.store.aliases["news_articles"]
        write_metadata(
            index.connection, read_collection(index.connection, name), schema_version=0
        )
    with (
        pytest.raises(
            IndexingError, match="this program has version 3, the index version 0"
        ),
        opened(server),
    ):
        pass


def test_an_alias_of_a_missing_collection_and_a_collection_of_its_name_are_errors(
    server: TestServer,
) -> None:
    with opened(server):
        pass
    target = server.store.aliases["news_articles"]
    del server.store.collections[target]
    with (
        pytest.raises(
            IndexingError,
            match=f"'news_articles' points at '{target}', which is missing",
        ),
        opened(server),
    ):
        pass
    server.store.create(
        {"name": "news_articles", "fields": [{"name": "a", "type": "string"}]}
    )
    with (
        pytest.raises(IndexingError, match="a collection is named 'news_articles'"),
        opened(server),
    ):
        pass


def test_two_processes_may_create_an_index_at_once(server: TestServer) -> None:
    with opened(server) as one, opened(server) as other:
        one.upsert([document(1)])
        other.upsert([document(2, vector=VECTOR)])
        one.upsert([document(3, vector=VECTOR)])
        assert (one.count(), other.count(), one.vector_dim()) == (3, 3, 3)


def test_missing_fields_are_listed_and_added(server: TestServer) -> None:
    with opened(server) as index:
        index.connection.call(
            "patch",
            f"/collections/{server.store.aliases['news_articles']}",
            {"fields": [{"name": "summary", "drop": True}]},
        )
        assert [str(one) for one in index.schema_changes()] == [
            "summary: expected string optional=True index=False, stored nothing; `news-assets search-fields` adds it"
        ]
        with pytest.raises(IndexingError, match="summary: expected"):
            index.upsert([document(1)])
        index.apply_schema_changes()
        assert (index.schema_changes(), index.upsert([document(1)])) == ([], {})


def test_a_field_of_another_type_needs_a_rebuild(server: TestServer) -> None:
    fields = [
        one | ({"type": "int64"} if one["name"] == "agency_key" else {})
        for one in fields_of(None)
    ]
    server.store.create(
        {"name": "old", "fields": fields, "default_sorting_field": "published_ts"}
        | METADATA
    )
    server.store.put_alias("news_articles", {"collection_name": "old"})
    with (
        opened(server) as index,
        pytest.raises(
            IndexingError, match=r"agency_key: .*needs `news-assets rebuild search`"
        ),
    ):
        index.apply_schema_changes()


def test_a_query_vector_of_the_old_dimensions_is_refused_after_a_swap(
    server: TestServer,
) -> None:
    with opened(server) as reader, opened(server) as other:
        reader.upsert([document(1, vector=VECTOR)])
        rebuild = other.begin_rebuild(2, "new", datetime(2026, 2, 1, tzinfo=UTC))
        rebuild.upsert([document(1, vector=(1.0, 0.0))])
        rebuild.swap({"govbr": {"mec-1": "hash-1"}})
        with pytest.raises(IndexingError, match=r"must have 2 dimensions"):
            reader.search(SearchQuery(text="vacina", vector=VECTOR))
