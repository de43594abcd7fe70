"""The answers that are kept: how many bytes, until when, and that each is made once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.requests import Request
from starlette.responses import Response

from news_assets.web import cache as cache_module
from news_assets.web.cache import AnswerCache
from news_assets_tests.support.waiting import HANG_S


class Commits:
    """An archive that only has the number of a commit, and a model."""

    number = 1

    def commit(self) -> int:
        return self.number

    def is_by_words_only(self) -> bool:
        return False


def request(query: str = "", path: str = "/search") -> Request:
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "server": ("here", 80),
        "path": path,
        "headers": [],
    }
    return Request({**scope, "query_string": query.encode()})


def counted(made: list[str]) -> Callable[[Request], Response]:
    def answer(asked: Request) -> Response:
        made.append(asked.url.query)
        return Response("short")

    return answer


def test_parameters_that_an_answer_does_not_depend_on_make_no_other_answer() -> None:
    made: list[str] = []
    answer = AnswerCache(Commits()).around(counted(made), ("q",))  # type: ignore[arg-type]
    for query in ("q=1&n=1", "q=1&n=2", "n=3&q=1", "q=2"):
        answer(request(query))
    assert made == ["q=1&n=1", "q=2"]


def test_keys_count_among_the_bytes_and_another_commit_drops_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cache_module, "_MAX_BYTES", 60_000)
    commits, made = Commits(), list[str]()
    cache = AnswerCache(commits)  # type: ignore[arg-type]
    answer = cache.around(counted(made), ("q",))
    for number in range(50):
        answer(request(f"q={number}{'k' * 3_000}"))
    assert 1 < len(cache._kept) < 15

    commits.number = 2
    answer(request("q=last"))
    assert len(cache._kept) == 1


def test_requests_for_the_same_answer_wait_for_the_first() -> None:
    made: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow(asked: Request) -> Response:
        made.append(asked.url.query)
        begun.set()
        go_on.wait(HANG_S)
        return Response("done")

    answer = AnswerCache(Commits()).around(slow)  # type: ignore[arg-type]
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(answer, request())
        begun.wait(HANG_S)
        others = [threads.submit(answer, request()) for _ in range(3)]
        go_on.set()
        assert [one.result(HANG_S).body for one in (first, *others)] == [b"done"] * 4
    assert len(made) == 1
