"""`search-fields`: new fields of a newer version are shown and added without a rebuild."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.search_backends import (
    Backend,
    configured_backend,
    hashes,
)
from news_assets_tests.test_search import DOCUMENTS
from news_assets_tests.typesense_server.collections.alteration import alter
from news_assets_tests.typesense_server.collections.collection import Collection

MISSING = "summary: expected string optional=True index=False, stored nothing; `news-assets search-fields` adds it"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    with configured_backend("typesense", tmp_path, monkeypatch.setenv) as made:
        with made.open() as index:
            index.upsert(DOCUMENTS[:2])
        yield made


def collection(place: Backend) -> Collection:
    assert place.server is not None
    return place.server.store.collection("news_articles")


def test_a_missing_field_is_shown_and_added(place: Backend, call: Call) -> None:
    alter(collection(place), {"fields": [{"name": "summary", "drop": True}]})
    assert call("search", "gripe", "--mode", "keyword")[0] == 0
    with (
        place.open() as index,
        pytest.raises(Exception, match="the index's fields differ: summary: expected"),
    ):
        index.upsert(DOCUMENTS)
    assert call("search-fields", "--dry-run") == (0, f"{MISSING}\n", "")
    assert "summary" not in collection(place).fields
    assert call("search-fields") == (
        0,
        "summary: added string optional=True index=False\n",
        "",
    )
    assert call("search-fields") == (
        0,
        "the index has every field that this program writes\n",
        "",
    )
    with place.open() as index:
        assert index.upsert(DOCUMENTS) == {}
        assert len(hashes(index, "sample")) == 3


def test_a_field_of_another_type_is_refused_with_the_remedy(
    place: Backend, call: Call
) -> None:
    alter(
        collection(place),
        {"fields": [{"name": "summary", "drop": True}, {"name": "tags", "drop": True}]},
    )
    alter(
        collection(place),
        {"fields": [{"name": "tags", "type": "int64", "optional": True}]},
    )
    code, out, err = call("search-fields")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert (
        "tags: expected string[] optional=True index=False, stored int64 optional=True; needs `news-assets rebuild"
        in err
    )
    assert "summary" not in collection(place).fields


def test_the_embedded_index_lacks_no_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    with configured_backend("embedded", tmp_path, monkeypatch.setenv):
        assert call("search-fields") == (
            0,
            "the index has every field that this program writes\n",
            "",
        )
