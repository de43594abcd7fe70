"""One URL against a real server: the page, conditional requests and failures."""

import gzip
import socket
import struct
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import SettingsError
from news_assets.records.reading import Page, Validators
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    Site,
    answer,
    body_or_reason,
    failure_of,
    request,
    requests,
    summary_of,
)

NOW = datetime(2026, 9, 8, 12, 0, tzinfo=UTC)


def test_a_page_holds_body_and_headers_of_the_response(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    headers = {
        "etag": '"a1"',
        "last-modified": "Tue, 08 Sep 2026 11:00:00 GMT",
        "cache-control": "public, max-age=600",
    }
    url = site.put(
        "/a",
        answer(
            "olá".encode("latin-1"),
            content_type="text/html; charset=iso-8859-1",
            **headers,
        ),
    )
    page = open_fetcher(clock=lambda: NOW).fetch(request(url))
    assert page == Page(
        url=url,
        final_url=url,
        status=200,
        body="olá".encode("latin-1"),
        content_type="text/html; charset=iso-8859-1",
        encoding="iso-8859-1",
        validators=Validators('"a1"', "Tue, 08 Sep 2026 11:00:00 GMT"),
        content_length=3,
        max_age_s=600,
        fetched_at=NOW,
        elapsed_ms=page.elapsed_ms,
    )
    assert site.requests[0][2]["user-agent"] == "news_assets/0.1 (+https://example.org)"


@pytest.mark.parametrize(
    "content_type",
    [f"text/html; charset*{'9' * 5_000}*=x", "text/html; charset=" + "x" * 5_000],
)
def test_a_content_type_that_cannot_be_read_counts_as_none(
    site: Site, fetcher: HttpFetcher, content_type: str
) -> None:
    page = fetcher.fetch(
        request(site.put("/a", answer(b"x", content_type=content_type)))
    )
    assert (page.content_type, page.encoding, page.body) == ("", None, b"x")


def test_a_page_without_a_stated_charset_has_no_encoding(
    site: Site, fetcher: HttpFetcher
) -> None:
    assert (
        fetcher.fetch(
            request(site.put("/a", answer(b"x", content_type="text/html")))
        ).encoding
        is None
    )


# --- conditional requests -------------------------------------------------------------


def test_validators_are_sent_verbatim_and_a_304_is_an_unchanged_page(
    site: Site, fetcher: HttpFetcher
) -> None:
    stored = Validators('W/"odd, one"', "yesterday or so")
    page = fetcher.fetch(request(site.put("/f", answer(status=304)), validators=stored))
    assert (page.is_unchanged, page.body, page.validators) == (True, b"", stored)
    headers = site.requests[0][2]
    assert (headers["if-none-match"], headers["if-modified-since"]) == (
        stored.etag,
        stored.last_modified,
    )


def test_a_304_may_replace_a_validator(site: Site, fetcher: HttpFetcher) -> None:
    url = site.put("/f", answer(status=304, last_modified="new"))
    assert fetcher.fetch(
        request(url, validators=Validators('"e"', "old"))
    ).validators == Validators('"e"', "new")


def test_a_304_without_validators_sent_is_an_error(
    site: Site, fetcher: HttpFetcher
) -> None:
    error = failure_of(fetcher, request(site.put("/f", answer(status=304))))
    assert summary_of(error) == ("FetchError", "refused (304)", 304, 0.5, False)


# --- failures -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, ("refused (400)", 1.0, False)),
        (401, ("login required (401)", 1.0, False)),
        (403, ("forbidden (403)", 0.5, False)),
        (404, ("not found (404)", 0.5, False)),
        (410, ("gone", 1.0, False)),
        (429, ("too many requests (429)", 0.5, True)),
        (500, ("server error (500)", 0.5, True)),
        (503, ("server error (503)", 0.5, True)),
    ],
)
def test_an_error_status_has_its_reason(
    site: Site, fetcher: HttpFetcher, status: int, expected: tuple[str, float, bool]
) -> None:
    error = failure_of(fetcher, request(site.put("/x", answer(b"no", status))))
    assert summary_of(error) == ("FetchError", expected[0], status, *expected[1:])


def _reset(connection: socket.socket, _: object) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.shutdown(socket.SHUT_RD)
    connection.close()
    raise OSError


def _close(connection: socket.socket, _: object) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def _truncate(connection: socket.socket, _: object) -> None:
    connection.sendall(b"HTTP/1.1 200 -\r\ncontent-length: 1000\r\n\r\nhalf")
    connection.shutdown(socket.SHUT_RDWR)


def _truncate_gzip(connection: socket.socket, _: object) -> None:
    half = gzip.compress(b"news" * 1000)[:-10]
    connection.sendall(
        b"HTTP/1.1 200 -\r\nconnection: close\r\ncontent-encoding: gzip\r\n\r\n" + half
    )
    connection.shutdown(socket.SHUT_RDWR)


def _stall(*_: object) -> None:
    time.sleep(0.5)


def _drip_body(connection: socket.socket, _: object) -> None:
    connection.sendall(b"HTTP/1.1 200 -\r\ncontent-length: 1000\r\n\r\n")
    for _ in range(40):
        connection.sendall(b"x")
        time.sleep(0.05)


def _drip_head(connection: socket.socket, _: object) -> None:
    connection.sendall(b"HTTP/1.1 200 -\r\n")
    for _ in range(40):
        connection.sendall(b"x: y\r\n")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("scripted", "expected"),
    [
        (_reset, ("connection lost while reading", None, 0.5, True)),
        (_close, ("invalid response: Server disconnected", None, 0.5, True)),
        (b"news over HTTP\r\n\r\n", ("invalid response", None, 0.5, True)),
        (
            _truncate,
            (
                "invalid response: peer closed connection without sending complete",
                None,
                0.5,
                True,
            ),
        ),
        (_truncate_gzip, ("body ends early", 200, 0.5, True)),
        (_stall, ("no response in time", None, 0.5, True)),
        (_drip_body, ("total time limit exceeded", None, 0.5, True)),
        (_drip_head, ("total time limit exceeded", None, 0.5, True)),
        (
            answer(b"plain", content_encoding="gzip"),
            ("body does not match its Content-Encoding", 200, 1.0, False),
        ),
        (
            answer(b"x", content_encoding="br"),
            ("Content-Encoding br was not requested", 200, 1.0, False),
        ),
    ],
)
def test_a_failed_response_has_its_reason(
    site: Site,
    open_fetcher: OpenFetcher,
    scripted: object,
    expected: tuple[object, ...],
) -> None:
    url = site.put("/x", scripted)  # type: ignore[arg-type]
    name, reason, *rest = summary_of(
        failure_of(open_fetcher(read_s=0.2, total_s=0.4), request(url))
    )
    assert (name, rest) == ("FetchError", list(expected[1:]))
    assert str(reason).startswith(str(expected[0]))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", ("FetchError", "not an http(s) address", None, 1.0, False)),
        (
            "mailto:news@example.org",
            ("FetchError", "not an http(s) address", None, 1.0, False),
        ),
        (
            "file:///etc/passwd",
            ("FetchError", "not an http(s) address", None, 1.0, False),
        ),
        ("http:///path", ("FetchError", "not an http(s) address", None, 1.0, False)),
        (
            "http://[::1",
            ("FetchError", "not a valid address: Invalid port: ':1'", None, 1.0, False),
        ),
        (
            "http://127.0.0.1:99999/",
            ("FetchError", "not a valid address: port 99999", None, 1.0, False),
        ),
        (
            "http://127.0.0.1:2/",
            ("FetchError", "connection failed: connection refused", None, 0.5, True),
        ),
        (
            "http://x.invalid/",
            (
                "FetchError",
                "host not found: no address for x.invalid",
                None,
                0.25,
                True,
            ),
        ),
        (
            f"http://{'a' * 64}.org/",
            (
                "FetchError",
                f"host not found: no address for {'a' * 64}.org",
                None,
                0.25,
                True,
            ),
        ),
        (
            "http://127.0.0.1:6379/",
            (
                "ForbiddenAddressError",
                "refused: port 6379 of 127.0.0.1 belongs to another protocol",
                None,
                1.0,
                False,
            ),
        ),
        (
            f"http://127.0.0.1/{'a' * 8_000}",
            (
                "FetchError",
                "not a valid address: longer than 8,000 characters",
                None,
                1.0,
                False,
            ),
        ),
        (
            "http://10.0.0.1/",
            (
                "ForbiddenAddressError",
                "refused: 10.0.0.1 is 10.0.0.1, not a public address",
                None,
                1.0,
                False,
            ),
        ),
    ],
)
def test_an_address_that_cannot_be_fetched_has_its_reason(
    fetcher: HttpFetcher, url: str, expected: tuple[object, ...]
) -> None:
    assert summary_of(failure_of(fetcher, request(url))) == expected


def test_an_unexpected_exception_is_an_error_of_its_url_only(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    times = iter([NOW, NOW])  # for robots.txt and the first page
    results = open_fetcher(clock=lambda: next(times)).fetch_all(
        requests(*[f"{site.url}/{n}" for n in range(3)])
    )
    reasons = {str(body_or_reason(result)) for _, result in results}
    assert reasons <= {"not found (404)", "error in the HTTP client: StopIteration: "}
    assert len(reasons) == 2


def test_a_tls_failure_is_named(site: Site, fetcher: HttpFetcher) -> None:
    error = failure_of(fetcher, request(site.url.replace("http:", "https:")))
    assert (
        error.reason.partition(":")[2].split(":")[0],
        error.weight,
        error.is_transient,
    ) == (" TLS", 0.5, True)


def test_an_unusable_state_folder_is_a_settings_error(
    tmp_path: Path, open_fetcher: OpenFetcher
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="file cannot be used"):
        open_fetcher(state_dir=tmp_path / "file")
