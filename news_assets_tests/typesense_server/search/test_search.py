"""Searches in a small collection: filters, words, order, facets, groups, pages."""

from typing import Any

import pytest

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.search.filters import passing
from news_assets_tests.typesense_server.search.search import search

FIELDS = [
    {"name": "title", "type": "string"},
    {"name": "text", "type": "string"},
    {"name": "agency", "type": "string", "facet": True},
    {"name": "tags", "type": "string[]", "facet": True, "optional": True},
    {"name": "day", "type": "int64"},
    {"name": "score", "type": "float", "optional": True},
    {"name": "open", "type": "bool", "optional": True},
]
DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "a",
        "title": "Vacinação começa hoje",
        "text": "Postos de saúde abrem",
        "agency": "Saúde",
        "day": 1,
    },
    {
        "id": "b",
        "title": "Postos de saúde",
        "text": "Vacinação nos postos",
        "agency": "Saúde",
        "day": 2,
        "tags": ["x y"],
    },
    {
        "id": "c",
        "title": "Escolas abrem",
        "text": "Aulas nas escolas",
        "agency": "MEC, SEB",
        "day": 3,
        "score": 1.5,
    },
    {
        "id": "d",
        "title": "Escola nova",
        "text": "Aula de ciência",
        "agency": "MEC (RJ)",
        "day": 4,
        "open": True,
    },
]


@pytest.fixture(scope="module")
def collection() -> Collection:
    made = Collection(
        {"name": "news", "fields": FIELDS, "default_sorting_field": "day"}
    )
    for document in DOCUMENTS:
        made.write("create", document)
    return made


def found(collection: Collection, **params: str) -> list[str]:
    hits = search(collection, {"q": "*", "query_by": "title,text"} | params)["hits"]
    return [hit["document"]["id"] for hit in hits]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", "abcd"),
        ("agency:=saude", "ab"),
        ("agency:=mec", ""),
        ("agency:mec", "cd"),
        ("agency:!=saude", "cd"),
        ("agency:sa*", "ab"),
        ("agency:=`MEC, SEB`", "c"),
        ("agency:=[`MEC, SEB`,`MEC (RJ)`]", "cd"),
        ("tags:=x y", "b"),
        ("tags:=x", ""),
        ("tags:x", "b"),
        ("tags:!=x y", "acd"),
        ("day:2", "b"),
        ("day:=[1,3..4]", "acd"),
        ("day:[1..2]", "ab"),
        ("day:>2", "cd"),
        ("day:!=2", "acd"),
        ("score:<2.0", "c"),
        ("score:!=1.5", "abd"),
        ("open:true", "d"),
        ("open:!=true", "abc"),
        ("id:[a,zz]", "a"),
        ("id:!=a", "bcd"),
        ("day:1 || day:2 && agency:mec", "a"),
        ("(day:1 || day:2) && agency:saude", "ab"),
        ("agency:=`a && b`", ""),
    ],
)
def test_a_filter_matches(collection: Collection, text: str, ids: str) -> None:
    assert sorted(
        collection.documents[number]["id"] for number in passing(collection, text)
    ) == list(ids)


@pytest.mark.parametrize(
    "text",
    [
        "day",
        "day:",
        "day:x",
        "day:>",
        "nada:1",
        "(day:1",
        "day:1)",
        "day:1 &&",
        "|| day:1",
        "agency:=`x",
        "open:2",
    ],
)
def test_a_malformed_filter_is_rejected(collection: Collection, text: str) -> None:
    with pytest.raises(ApiError) as refused:
        passing(collection, text)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("params", "ids"),
    [
        ({"q": "vacinacao"}, "ab"),
        ({"q": "vacinacao", "query_by_weights": "1,2"}, "ba"),
        ({"q": "vacinacao -hoje"}, "b"),
        ({"q": '"de saude"'}, "ba"),
        ({"q": '"saude de"'}, ""),
        ({"q": "escol"}, "cd"),
        ({"q": "escol", "prefix": "false", "num_typos": "0"}, ""),
        ({"q": "vacinasao"}, "ab"),
        ({"q": "vacinasao", "num_typos": "0"}, ""),
        ({"q": "postos marcianos"}, "ba"),
        ({"q": "postos marcianos", "drop_tokens_threshold": "0"}, ""),
        ({"q": "marcianos postos", "drop_tokens_mode": "left_to_right"}, "ba"),
        (
            {
                "q": "marcianos verdes postos",
                "drop_tokens_mode": "both_sides:3",
                "drop_tokens_threshold": "9",
            },
            "ba",
        ),
        (
            {
                "q": "marcianos verdes postos",
                "drop_tokens_mode": "both_sides:2",
                "drop_tokens_threshold": "9",
            },
            "",
        ),
        ({"q": ""}, "dcba"),
        ({"sort_by": "day:asc"}, "abcd"),
        ({"sort_by": "score:desc,day:asc"}, "cabd"),
        ({"per_page": "1", "page": "2"}, "c"),
        ({"offset": "1", "limit": "2"}, "cb"),
        ({"per_page": "250", "page": "9"}, ""),
    ],
)
def test_a_search_returns_hits_in_order(
    collection: Collection, params: dict[str, str], ids: str
) -> None:
    assert found(collection, **params) == list(ids)


@pytest.mark.parametrize(
    ("asked", "params", "ids"),
    [
        ("guardachuva", {}, "a"),
        ("guardachuva", {"split_join_tokens": "always"}, "ab"),
        ("guardasol", {}, "c"),
        ("guardasol", {"split_join_tokens": "off"}, ""),
        ("para sol", {}, "d"),
        ("para sol", {"split_join_tokens": "off", "drop_tokens_threshold": "0"}, ""),
    ],
)
def test_words_are_joined_and_split_as_requested(
    asked: str, params: dict[str, str], ids: str
) -> None:
    made = Collection({"name": "x", "fields": [{"name": "title", "type": "string"}]})
    for name, title in zip(
        "abcd", ("guardachuva", "guarda chuva", "guarda sol", "parasol"), strict=True
    ):
        made.write("create", {"id": name, "title": title})
    answer = search(made, {"q": asked, "query_by": "title", **params})
    assert sorted(hit["document"]["id"] for hit in answer["hits"]) == list(ids)


def test_facets_count_all_found_documents(collection: Collection) -> None:
    counts = search(
        collection, {"q": "*", "facet_by": "agency", "filter_by": "day:<4"}
    )["facet_counts"]
    assert [(one["value"], one["count"]) for one in counts[0]["counts"]] == [
        ("Saúde", 2),
        ("MEC, SEB", 1),
    ]


def test_groups_are_ordered_by_their_best_hit(collection: Collection) -> None:
    answer = search(collection, {"q": "*", "group_by": "agency", "group_limit": "1"})
    groups = [
        (one["group_key"], one["found"], one["hits"][0]["document"]["id"])
        for one in answer["grouped_hits"]
    ]
    assert groups == [
        (["MEC (RJ)"], 1, "d"),
        (["MEC, SEB"], 1, "c"),
        (["Saúde"], 2, "b"),
    ]


def test_matches_are_highlighted_and_html_is_not_escaped() -> None:
    made = Collection({"name": "x", "fields": [{"name": "t", "type": "string"}]})
    made.write("create", {"t": "Saúde <i>e</i> todos"})
    hit = search(made, {"q": "saúde todos", "query_by": "t"})["hits"][0]
    assert hit["highlight"]["t"] == {
        "matched_tokens": ["Saúde", "todos"],
        "snippet": "<mark>Saúde</mark> <i>e</i> <mark>todos</mark>",
    }


def test_more_than_250_hits_a_page_are_rejected(collection: Collection) -> None:
    with pytest.raises(ApiError) as refused:
        search(collection, {"q": "*", "per_page": "251"})
    assert (refused.value.status, refused.value.message) == (
        422,
        "Only upto 250 hits can be fetched per page.",
    )
