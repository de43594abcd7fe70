"""Search keys: no parameter of a request shows documents of other desks, or vectors."""

from datetime import UTC, datetime

import httpx
import pytest

from news_assets.clients.search.typesense.search_requests import desk_filter
from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets_tests.clients.search.typesense.samples import SECRET, VECTOR, document
from news_assets_tests.typesense_server import TestServer


def searched(server: TestServer, key: str, **params: str) -> list[httpx.Response]:
    """The same search by GET, in the body of a multi_search, and in its query string,
    which replaces the body.
    """
    headers = {"X-TYPESENSE-API-KEY": key}
    path, common = (
        f"{server.url}/collections/news_articles/documents/search",
        {"q": "*"},
    )
    searches = [
        {"collection": "news_articles"} | common | given for given in (params, {})
    ]
    responses = [
        httpx.get(path, params=common | params, headers=headers),
        httpx.post(
            f"{server.url}/multi_search",
            json={"searches": searches[:1]},
            headers=headers,
        ),
        httpx.post(
            f"{server.url}/multi_search",
            json={"searches": searches[1:]},
            params=params,
            headers=headers,
        ),
    ]
    # numbers and booleans are sent as text here, which the server accepts
    server.violations.clear()
    return responses


def documents_in(response: httpx.Response) -> list[dict[str, object]]:
    body = response.json()
    (result,) = body.get("results", [body])
    groups = result.get("grouped_hits", [result])
    return [hit["document"] for group in groups for hit in group["hits"]]


# What a reader may add to a search to see more than the key is for.
WIDENING = {
    "nothing": {},
    "filter_by": {"filter_by": "desk:=world || desk:=govbr"},
    "pinned_hits": {"pinned_hits": "mec-2:1,mec-1:2"},
    "filter_curated_hits": {"pinned_hits": "mec-2:1", "filter_curated_hits": "false"},
    "hidden_hits": {"hidden_hits": "mec-9"},
    "curation_tags": {"curation_tags": "promoted"},
    "preset": {"preset": "wide"},
    "include_fields": {"include_fields": "*,vector"},
    "exclude_fields": {"exclude_fields": "title"},
    "group_by": {"group_by": "desk", "group_limit": "99"},
    "group_by and pinned_hits": {"group_by": "desk", "pinned_hits": "mec-2:1"},
    "use_cache": {"use_cache": "true"},
    "vector_query": {"vector_query": "vector:([1,0,0],k:10)"},
    "vector_query and pinned_hits": {
        "vector_query": "vector:([1,0,0],k:10)",
        "pinned_hits": "mec-2:1",
    },
}


@pytest.fixture
def two_desks(server: TestServer, index: TypesenseSearchIndex) -> TypesenseSearchIndex:
    index.upsert([document(1, vector=VECTOR), document(2, desk="world", vector=VECTOR)])
    call = index.connection.call
    item = {
        "id": "i",
        "rule": {"tags": ["promoted"]},
        "includes": [{"id": "mec-2", "position": 1}],
    }
    call("put", "/curation_sets/promoted", {"items": [item]})
    call(
        "patch",
        f"/collections/{server.store.aliases['news_articles']}",
        {"curation_sets": ["promoted"]},
    )
    wide = {
        "pinned_hits": "mec-2:1",
        "include_fields": "vector",
        "filter_by": "day:>0",
        "filter_curated_hits": False,
    }
    call("put", "/presets/wide", {"value": wide})
    return index


@pytest.mark.parametrize("name", WIDENING)
def test_no_parameter_widens_the_search_of_a_key(
    server: TestServer, two_desks: TypesenseSearchIndex, name: str
) -> None:
    key = two_desks.search_key(
        "govbr", datetime(2100, 1, 1, tzinfo=UTC), "for a reader"
    )
    for response in searched(server, key, **WIDENING[name]):
        found = documents_in(response)
        assert {str(one.get("id", "mec-1")) for one in found} == {"mec-1"}, (
            response.text
        )
        assert all("vector" not in one for one in found)


@pytest.mark.parametrize(
    "name", ["pinned_hits", "curation_tags", "preset", "group_by and pinned_hits"]
)
def test_a_filter_alone_does_not_scope_a_key(
    server: TestServer, two_desks: TypesenseSearchIndex, name: str
) -> None:
    given = {
        "actions": ["documents:search"],
        "collections": ["news_articles"],
        "description": "",
    }
    parent = two_desks.connection.call("post", "/keys", given)["value"]
    key = two_desks.connection.scoped_key(parent, {"filter_by": desk_filter("govbr")})
    assert len(documents_in(searched(server, key, **WIDENING[name])[0])) == 2


def test_one_search_of_another_collection_fails_all_of_a_key(
    server: TestServer, two_desks: TypesenseSearchIndex
) -> None:
    key = two_desks.search_key(
        "govbr", datetime(2100, 1, 1, tzinfo=UTC), "for a reader"
    )
    target = server.store.aliases["news_articles"]
    searches = [{"collection": name, "q": "*"} for name in ("news_articles", target)]
    headers = {"X-TYPESENSE-API-KEY": key}
    answers = [
        httpx.post(
            f"{server.url}/multi_search", json={"searches": some}, headers=headers
        )
        for some in (searches, searches[:1])
    ]
    assert [one.status_code for one in answers] == [401, 200]
    union = httpx.post(
        f"{server.url}/multi_search",
        json={"searches": searches[:1] * 2, "union": True},
        headers=headers,
    )
    assert {hit["document"]["id"] for hit in union.json()["hits"]} == {"mec-1"}


def test_a_search_key_ends_at_its_expiry_and_only_searches(
    server: TestServer, index: TypesenseSearchIndex
) -> None:
    key = index.search_key("govbr", datetime(2100, 1, 1, tzinfo=UTC), "for a reader")
    past = index.search_key("govbr", datetime(2020, 1, 1, tzinfo=UTC), "too late")
    assert [one.status_code for one in searched(server, past)] == [401, 401, 401]
    assert SECRET not in key
    listed = httpx.get(
        f"{server.url}/collections", headers={"X-TYPESENSE-API-KEY": key}
    )
    assert listed.status_code == 401
