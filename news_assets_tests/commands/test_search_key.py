"""`search-key`: a key that searches one desk for a while, and an admin key that nobody sees."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from news_assets.clients.search.typesense.connection import DEFAULT_ALIAS
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.search_backends import ADMIN_KEY, Backend, configured_backend
from news_assets_tests.test_search import DOCUMENTS


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    with configured_backend("typesense", tmp_path, monkeypatch.setenv) as made:
        with made.open() as index:
            index.upsert(DOCUMENTS)
        yield made


def asked(place: Backend, key: str, **query: str) -> Any:
    assert place.server is not None
    url = f"{place.server.url}/collections/{DEFAULT_ALIAS}/documents/search"
    return httpx.get(url, params={"q": "*", "query_by": "title", **query}, headers={"X-TYPESENSE-API-KEY": key})


def test_the_key_searches_its_desk_and_shows_no_vectors(place: Backend, call: Call) -> None:
    code, key, err = call("search-key", "--desk", "d", "--days", "7")
    assert (code, err, key.count("\n"), ADMIN_KEY in key) == (0, "", 1, False)
    assert asked(place, key.strip()).json()["found"] == 0
    code, key, _ = call("search-key")
    answer = asked(place, key.strip()).json()
    assert (code, answer["found"], "vector" in answer["hits"][0]["document"]) == (0, 3, False)


def test_as_json_it_says_until_when(place: Backend, call: Call) -> None:
    day = (datetime.now(UTC) + timedelta(days=3)).date()
    code, out, _ = call("search-key", "--desk", "d", "--expires", str(day), "--description", "a page", "--json")
    made = json.loads(out)
    ends = datetime.fromisoformat(made["expires_at"])
    assert (code, made["desk"], made["description"], ends.date()) == (0, "d", "a page", day + timedelta(days=1))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--desk", "nowhere"), "no desk `nowhere`; there are: d"),
        (("--expires", "2020-01-01"), "--expires 2020-01-01 is over"),
        (("--expires", "2099-01-01", "--days", "3"), "give --days or --expires, not both"),
    ],
)
def test_a_key_of_no_use_is_refused_in_one_line(place: Backend, call: Call, words: tuple[str, ...], says: str) -> None:
    assert call("search-key", *words) == (1, "", f"news-assets: {says}\n")


def test_the_embedded_index_needs_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    with configured_backend("sqlite", tmp_path, monkeypatch.setenv):
        code, out, err = call("search-key")
    assert (code, out, len(err.splitlines()), "needs no keys" in err) == (1, "", 1, True)


def test_no_error_shows_the_admin_key(place: Backend, call: Call) -> None:
    assert place.server is not None
    place.server.faults.fails_next = 1
    code, out, err = call("search-key")
    assert (code, out, len(err.splitlines()), ADMIN_KEY in err) == (1, "", 1, False)
    with place.server.down():
        code, out, err = call("search-key")
    assert (code, out, len(err.splitlines()), ADMIN_KEY in err) == (1, "", 1, False)
