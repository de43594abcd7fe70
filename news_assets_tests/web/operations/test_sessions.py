"""Cookies of operators: who is logged in, and which cookies are of no use."""

import hashlib
import time
from collections.abc import Callable

import pytest
from itsdangerous import TimestampSigner, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from news_assets.web.operations.sessions import COOKIE, SESSION_S, Sessions

TOKEN = "a token of operators"


def request_with(cookie: str) -> Request:
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode())]
    return Request(
        {
            "type": "http",
            "scheme": "http",
            "method": "GET",
            "path": "/",
            "headers": headers,
        }
    )


def cookie_of(name: str) -> str:
    response = Response()
    Sessions(TOKEN).begin(request_with(""), response, name)
    return response.headers["set-cookie"].partition(";")[0].partition("=")[2]


def made_at(epoch_s: int) -> Callable[[str], str]:
    """Return a function that makes the cookie of a log-in at this time."""

    class AtThatTime(TimestampSigner):
        def get_timestamp(self) -> int:
            return epoch_s

    return lambda name: str(
        URLSafeTimedSerializer(
            TOKEN,
            COOKIE,
            signer=AtThatTime,
            signer_kwargs={"digest_method": hashlib.sha256},
        ).dumps(name)
    )


@pytest.mark.parametrize("name", ["Ana", "Zoë Ação", "a.b|c; d"])
def test_the_cookie_of_a_log_in_tells_the_operator(name: str) -> None:
    assert Sessions(TOKEN).operator(request_with(cookie_of(name))) == name


def test_a_cookie_ends_after_its_time() -> None:
    now = int(time.time())
    assert (
        Sessions(TOKEN).operator(request_with(made_at(now - SESSION_S + 60)("Ana")))
        == "Ana"
    )
    assert (
        Sessions(TOKEN).operator(request_with(made_at(now - SESSION_S - 60)("Ana")))
        is None
    )


def test_another_token_ends_all_log_ins() -> None:
    cookie = cookie_of("Ana")
    assert Sessions("another token").operator(request_with(cookie)) is None
    assert Sessions("").operator(request_with(cookie)) is None


def test_a_cookie_that_was_changed_is_of_no_use() -> None:
    cookie = cookie_of("Ana")
    name, _, rest = cookie.partition(".")
    other_name, _, _ = cookie_of("Eva").partition(".")
    for changed in (
        "",
        "x",
        cookie[:-2],
        rest,
        f"{other_name}.{rest}",
        f"{name}.{rest[::-1]}",
    ):
        assert Sessions(TOKEN).operator(request_with(changed)) is None, changed
