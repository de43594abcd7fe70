"""`search-key`: a key that searches one desk until it expires; the admin key is never
shown.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from news_assets.clients.search.typesense.server import DEFAULT_ALIAS
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.search_backends import (
    ADMIN_KEY,
    Backend,
    configured_backend,
)
from news_assets_tests.test_search import DOCUMENTS


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    with configured_backend("typesense", tmp_path, monkeypatch.setenv) as made:
        with made.open() as index:
            index.upsert(DOCUMENTS)
        yield made


def searched(place: Backend, key: str, **query: str) -> Any:
    assert place.server is not None
    url = f"{place.server.url}/collections/{DEFAULT_ALIAS}/documents/search"
    return httpx.get(
        url,
        params={"q": "*", "query_by": "title", **query},
        headers={"X-TYPESENSE-API-KEY": key},
    )


def test_the_key_searches_its_desk_and_shows_no_vectors(
    place: Backend, call: Call
) -> None:
    code, key, err = call("search-key", "--desk", "d", "--days", "7")
    assert (code, err, key.count("\n"), ADMIN_KEY in key) == (0, "", 1, False)
    assert searched(place, key.strip()).json()["found"] == 0
    code, key, _ = call("search-key")
    answer = searched(place, key.strip()).json()
    assert (code, answer["found"], "vector" in answer["hits"][0]["document"]) == (
        0,
        3,
        False,
    )


def test_json_output_has_the_expiry(place: Backend, call: Call) -> None:
    day = (datetime.now(UTC) + timedelta(days=3)).date()
    code, out, _ = call(
        "search-key",
        "--desk",
        "d",
        "--expires",
        str(day),
        "--description",
        "a page",
        "--json",
    )
    made = json.loads(out)
    ends = datetime.fromisoformat(made["expires_at"])
    assert (code, made["desk"], made["description"], ends.date()) == (
        0,
        "d",
        "a page",
        day + timedelta(days=1),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--desk", "nowhere"), "no desk `nowhere`; there are: d"),
        (("--expires", "2020-01-01"), "--expires 2020-01-01 is in the past"),
        (
            ("--expires", "2099-01-01", "--days", "3"),
            "give --days or --expires, not both",
        ),
    ],
)
def test_an_invalid_key_is_refused_in_one_line(
    place: Backend, call: Call, options: tuple[str, ...], message: str
) -> None:
    assert call("search-key", *options) == (1, "", f"news-assets: {message}\n")


def test_the_embedded_index_has_no_search_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    with configured_backend("embedded", tmp_path, monkeypatch.setenv):
        code, out, err = call("search-key")
    assert (code, out, len(err.splitlines()), "has no search keys" in err) == (
        1,
        "",
        1,
        True,
    )


def test_no_error_shows_the_admin_key(place: Backend, call: Call) -> None:
    assert place.server is not None
    place.server.faults.fails_next = 1
    code, out, err = call("search-key")
    assert (code, out, len(err.splitlines()), ADMIN_KEY in err) == (1, "", 1, False)
    with place.server.down():
        code, out, err = call("search-key")
    assert (code, out, len(err.splitlines()), ADMIN_KEY in err) == (1, "", 1, False)
