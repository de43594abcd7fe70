"""One URL against a real server: the page, conditional requests, failures, caps, redirects, private hosts."""

import gzip
import resource
import socket
import struct
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.clients.web.body import BodyCaps
from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import FetchError, ForbiddenAddressError, SettingsError, TooLargeError
from news_assets.ports import PageRequest
from news_assets.records import Page, Validators
from news_assets_tests.clients.web.conftest import OpenFetcher, Site, answer

NOW = datetime(2026, 9, 8, 12, 0, tzinfo=UTC)


def request(url: str, **changes: object) -> PageRequest:
    return PageRequest(url, **{"obeys_robots": False, **changes})  # type: ignore[arg-type]


def failure_of(fetcher: HttpFetcher, wanted: PageRequest) -> FetchError:
    with pytest.raises(FetchError) as raised:
        fetcher.fetch(wanted)
    assert raised.value.url == wanted.url
    return raised.value


def summary_of(error: FetchError) -> tuple[object, ...]:
    return type(error).__name__, error.reason, error.status, error.weight, error.is_transient


def test_a_page_holds_body_and_headers_of_the_response(site: Site, open_fetcher: OpenFetcher) -> None:
    headers = {"etag": '"a1"', "last-modified": "Tue, 08 Sep 2026 11:00:00 GMT", "cache-control": "public, max-age=600"}
    url = site.put("/a", answer("olá".encode("latin-1"), content_type="text/html; charset=iso-8859-1", **headers))
    page = open_fetcher(clock=lambda: NOW).fetch(request(url))
    assert page == Page(
        url=url,
        final_url=url,
        status=200,
        body="olá".encode("latin-1"),
        content_type="text/html; charset=iso-8859-1",
        encoding="iso-8859-1",
        validators=Validators('"a1"', "Tue, 08 Sep 2026 11:00:00 GMT"),
        max_age_s=600,
        fetched_at=NOW,
        elapsed_ms=page.elapsed_ms,
    )
    assert site.requests[0][2]["user-agent"] == "news_assets/0.1 (+https://example.org)"


def test_a_page_without_a_stated_charset_has_no_encoding(site: Site, fetcher: HttpFetcher) -> None:
    assert fetcher.fetch(request(site.put("/a", answer(b"x", content_type="text/html")))).encoding is None


# --- conditional requests --------------------------------------------------------------------------------------------


def test_validators_are_sent_verbatim_and_a_304_is_an_unchanged_page(site: Site, fetcher: HttpFetcher) -> None:
    stored = Validators('W/"odd, one"', "yesterday or so")
    page = fetcher.fetch(request(site.put("/f", answer(status=304)), validators=stored))
    assert (page.is_unchanged, page.body, page.validators) == (True, b"", stored)
    headers = site.requests[0][2]
    assert (headers["if-none-match"], headers["if-modified-since"]) == (stored.etag, stored.last_modified)


def test_a_304_may_replace_a_validator(site: Site, fetcher: HttpFetcher) -> None:
    url = site.put("/f", answer(status=304, last_modified="new"))
    assert fetcher.fetch(request(url, validators=Validators('"e"', "old"))).validators == Validators('"e"', "new")


def test_a_304_without_validators_sent_is_an_error(site: Site, fetcher: HttpFetcher) -> None:
    error = failure_of(fetcher, request(site.put("/f", answer(status=304))))
    assert summary_of(error) == ("FetchError", "refused (304)", 304, 0.5, False)


# --- failures --------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("status", "headers", "body", "reason"),
    [
        (403, {"cf-mitigated": "challenge"}, b"", "blocked: Cloudflare"),
        (503, {}, b"<title>Just a moment...</title>", "blocked: Cloudflare"),
        (403, {"content-encoding": "gzip"}, gzip.compress(b'<div class="h-captcha">', mtime=0), "blocked: a captcha"),
    ],
)
def test_a_bot_wall_is_named(
    site: Site, fetcher: HttpFetcher, status: int, headers: dict[str, str], body: bytes, reason: str
) -> None:
    assert failure_of(fetcher, request(site.put("/x", answer(body, status, **headers)))).reason == reason


def test_an_article_about_captchas_is_a_page(site: Site, fetcher: HttpFetcher) -> None:
    assert fetcher.fetch(request(site.put("/x", answer(b"verify you are human")))).status == 200


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
    connection.sendall(b"HTTP/1.1 200 -\r\nconnection: close\r\ncontent-encoding: gzip\r\n\r\n" + half)
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
        (_truncate, ("invalid response: peer closed connection without sending complete", None, 0.5, True)),
        (_truncate_gzip, ("body ends early", 200, 0.5, True)),
        (_stall, ("no response in time", None, 0.5, True)),
        (_drip_body, ("total time limit exceeded", None, 0.5, True)),
        (_drip_head, ("total time limit exceeded", None, 0.5, True)),
        (answer(b"plain", content_encoding="gzip"), ("body does not match its Content-Encoding", 200, 1.0, False)),
        (answer(b"x", content_encoding="br"), ("Content-Encoding br was not requested", 200, 1.0, False)),
    ],
)
def test_a_failed_response_has_its_reason(
    site: Site, open_fetcher: OpenFetcher, scripted: object, expected: tuple[object, ...]
) -> None:
    url = site.put("/x", scripted)  # type: ignore[arg-type]
    started = time.monotonic()
    name, reason, *rest = summary_of(failure_of(open_fetcher(read_s=0.2, total_s=0.4), request(url)))
    assert (name, rest) == ("FetchError", list(expected[1:]))
    assert str(reason).startswith(str(expected[0]))
    assert time.monotonic() - started < 0.8


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", ("FetchError", "not an http(s) address", None, 1.0, False)),
        ("mailto:news@example.org", ("FetchError", "not an http(s) address", None, 1.0, False)),
        ("file:///etc/passwd", ("FetchError", "not an http(s) address", None, 1.0, False)),
        ("http:///path", ("FetchError", "not an http(s) address", None, 1.0, False)),
        ("http://[::1", ("FetchError", "not a valid address: Invalid port: ':1'", None, 1.0, False)),
        ("http://127.0.0.1:99999/", ("FetchError", "not a valid address: port 99999", None, 1.0, False)),
        ("http://127.0.0.1:1/", ("FetchError", "connection failed: connection refused", None, 0.5, True)),
        ("http://x.invalid/", ("FetchError", "host not found: no address for x.invalid", None, 0.25, True)),
        (f"http://{'a' * 64}.org/", ("FetchError", f"host not found: no address for {'a' * 64}.org", None, 0.25, True)),
        (
            "http://10.0.0.1/",
            ("ForbiddenAddressError", "refused: 10.0.0.1 is 10.0.0.1, not a public address", None, 1.0, False),
        ),
    ],
)
def test_an_address_that_cannot_be_fetched_has_its_reason(
    fetcher: HttpFetcher, url: str, expected: tuple[object, ...]
) -> None:
    assert summary_of(failure_of(fetcher, request(url))) == expected


def test_a_tls_failure_is_named(site: Site, fetcher: HttpFetcher) -> None:
    error = failure_of(fetcher, request(site.url.replace("http:", "https:")))
    assert (error.reason.partition(":")[2].split(":")[0], error.weight, error.is_transient) == (" TLS", 0.5, True)


def test_an_unusable_state_folder_is_a_settings_error(tmp_path: Path, open_fetcher: OpenFetcher) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="file cannot be used"):
        open_fetcher(state_dir=tmp_path / "file")


# --- size ------------------------------------------------------------------------------------------------------------


def test_a_body_is_decompressed(site: Site, fetcher: HttpFetcher) -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    for path, coding, body in (
        ("/gzip", "gzip", gzip.compress(b"first ") + gzip.compress(b"second") + b"\0\0"),
        ("/zlib", "deflate", zlib.compress(b"first second")),
        ("/raw", "deflate", raw.compress(b"first second") + raw.flush()),
        ("/none", "utf-8", b"first second"),
    ):
        url = site.put(path, answer(body, content_encoding=coding))
        assert fetcher.fetch(request(url)).body == b"first second", path


def test_the_bytes_on_the_wire_are_capped(site: Site, open_fetcher: OpenFetcher) -> None:
    def endless(connection: socket.socket, _: object) -> None:
        connection.sendall(b"HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    error = failure_of(open_fetcher(caps=BodyCaps(300_000, 1_000_000)), request(site.put("/x", endless)))
    assert summary_of(error) == ("TooLargeError", "more than 300,000 bytes", 200, 1.0, False)


def test_a_gzip_bomb_ends_at_the_cap_without_using_memory(site: Site, fetcher: HttpFetcher) -> None:
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()
    url = site.put("/x", answer(bomb, content_encoding="gzip"))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = failure_of(fetcher, request(url))
    assert summary_of(error) == ("TooLargeError", "more than 20,000,000 bytes decompressed", 200, 1.0, False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 60_000


def test_a_body_at_the_cap_is_a_page(site: Site, open_fetcher: OpenFetcher) -> None:
    url = site.put("/x", answer(b"x" * 1000))
    assert len(open_fetcher(caps=BodyCaps(1000, 1000)).fetch(request(url)).body) == 1000
    with pytest.raises(TooLargeError):
        open_fetcher(caps=BodyCaps(1000, 999)).fetch(request(url))


# --- redirects -------------------------------------------------------------------------------------------------------


def test_redirects_are_followed(site: Site, fetcher: HttpFetcher) -> None:
    url = site.put("/a", answer(status=301, location="/b?x=1#top"))
    site.put("/b?x=1", answer(status=307, location="c"))
    site.put("/c", answer(b"here"))
    page = fetcher.fetch(request(url))
    assert (page.url, page.final_url, page.body) == (url, f"{site.url}/c", b"here")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/a", ("FetchError", "redirect loop at {site}/a", 302, 0.5, False)),
        (
            "ftp://example.org/",
            ("FetchError", "redirects to ftp://example.org/, not an http(s) address", None, 1.0, False),
        ),
        ("http://[::1", ("FetchError", "invalid response: Invalid URL in location header", None, 0.5, True)),
        ("http://169.254.169.254/latest", ("ForbiddenAddressError", "refused: {metadata}", None, 1.0, False)),
    ],
)
def test_a_redirect_that_cannot_be_followed_has_its_reason(
    site: Site, fetcher: HttpFetcher, location: str, expected: tuple[str, ...]
) -> None:
    error = failure_of(fetcher, request(site.put("/a", answer(status=302, location=location))))
    named = {"site": site.url, "metadata": "169.254.169.254 is 169.254.169.254, not a public address"}
    assert summary_of(error)[2:] == expected[2:]
    assert error.reason.startswith(expected[1].format(**named)[:30])
    assert type(error).__name__ == expected[0]


def test_the_number_of_redirects_is_limited(site: Site, fetcher: HttpFetcher) -> None:
    for step in range(12):
        site.put(f"/{step}", answer(status=302, location=f"/{step + 1}"))
    error = failure_of(fetcher, request(f"{site.url}/0"))
    assert summary_of(error) == ("FetchError", "more than 10 redirects", 302, 0.5, False)
    assert len(site.requests) == 11


def test_a_redirect_without_a_location_is_an_error(site: Site, fetcher: HttpFetcher) -> None:
    assert failure_of(fetcher, request(site.put("/a", answer(status=302)))).reason == "refused (302)"


def test_a_cookie_set_by_a_redirect_is_sent_in_the_same_chain_only(site: Site, fetcher: HttpFetcher) -> None:
    def gate(connection: socket.socket, headers: dict[str, str]) -> None:
        is_let_in = headers.get("cookie") == "seen=1"
        connection.sendall(answer(b"in") if is_let_in else answer(status=302, location="/a", set_cookie="seen=1"))

    url = site.put("/a", gate)
    assert [fetcher.fetch(request(url)).body for _ in range(2)] == [b"in", b"in"]
    assert [headers.get("cookie") for *_, headers in site.requests] == [None, "seen=1", None, "seen=1"]


# --- private hosts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [("127.0.0.1",), ("127.0.0.0/8",), ("localhost",)])
def test_a_private_host_is_fetched_if_it_is_allowed(
    site: Site, open_fetcher: OpenFetcher, allowed: tuple[str, ...]
) -> None:
    url = site.put("/a", answer(b"in")).replace("127.0.0.1", "localhost")
    assert open_fetcher(allow_private_hosts=allowed).fetch(request(url)).body == b"in"


def test_a_private_host_that_is_not_allowed_gets_no_request(site: Site, open_fetcher: OpenFetcher) -> None:
    url = site.put("/a", answer(b"in")).replace("127.0.0.1", "localhost")
    with pytest.raises(ForbiddenAddressError):
        open_fetcher(allow_private_hosts=("127.0.1.0/24", "other")).fetch(request(url))
    assert site.requests == []


def test_proxies_of_the_environment_are_not_used(
    site: Site, open_fetcher: OpenFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert open_fetcher().fetch(request(site.put("/a", answer(b"in")))).body == b"in"
