"""Filters and facets, in every mode."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from news_assets.ports.search_index import (
    FACETS,
    TIME_FACETS,
    SearchIndex,
    SearchMode,
    SearchQuery,
    SearchSort,
)
from news_assets_tests.clients.search.contract.examples import document, ids

FILTERED = [
    document(
        1,
        "vacina",
        sentiment="positive",
        entities=("Vila Serena", "Ana Lima", "Ana Lima"),
    ),
    document(
        2,
        "vacina",
        desk="world",
        agency="bbc",
        language="en",
        theme_path=("02",),
        day=date(2026, 2, 3),
    ),
    document(
        3,
        "vacina",
        agency="ms",
        theme_path=("01", "01.02"),
        theme_code="01.02",
        day=date(2025, 12, 31),
    ),
    document(
        4,
        "vacina",
        agency="ms",
        body="City Council",
        matter="24-0123",
        meeting_status="confirmed",
    ),
    document(
        5,
        "vacina",
        agency="ms",
        matter="240123",
        meeting_status="cancelled",
        entities=("Ana Lima",),
    ),
]


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"desk": "world"}, {"mec-2"}),
        ({"agency": "ms"}, {"mec-3", "mec-4", "mec-5"}),
        ({"agency": "unknown"}, set()),
        ({"agency": ("ms", "bbc")}, {"mec-2", "mec-3", "mec-4", "mec-5"}),
        ({"agency": ("bbc", "unknown")}, {"mec-2"}),
        ({"theme": "01"}, {"mec-3"}),
        ({"theme": "01.02"}, {"mec-3"}),
        ({"theme": "0"}, set()),
        ({"theme": ("01.02", "02")}, {"mec-2", "mec-3"}),
        ({"theme": ("02", "?"), "agency": ("ms", "bbc")}, {"mec-2"}),
        ({"language": "pt"}, {"mec-1", "mec-3", "mec-4", "mec-5"}),
        ({"entity": "Ana Lima"}, {"mec-1", "mec-5"}),
        ({"entity": "Ana"}, set()),
        ({"entity": "\ud800"}, set()),
        ({"sentiment": "positive"}, {"mec-1"}),
        ({"body": "City Council"}, {"mec-4"}),
        ({"body": "City"}, set()),
        ({"matter": "24-0123"}, {"mec-4"}),
        ({"matter": "24-0123", "meeting_status": "cancelled"}, set()),
        ({"meeting_status": "cancelled"}, {"mec-5"}),
        ({"from_day": date(2026, 1, 1)}, {"mec-1", "mec-2", "mec-4", "mec-5"}),
        ({"to_day": date(2025, 12, 31)}, {"mec-3"}),
        ({"from_day": date(2026, 1, 2), "to_day": date(2026, 1, 2)}, {"mec-1"}),
    ],
)
def test_filters_apply_in_every_mode(
    index: SearchIndex, mode: str, filters: dict[str, object], expected: set[str]
) -> None:
    index.upsert([replace(one, vector=(1.0, 0.0)) for one in FILTERED])
    answer = index.search(
        SearchQuery(text="vacina", mode=mode, vector=(1.0, 0.1), **filters)
    )  # type: ignore[arg-type]
    assert (set(ids(answer)), answer.found) == (expected, len(expected))


def test_facets_count_every_match_of_all_pages(index: SearchIndex) -> None:
    index.upsert(FILTERED)
    facets = index.search(SearchQuery(text="vacina", mode="keyword", limit=1)).facets
    assert facets == {
        "desk": {"govbr": 4, "world": 1},
        "agency": {"bbc": 1, "mec": 1, "ms": 3},
        "theme": {"01": 1, "01.02": 1, "02": 1},
        "language": {"pt-BR": 4, "en": 1},
        "sentiment": {"positive": 1},
        "entity": {"Ana Lima": 2, "Vila Serena": 1},
        "body": {"City Council": 1},
        "matter": {"24-0123": 1, "240123": 1},
        "meeting_status": {"cancelled": 1, "confirmed": 1},
        "month": {"2026-02": 1, "2026-01": 3, "2025-12": 1},
        "week": {"2026-02-02": 1, "2026-01-05": 2, "2025-12-29": 2},
        "day": {
            "2026-02-03": 1,
            "2026-01-06": 1,
            "2026-01-05": 1,
            "2026-01-02": 1,
            "2025-12-31": 1,
        },
    }
    assert tuple(facets) == FACETS


def test_facets_follow_changed_and_deleted_documents(index: SearchIndex) -> None:
    index.upsert(
        [document(n, "vacina", entities=(f"Nome {n}", "Ana")) for n in (1, 2, 3)]
    )
    index.upsert([document(2, "vacina", entities=("Rita",), document_hash="changed")])
    index.delete(["mec-3"])
    facets = index.search(SearchQuery(text="vacina", mode="keyword")).facets
    assert facets["entity"] == {"Ana": 1, "Nome 1": 1, "Rita": 1}
    assert facets["day"] == {"2026-01-03": 1, "2026-01-02": 1}


COPIED = [
    document(1, "vacina", text_hash="same", theme_path=("01", "01.01"), entities=("A",)),
    document(2, "vacina", text_hash="same", theme_path=("01", "01.02"), entities=("A",)),
    document(3, "vacina", text_hash="same", agency="ms", day=date(2026, 2, 1)),
    document(4, "vacina", duplicate_of="mec-5", theme_path=("02",), entities=("A",)),
    document(5, "vacina", theme_path=("01", "01.02"), matter="m", body="b"),
    document(6, "vacina", agency="ms", desk="world", matter="m", language="en"),
]  # fmt: skip
FACET_FILTERS = {name: name for name in FACETS if name not in TIME_FACETS}


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_count_of_a_facet_is_the_number_of_hits_after_choosing_it(
    index: SearchIndex, mode: SearchMode
) -> None:
    far = [
        document(n, "estrada", agency="dnit", vector=(0.5, n / 9)) for n in (7, 8, 9)
    ]
    near = [replace(one, vector=(1.0, one.day.day / 99)) for one in COPIED]
    index.upsert([*near, *far])
    query = SearchQuery(text="vacina", mode=mode, vector=(1.0, 0.0), limit=50)
    answer = index.search(query)
    assert (len(answer.hits), answer.found) == ((3, 3) if mode == "keyword" else (6, 6))
    counts, chosen = {}, {}
    for facet, name in FACET_FILTERS.items():
        for value, count in answer.facets[facet].items():
            narrowed = index.search(replace(query, **{name: value}))  # type: ignore[arg-type]
            counts[facet, value] = count
            chosen[facet, value] = narrowed.found
            assert len(narrowed.hits) == narrowed.found
    for day, count in answer.facets["day"].items():
        of_day = date.fromisoformat(day)
        narrowed = index.search(replace(query, from_day=of_day, to_day=of_day))
        counts["day", day], chosen["day", day] = count, narrowed.found
    for week, count in answer.facets["week"].items():
        monday = date.fromisoformat(week)
        narrowed = index.search(
            replace(query, from_day=monday, to_day=monday + timedelta(days=6))
        )
        counts["week", week], chosen["week", week] = count, narrowed.found
    assert chosen == counts
    assert answer.facets["month"] == (
        {"2026-02": 1, "2026-01": 3 if mode == "keyword" else 6}
    )


def test_choosing_a_value_does_not_loosen_the_search(index: SearchIndex) -> None:
    index.upsert([document(n, "vacina para idosos") for n in range(1, 12)])
    index.upsert([document(n, "vacina idosos", agency="ms") for n in range(20, 23)])
    index.upsert([document(n, "vacina", agency="ms") for n in range(30, 35)])
    query = SearchQuery(text="vacina idosos", mode="keyword")
    assert index.search(query).facets["agency"]["ms"] == 3
    assert index.search(replace(query, agency="ms")).found == 3


@pytest.mark.parametrize("sort", ["relevance", "date"])
def test_the_hits_of_a_hybrid_search_are_counted_and_reached_by_paging(
    index: SearchIndex, sort: SearchSort
) -> None:
    index.upsert([document(n, "vacina", vector=(1.0, n / 99)) for n in range(1, 16)])
    index.upsert([document(n, "estrada", vector=(0.1, n / 99)) for n in range(20, 30)])
    index.upsert([document(n, "vacina") for n in range(40, 45)])
    query = SearchQuery(text="vacina", vector=(1.0, 0.0), sort=sort)
    pages = [index.search(replace(query, offset=offset)) for offset in (0, 10, 20, 30)]
    assert {page.found for page in pages} == {30}
    reached = [one for page in pages for one in ids(page)]
    assert len(reached) == len(set(reached)) == 30
    assert {sum(page.facets["day"].values()) for page in pages} == {30}
