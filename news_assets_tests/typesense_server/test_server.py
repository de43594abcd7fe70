"""The simulated server over HTTP: faults, log, keys, and quirks that clients have to
handle.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import typesense

from news_assets_tests.typesense_server import Request, TestServer, running
from news_assets_tests.typesense_server.description import DESCRIPTION

KEY = "k"
FIELDS = [
    {"name": "title", "type": "string"},
    {"name": "agency", "type": "string", "facet": True},
    {"name": "year", "type": "int32"},
    {"name": "vector", "type": "float[]", "num_dim": 2, "optional": True},
]
CLIENT_WARNS = pytest.mark.filterwarnings(
    "ignore:Sync.* is deprecated:DeprecationWarning"
)
NEEDS_DESCRIPTION = pytest.mark.skipif(
    not DESCRIPTION.exists(), reason="the description is not beside the repository"
)


@pytest.fixture
def server() -> Iterator[TestServer]:
    with running(admin_key=KEY) as running_server:
        yield running_server


@pytest.fixture
def http(server: TestServer) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=server.url, headers={"X-TYPESENSE-API-KEY": KEY}, timeout=5
    ) as client:
        client.post(
            "/collections",
            json={"name": "docs", "fields": FIELDS, "default_sorting_field": "year"},
        )
        yield client


def document(number: int, **given: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "title": f"aula {number}",
        "agency": "mec",
        "year": 2000 + number,
    } | given


def imported(
    http: httpx.Client, *documents: dict[str, Any], **params: str
) -> list[dict[str, Any]]:
    lines = "\n".join(json.dumps(one) for one in documents)
    answer = http.post(
        "/collections/docs/documents/import",
        params={"action": "upsert"} | params,
        content=lines,
    )
    return [json.loads(line) for line in answer.text.split("\n")]


def search(http: httpx.Client, **params: Any) -> dict[str, Any]:
    searches = [{"collection": "docs", "q": "*"} | params]
    result: dict[str, Any] = http.post(
        "/multi_search", json={"searches": searches}
    ).json()["results"][0]
    return result


def ids(result: dict[str, Any]) -> list[str]:
    return [hit["document"]["id"] for hit in result["hits"]]


@contextmanager
def official_client(url: str) -> Iterator[typesense.Client]:
    client = typesense.Client(
        {"api_key": KEY, "nodes": [url], "connection_timeout_seconds": 5}
    )
    try:
        yield client
    finally:
        client.api_call.close()


def test_an_invalid_line_of_an_import_is_an_error_of_this_line(
    http: httpx.Client,
) -> None:
    assert imported(http, document(1), document(2, year="x"), document(3)) == [
        {"success": True},
        {"code": 400, "error": "Field `year` must be an int32.", "success": False},
        {"success": True},
    ]


def test_a_dropped_vector_stays_searchable(http: httpx.Client) -> None:
    imported(http, document(1, vector=[1, 0]))
    imported(http, document(1))
    result = search(http, vector_query="vector:([1,0],k:2)")
    assert [
        (hit["document"]["id"], hit["vector_distance"]) for hit in result["hits"]
    ] == [("1", 0.0)]


def test_a_stale_vector_of_a_deleted_document_still_uses_one_of_the_k_results(
    http: httpx.Client,
) -> None:
    imported(http, document(1, vector=[1, 0]), document(2, vector=[0, 1]))
    imported(http, document(1))
    http.delete("/collections/docs/documents/1")
    result = search(http, vector_query="vector:([1,0],k:1)")
    assert (result["found"], ids(result)) == (1, [])


def test_a_document_deleted_with_its_vector_leaves_nothing(http: httpx.Client) -> None:
    imported(http, document(1, vector=[1, 0]), document(2, vector=[0, 1]))
    http.delete("/collections/docs/documents/1")
    assert ids(search(http, vector_query="vector:([1,0],k:1)")) == ["2"]


def test_a_vector_of_a_wrong_length_is_rejected_with_q_star_and_not_in_a_hybrid_search(
    http: httpx.Client,
) -> None:
    imported(http, document(1, vector=[1, 0]))
    vector = "vector:([1,0,0],k:1)"
    assert search(http, vector_query=vector) == {
        "code": 400,
        "error": "Query field `vector` must have 2 dimensions.",
    }
    assert ids(search(http, q="aula", query_by="title", vector_query=vector)) == ["1"]


def test_a_hybrid_search_is_the_union_of_both(http: httpx.Client) -> None:
    imported(
        http,
        document(1, title="escola"),
        document(2, vector=[1, 0]),
        document(3, vector=[0, 1]),
    )
    result = search(
        http, q="escola", query_by="title", vector_query="vector:([1,0],k:1)"
    )
    scores = [hit["hybrid_search_info"]["rank_fusion_score"] for hit in result["hits"]]
    assert (ids(result), scores) == (
        ["1", "2"],
        [pytest.approx(0.7), pytest.approx(0.3)],
    )


def test_deleting_a_collection_by_its_alias_leaves_the_alias(
    http: httpx.Client,
) -> None:
    http.put("/aliases/now", json={"collection_name": "docs"})
    http.delete("/collections/now")
    assert http.get("/collections/docs").status_code == 404
    assert http.get("/aliases/now").json() == {"collection_name": "docs", "name": "now"}


@CLIENT_WARNS
def test_the_official_client_finds_what_it_imported(
    server: TestServer, http: httpx.Client
) -> None:
    with official_client(server.url) as client:
        documents = client.collections["docs"].documents
        documents.import_([document(1), document(2)], {"action": "upsert"})
        found = documents.search({"q": "aula", "query_by": "title"})
    assert [hit["document"] for hit in found["hits"]] == [document(2), document(1)]


@CLIENT_WARNS
def test_a_scoped_key_cannot_be_escaped_with_or(
    server: TestServer, http: httpx.Client
) -> None:
    imported(http, document(1), document(2, agency="mj"))
    given = {
        "description": "s",
        "actions": ["documents:search"],
        "collections": ["docs"],
    }
    parent = http.post("/keys", json=given).json()["value"]
    with official_client("http://127.0.0.1:1") as client:
        scoped = client.keys.generate_scoped_search_key(
            parent, {"filter_by": "agency:=mec"}
        )
    answer = http.get(
        "/collections/docs/documents/search",
        params={"q": "*", "filter_by": "year:>0 || agency:=mj"},
        headers={
            "X-TYPESENSE-API-KEY": scoped.decode()
            if isinstance(scoped, bytes)
            else scoped
        },
    )
    assert ids(answer.json()) == ["1"]


def test_a_key_for_a_collection_does_not_allow_its_alias(http: httpx.Client) -> None:
    http.put("/aliases/now", json={"collection_name": "docs"})
    given = {
        "description": "s",
        "actions": ["documents:search"],
        "collections": ["docs"],
    }
    headers = {"X-TYPESENSE-API-KEY": http.post("/keys", json=given).json()["value"]}
    paths = [f"/collections/{name}/documents/search?q=*" for name in ("docs", "now")]
    assert [http.get(path, headers=headers).status_code for path in paths] == [200, 401]


def test_writes_through_an_alias_are_lost_by_a_restart_and_those_to_the_collection_are_not() -> (
    None
):
    headers = {"X-TYPESENSE-API-KEY": KEY}
    with (
        running(admin_key=KEY, keeps_log=True) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=5) as http,
    ):
        http.post("/collections", json={"name": "docs", "fields": FIELDS})
        http.put("/aliases/now", json={"collection_name": "docs"})
        for name, number in (("docs", 1), ("docs", 2), ("now", 3)):
            http.post(
                f"/collections/{name}/documents", json=document(number)
            ).raise_for_status()
        http.delete("/collections/now/documents/1").raise_for_status()
        assert sorted(ids(search(http))) == ["2", "3"]
        server.restart()
        assert sorted(ids(search(http, collection="now"))) == ["1", "2"]


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({}, ["1"]),
        ({"pinned_hits": "2:1"}, ["2", "1"]),
        ({"pinned_hits": "2:1", "filter_curated_hits": True}, ["1"]),
        ({"hidden_hits": "1"}, []),
        ({"curation_tags": "promoted"}, ["1", "2"]),
        ({"curation_tags": "promoted", "filter_curated_hits": True}, ["1"]),
        ({"curation_tags": "promoted", "enable_curations": False}, ["1"]),
        ({"preset": "pins"}, ["2", "1"]),
        ({"preset": "pins", "pinned_hits": "1:1"}, ["1"]),
        ({"preset": "mj"}, []),
    ],
)
def test_pinned_hits_pass_the_filter_only_with_filter_curated_hits(
    http: httpx.Client, params: dict[str, Any], found: list[str]
) -> None:
    imported(http, document(1), document(2, agency="mj"))
    item = {
        "id": "i",
        "rule": {"tags": ["promoted"]},
        "includes": [{"id": "2", "position": 2}],
    }
    http.put("/curation_sets/c", json={"items": [item]}).raise_for_status()
    http.patch("/collections/docs", json={"curation_sets": ["c"]}).raise_for_status()
    http.put("/presets/pins", json={"value": {"pinned_hits": "2:1"}}).raise_for_status()
    http.put(
        "/presets/mj", json={"value": {"filter_by": "agency:=mj"}}
    ).raise_for_status()
    assert ids(search(http, filter_by="agency:=mec", **params)) == found


def test_a_chunked_body_is_read_completely(http: httpx.Client) -> None:
    lines = (json.dumps(document(number)).encode() + b"\n" for number in range(3))
    answer = http.post("/collections/docs/documents/import", content=lines)
    assert answer.text.count("true") == 3


def test_a_server_that_is_not_ready_responds_with_503(
    server: TestServer, http: httpx.Client
) -> None:
    server.faults.is_not_ready = True
    answer = http.get("/collections/docs/documents/search", params={"q": "*"})
    assert (answer.status_code, answer.json()) == (
        503,
        {"message": "Not Ready or Lagging"},
    )
    assert (http.get("/health").status_code, http.get("/health").json()) == (
        503,
        {"ok": False},
    )


def test_a_full_disk_rejects_writes_other_than_deletes(
    server: TestServer, http: httpx.Client
) -> None:
    imported(http, document(1))
    server.faults.out_of = "OUT_OF_DISK"
    answer = http.post("/collections/docs/documents", json=document(2))
    message = "Rejecting write: running out of resource type: OUT_OF_DISK"
    assert (answer.status_code, answer.json()) == (422, {"message": message})
    assert (
        http.get("/collections/docs/documents/search", params={"q": "*"}).status_code
        == 200
    )
    assert http.delete("/collections/docs/documents/1").status_code == 200


def test_a_read_only_server_refuses_every_write(
    server: TestServer, http: httpx.Client
) -> None:
    server.faults.is_read_only = True
    answer = http.delete("/collections/docs")
    assert (answer.status_code, answer.json()) == (422, {"message": "Skipping writes."})


def test_a_dropped_connection_gets_no_response_and_the_next_one_does(
    server: TestServer, http: httpx.Client
) -> None:
    server.faults.drops_connections = 1
    with pytest.raises(httpx.RemoteProtocolError):
        http.get("/health")
    assert http.get("/health").json() == {"ok": True}


def test_a_server_that_is_down_refuses_connections_and_keeps_its_data(
    server: TestServer, http: httpx.Client
) -> None:
    imported(http, document(1))
    with server.down(), pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/health")
    assert ids(search(http)) == ["1"]


def test_a_flat_search_finds_all_documents_that_match_a_filter(
    http: httpx.Client,
) -> None:
    imported(http, document(1, vector=[1, 0]), document(2, vector=[0, 1]))
    found = [
        search(http, filter_by="year:>0", vector_query=f"vector:([1,0],k:1{more})")[
            "found"
        ]
        for more in ("", ",flat_search_cutoff:10")
    ]
    assert found == [1, 2]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/collections/docs", b"[1]"),
        ("PATCH", "/collections/docs", b'{"fields": [1]}'),
        ("POST", "/collections", b'{"name": "x", "fields": {"a": 1}}'),
        ("POST", "/collections/docs/documents", b"\xff"),
        ("POST", "/multi_search", b'{"searches": [1]}'),
        ("POST", "/keys", b"[]"),
        ("PUT", "/aliases/x", b"1"),
    ],
)
def test_a_body_of_a_wrong_type_is_rejected(
    http: httpx.Client, method: str, path: str, body: bytes
) -> None:
    assert http.request(method, path, content=body).status_code == 400


@pytest.mark.parametrize(
    "query",
    ["vector:([1,0],k:x)", "vector:([1,0],alpha:y)", "vector", "", "vector:([1,0]"],
)
def test_a_malformed_vector_query_is_rejected(http: httpx.Client, query: str) -> None:
    assert search(http, vector_query=query).get("code", 200) == (
        200 if not query else 400
    )


def test_a_slow_server_delays_its_responses(
    server: TestServer, http: httpx.Client
) -> None:
    server.faults.delay_s = 0.1
    with pytest.raises(httpx.ReadTimeout):
        http.get("/health", timeout=0.01)


def test_lines_can_be_rejected_by_id(server: TestServer, http: httpx.Client) -> None:
    server.faults.refused_ids["2"] = "no"
    answers = imported(http, document(1), document(2), return_id="true")
    refused = {"code": 400, "error": "no", "id": "2", "success": False}
    assert answers == [{"id": "1", "success": True}, refused]


def test_requests_are_logged_in_order(server: TestServer, http: httpx.Client) -> None:
    path = "/collections/docs/documents/import"
    http.post(path, params={"action": "upsert"}, content=json.dumps(document(1)))
    http.get("/health")
    size = len(json.dumps(document(1)))
    assert server.requests[1:] == [
        Request("POST", path, {"action": "upsert"}, size, 200, "upsert"),
        Request("GET", "/health", {}, 0, 200),
    ]


def test_a_key_id_that_is_not_a_number_gets_no_response(http: httpx.Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        http.get("/keys/abc", timeout=0.2)


@NEEDS_DESCRIPTION
def test_requests_as_described_are_no_violations(
    server: TestServer, http: httpx.Client
) -> None:
    imported(http, document(1))
    search(
        http, q="aula", query_by="title", per_page=5, facet_by="agency", prefix="false"
    )
    http.patch("/collections/docs", json={"fields": [{"name": "agency", "drop": True}]})
    assert server.violations == []


@NEEDS_DESCRIPTION
def test_a_strict_server_raises_at_the_end_for_violations() -> None:
    with (
        pytest.raises(AssertionError, match="no such route"),
        running(admin_key=KEY, is_strict=True) as strict,
    ):
        httpx.get(f"{strict.url}/nope")


@NEEDS_DESCRIPTION
def test_requests_not_as_described_are_violations(
    server: TestServer, http: httpx.Client
) -> None:
    search(http, querry_by="title")
    http.get(
        "/collections/docs/documents/search", params={"q": "*", "per_page": "many"}
    )
    http.get("/nope")
    assert server.violations == [
        "POST /multi_search: body at $.searches[0]: Additional properties are not allowed ('querry_by' was unexpected)",
        "GET /collections/{collectionName}/documents/search: parameter 'per_page': 'many' is not of type 'integer'",
        "GET /nope: no such route",
    ]
