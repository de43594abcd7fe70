from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.web.headers import (
    charset_of,
    content_length_of,
    max_age_s,
    retry_after_s,
    validators_of,
)
from news_assets.records.reading import Validators
from news_assets.retry_table import LONGEST_PAUSE_S

NOW = datetime(2026, 9, 8, 12, 0, tzinfo=UTC)
_DATE = "Tue, 08 Sep 2026 12:00:00 GMT"
_LATER = "Tue, 08 Sep 2026 12:10:00 GMT"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "120"}, 120),
        ({"retry-after": _LATER}, 600),
        ({"retry-after": _LATER, "date": "Tue, 08 Sep 2026 12:09:00 GMT"}, 60),
        ({"retry-after": "Mon, 07 Sep 2026 12:00:00 GMT"}, 0),
        ({"retry-after": "9999999999"}, LONGEST_PAUSE_S),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_PAUSE_S),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_is_read_in_both_forms(
    headers: dict[str, str], expected: float | None
) -> None:
    assert retry_after_s(httpx.Headers(headers), NOW) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"cache-control": "public, max-age=600"}, 600),
        ({"cache-control": "max-age=600", "age": "200"}, 400),
        ({"cache-control": "max-age=600", "age": "700"}, 0),
        ({"cache-control": 'MAX-AGE = "60"', "expires": _LATER}, 60),
        ({"cache-control": "s-maxage=600"}, None),
        ({"cache-control": "no-cache", "expires": _LATER, "date": _DATE}, 600),
        ({"expires": "0"}, None),
    ],
)
def test_max_age_is_the_freshness_left(
    headers: dict[str, str], expected: float | None
) -> None:
    assert max_age_s(httpx.Headers(headers), NOW) == expected


def test_validators_generated_for_each_response_are_ignored() -> None:
    generated = {
        "etag": '"x"',
        "last-modified": _DATE,
        "expires": "0",
        "cache-control": "no-store, no-cache",
    }
    assert validators_of(httpx.Headers(generated)) == Validators()
    assert validators_of(
        httpx.Headers(generated | {"cache-control": "no-cache"})
    ) == Validators('"x"', _DATE)


@pytest.mark.parametrize("value", ["x" * 1_001, "x\ny", "x\x1by"])
def test_a_validator_that_is_long_or_has_control_characters_is_absent(
    value: str,
) -> None:
    headers = httpx.Headers({"etag": value, "last-modified": value})
    assert validators_of(headers) == Validators()
    assert validators_of(headers, Validators('"e"', _DATE)) == Validators('"e"', _DATE)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html; charset=UTF-8", "utf-8"),
        ("text/html;boundary=x;CHARSET = 'iso-8859-1'", "iso-8859-1"),
        ('text/html; charset="windows-1252"; x=y', "windows-1252"),
        ("text/html; charset=", None),
        ("text/html; xcharset=utf-8", None),
        ("charset=utf-8", None),
    ],
)
def test_the_charset_of_a_content_type(content_type: str, expected: str | None) -> None:
    assert charset_of(content_type) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("17", 17), ("", None), ("-1", None), ("9" * 5_000, None), ("٣", None)],
)
def test_the_length_that_a_response_states(value: str, expected: int | None) -> None:
    assert (
        content_length_of(httpx.Headers({"content-length": value.encode()})) == expected
    )


@given(st.text())
def test_any_header_value_is_accepted(value: str) -> None:
    headers = {
        "retry-after": value,
        "expires": value,
        "date": value,
        "cache-control": value,
        "age": value,
    }
    encoded = httpx.Headers(
        {name: text.encode("utf-8", "replace") for name, text in headers.items()}
    )
    assert (retry_after_s(encoded, NOW) or 0) >= 0
    assert (max_age_s(encoded, NOW) or 0) >= 0
