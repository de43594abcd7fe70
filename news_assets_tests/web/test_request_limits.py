"""Limits: too many requests, answers that take too long, other sites that may read."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.errors import EmbedError
from news_assets.ports.search_index import Embedder, SearchAnswer, SearchQuery
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web import archive as archive_module
from news_assets.web import request_limits
from news_assets.web.archive import Archive
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.support.waiting import HANG_S
from news_assets_tests.web.conftest import served

Serve = Callable[..., AbstractContextManager[httpx.Client]]


class _SlowIndex(SqliteSearchIndex):
    """An index whose searches for `slow` wait until they may go on."""

    gate = threading.Event()

    def search(self, query: SearchQuery) -> SearchAnswer:
        if query.text == "slow":
            self.gate.wait(HANG_S)
        return super().search(query)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A function that serves a small lake with these arguments of `build_app`."""
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        _SlowIndex.open(tmp_path / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.list(entry(1))
        room.run()

        @contextmanager
        def start(
            before_model: Callable[[], object] = lambda: None,
            loads: bool = False,
            **options: Any,
        ) -> Iterator[httpx.Client]:
            def model() -> Embedder:
                before_model()
                return room.embedder

            archive = Archive(Index(index, model, index.close), lake, [DESK], {})
            if loads:
                archive.load_model()
            with (
                served(archive, **options) as address,
                httpx.Client(base_url=address, timeout=HANG_S) as client,
            ):
                client.room = room  # type: ignore[attr-defined]
                yield client

        yield start


def test_a_client_that_asks_too_often_is_told_when_to_come_again(serve: Serve) -> None:
    with serve(requests_per_minute=60) as client:
        statuses = [client.get("/api/v1/agencies").status_code for _ in range(14)]
        assert (statuses[:11], 429 in statuses[11:]) == ([200] * 11, True)
        refused = client.get("/api/v1/agencies")
        assert (refused.status_code, refused.headers["content-type"]) == (
            429,
            "application/problem+json",
        )
        assert 1 <= int(refused.headers["retry-after"]) <= 2
        assert client.get("/health/live").status_code == 200


def test_an_answer_that_takes_too_long_is_given_up_and_the_others_go_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # far above the other, also on a busy machine
    monkeypatch.setattr(request_limits, "MAX_SECONDS", 1.5)
    monkeypatch.setattr(archive_module, "MAX_SECONDS", 0.2)
    with serve() as client:
        late = client.get("/search.json?q=slow&mode=keyword")
        assert (late.status_code, late.headers["retry-after"]) == (503, "10")
        assert "ask for less, or again later" in late.json()["detail"]
        waiting = client.get("/search.json?q=bus&mode=keyword")
        assert (waiting.status_code, "try again" in waiting.json()["detail"]) == (
            503,
            True,
        )
        assert client.get("/api/v1/articles").status_code == 200
        _SlowIndex.gate.set()
        for _ in range(50):
            if client.get("/search.json?q=bus&mode=keyword").status_code == 200:
                break
        else:
            pytest.fail("the index is not free again")


def test_searches_by_words_go_on_while_the_model_is_loaded(serve: Serve) -> None:
    is_begun, is_loaded = threading.Event(), threading.Event()

    def load() -> None:
        is_begun.set()
        is_loaded.wait(HANG_S)

    with serve(before_model=load) as client, ThreadPoolExecutor(1) as pool:
        by_meaning = pool.submit(client.get, "/search.json?q=bus")
        is_begun.wait(HANG_S)
        by_words = client.get("/search.json?q=bus&mode=keyword")
        is_loaded.set()
        statuses = by_words.status_code, by_meaning.result(HANG_S).status_code
        assert statuses == (200, 200)


def test_long_answers_of_one_client_leave_threads_for_the_others(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "MAX_SECONDS", HANG_S)
    monkeypatch.setattr(_SlowIndex, "gate", threading.Event())
    with serve() as client, ThreadPoolExecutor(16) as pool:
        path = "/search.json?q=slow&mode=keyword"
        long = [pool.submit(client.get, path) for _ in range(16)]
        other = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(base_url=client.base_url, transport=other) as other_client:
            statuses = [
                other_client.get(f"/api/v1/articles?limit={n}", timeout=HANG_S)
                for n in range(1, 9)
            ]
        _SlowIndex.gate.set()
        wait(long)
    assert {answer.status_code for answer in statuses} == {200}


def test_while_the_model_is_loaded_searches_are_by_words_and_say_so(
    serve: Serve,
) -> None:
    is_loaded = threading.Event()
    said = "These articles were found by words."
    with serve(lambda: is_loaded.wait(HANG_S), loads=True) as client:
        for mode in ("hybrid", "vector"):
            answer = client.get(f"/api/v1/search?q=bus&mode={mode}")
            assert (answer.status_code, answer.json()["mode"]) == (200, "keyword")
            assert [one["article_id"] for one in answer.json()["items"]] == ["a-1"]
        page = client.get("/search?q=bus", headers={"Accept": "text/html"})
        assert (page.status_code, said in page.text) == (200, True)
        is_loaded.set()
        for _ in range(500):
            answer = client.get("/api/v1/search?q=bus")
            if answer.json()["mode"] == "hybrid":
                break
            time.sleep(0.01)
        else:
            pytest.fail("the model is not used")
        page = client.get("/search?q=bus", headers={"Accept": "text/html"})
        assert said not in page.text


def test_without_a_model_searches_are_by_words(serve: Serve) -> None:
    def refuse() -> None:
        raise EmbedError("no such model")

    with serve(refuse, loads=True) as client:
        answer = client.get("/api/v1/search?q=bus")
        assert (answer.status_code, answer.json()["mode"]) == (200, "keyword")


def test_only_the_named_sites_may_read(serve: Serve) -> None:
    with serve(origins=["https://pages.example.org"]) as client:
        allowed = [
            client.get("/api/v1/agencies", headers={"Origin": origin}).headers.get(
                "access-control-allow-origin"
            )
            for origin in ("https://pages.example.org", "https://other.example.org")
        ]
    assert allowed == ["https://pages.example.org", None]


def test_what_is_stored_is_shown_at_once_and_changes_the_etag(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "_COMMIT_SECONDS", 0.0)
    with serve() as client:
        before = client.get("/api/v1/articles")
        room: Newsroom = client.room  # type: ignore[attr-defined]
        room.list(entry(2))
        room.run()
        after = client.get(
            "/api/v1/articles", headers={"If-None-Match": before.headers["etag"]}
        )
    assert [len(answer.json()["items"]) for answer in (before, after)] == [1, 2]
    assert before.headers["etag"] != after.headers["etag"]
