"""Fetch one URL or many politely: robots.txt, host slots, redirects, caps. Implements
`ports.Fetcher` over httpx.
"""

import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx

from news_assets.clients.web.host_slots import open_slots
from news_assets.clients.web.origins import (
    MAX_ROBOTS_BYTES,
    Hop,
    Logins,
    RedirectChain,
    Robots,
    SecretOf,
    Tokens,
    without_login,
)
from news_assets.clients.web.politeness import (
    HostSlot,
    Politeness,
    QuickTries,
    StoppedError,
    alternating,
    host_of,
    run_by_host,
    takes_a_break,
    vendor_slot,
)
from news_assets.clients.web.responses import (
    HTTPX_ERRORS,
    BodyCaps,
    as_fetch_errors,
    bot_wall_of,
    charset_of,
    content_length_of,
    content_type_of,
    max_age_s,
    read_body,
    retry_after_s,
    status_error_of,
    validators_of,
)
from news_assets.clients.web.transport import AddressPolicy, GuardedTransport, Proxy
from news_assets.errors import (
    TRANSIENT_STATUSES,
    FetchError,
    SettingsError,
    TooLargeError,
)
from news_assets.folders import private_folder
from news_assets.ports.services import Clock, PageRequest
from news_assets.records.desks import Access
from news_assets.records.reading import Page, Validators
from news_assets.retry_table import CONNECTION

MAX_REDIRECTS = 10
PAGE_CAPS = BodyCaps()
# enough to recognise a bot wall and to keep the connection open
_ERROR_CAPS = BodyCaps(64_000, 256_000)
_ROBOTS_S = 20.0  # in total: a slow host's page is waited for as well
_ROBOTS_CAPS = BodyCaps(MAX_ROBOTS_BYTES, MAX_ROBOTS_BYTES)
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate",
}


def _no_secret(name: str) -> None:
    """Return None: no variable of the environment is given to this fetcher."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class _Tried(NamedTuple):
    """The result of a request, None if it was stopped before it was sent, and the
    seconds that its tries have taken.
    """

    result: Page | FetchError | None
    spent_s: float


class HttpFetcher:
    """A polite HTTP client. Thread-safe; `close()` or `with` ends it.

    `delay_s` is the minimum pause between two requests to one host, kept by all
    fetchers of this machine that share `state_dir`, or of all machines if `catalog` is
    an address of Postgres. `allow_private_hosts` names hosts or CIDR blocks that may be
    fetched although they are not public. `logins` are of the
    form `https://user:password@host`, of a site or a proxy; user and password of other
    addresses are not sent. `secret_of` returns the variable of the environment that a
    source names for its token. `total_s` limits one URL with its redirects, without
    waits for host slots. `retry_pauses_s` are the pauses before the further tries of
    requests with `retries_connection` whose connection failed, see `QuickTries`.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        delay_s: float,
        state_dir: Path,
        catalog: str = "",
        allow_private_hosts: tuple[str, ...] = (),
        logins: Iterable[str] = (),
        secret_of: SecretOf = _no_secret,
        max_workers: int = 8,
        connect_s: float = 10.0,
        read_s: float = 20.0,
        total_s: float = 60.0,
        retry_pauses_s: Sequence[float] = CONNECTION.pauses_s,
        caps: BodyCaps = PAGE_CAPS,
        ssl_context: ssl.SSLContext | None = None,
        clock: Clock = _utc_now,
    ) -> None:
        try:
            private_folder(state_dir)
            self._politeness = Politeness(open_slots(state_dir, catalog), delay_s)
        except OSError as error:
            raise SettingsError(
                f"{state_dir} cannot be used as the folder of host locks: {error.strerror}"
            ) from error
        context = ssl_context or httpx.create_ssl_context(trust_env=False)
        self._client = httpx.Client(
            transport=GuardedTransport(AddressPolicy(allow_private_hosts), context),
            headers={**_HEADERS, "User-Agent": user_agent},
            timeout=httpx.Timeout(read_s, connect=connect_s),
            # Cookies live in one RedirectChain only.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            trust_env=False,
        )
        self._logins = Logins(logins)
        self._tokens = Tokens(secret_of)
        self._robots = Robots(user_agent, self._robots_text, state_dir)
        self._max_workers = max_workers
        self._total_s = total_s
        self._caps = caps
        self._clock = clock
        self._retry_pauses_s = retry_pauses_s
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection and cancel waits for host slots."""
        self._closing.set()
        self._client.close()
        self._politeness.close()

    def fetch(self, request: PageRequest) -> Page:
        """Return one page, after redirects; a 304 is a page with `is_unchanged`. Raises
        FetchError.
        """
        chain = self._chain(request, self._closing)
        return self._fetch(chain)

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or error as they arrive; a host's requests
        keep their order.

        At most twice `max_workers` pages are in memory. Leaving the iteration early
        cancels the rest. After `begin_within_s` seconds no request begins, and those
        that wait for a host slot are left out too.
        """
        queues = _queues_of(requests)
        if not queues:
            return
        tries = QuickTries(self._retry_pauses_s, self._total_s)
        results = run_by_host(
            queues,
            run=partial(self._try, tries),
            wait_s=self._wait_s,
            repeat_s=partial(self._pause_s, tries),
            max_workers=self._max_workers,
            begin_within_s=begin_within_s,
        )
        for request, (result, _) in results:
            if result is not None:
                yield request, result

    def _wait_s(self, queue: str, following: PageRequest) -> float:
        """Return the seconds until the next request of a queue may start."""
        host = host_of(following.url)
        wait_s = self._politeness.wait_s(host)
        if queue == host:
            return wait_s
        return max(wait_s, self._politeness.wait_s(queue, host))

    def _try(
        self, tries: QuickTries, request: PageRequest, stopping: threading.Event
    ) -> _Tried:
        spent_s = tries.spent_s(host_of(request.url))
        chain = self._chain(request, stopping, spent_s)
        try:
            page = self._fetch(chain)
        except FetchError as error:
            if isinstance(error.__cause__, StoppedError):
                return _Tried(None, chain.elapsed_s)
            return _Tried(error, chain.elapsed_s)
        return _Tried(page, chain.elapsed_s)

    def _pause_s(
        self, tries: QuickTries, request: PageRequest, tried: _Tried
    ) -> float | None:
        """Return the pause before a request is sent again; None if its result counts."""
        pause_s = tries.pause_s(host_of(request.url), request, *tried)
        if pause_s is not None:
            # The next try requests it again.
            self._robots.forget_failure(request.url, request.access)
        return pause_s

    def _chain(
        self, request: PageRequest, stopping: threading.Event, elapsed_s: float = 0.0
    ) -> RedirectChain:
        total_s = self._total_s
        if request.max_s is not None:
            total_s = min(total_s, request.max_s)
        return RedirectChain(request, total_s, stopping, elapsed_s=elapsed_s)

    def _fetch(self, chain: RedirectChain) -> Page:
        """Return one page. Any exception is a FetchError: one odd response must not end
        the requests for others.
        """
        try:
            return self._follow(chain)
        except FetchError as error:
            error.elapsed_ms = chain.elapsed_ms
            raise
        except Exception as error:
            reason = f"error in the HTTP client: {type(error).__name__}: {error}"
            raise FetchError(
                chain.request.url, reason, elapsed_ms=chain.elapsed_ms
            ) from error

    def _follow(self, chain: RedirectChain) -> Page:
        request = chain.request
        with as_fetch_errors(request.url):
            url = httpx.URL(request.url).copy_with(userinfo=b"")
        for _ in range(MAX_REDIRECTS + 1):
            chain.check_url(url)
            if not chain.is_robots:
                self._obey_pauses(url, request)
            hop = self._send(url, chain)
            if hop.location is None:
                return self._page_of(hop, chain)
            url = chain.next_url(hop)
        raise FetchError(
            request.url, f"more than {MAX_REDIRECTS} redirects", status=hop.status
        )

    def _obey_pauses(self, url: httpx.URL, request: PageRequest) -> None:
        """Set the host's pauses. Raises FetchError where robots.txt forbids the URL."""
        self._politeness.set_delay(url.host, request.access.delay_s)
        crawl_delay_s = self._robots.check(url, request)
        if crawl_delay_s is not None:
            self._politeness.set_crawl_delay(url.host, crawl_delay_s)

    def _send(self, url: httpx.URL, chain: RedirectChain) -> Hop:
        """Send one request in a host slot and read its response; a chain that was begun
        is not stopped.
        """
        stopping = self._closing if chain.visited else chain.stopping
        with (
            as_fetch_errors(chain.request.url),
            self._vendor_slot(chain, stopping),
            self._politeness.slot(url.host, stopping, url=str(url)) as slot,
            chain.timed(),
            closing(
                self._client.send(self._http_request(url, chain), stream=True)
            ) as response,
        ):
            wait_s = self._note_times(response, slot)
            return Hop(url, response, self._read(response, chain), wait_s)

    def _vendor_slot(
        self, chain: RedirectChain, stopping: threading.Event
    ) -> AbstractContextManager[object]:
        """Return the slot of the vendor, if the source has one. It is always taken
        before a host's slot.
        """
        vendor = chain.request.access.vendor
        host = host_of(chain.request.url)
        if vendor is None:
            return nullcontext()
        name = vendor_slot(vendor, host)
        self._politeness.set_delay(name, vendor.delay_s, vendor.break_s)
        return self._politeness.slot(name, stopping, served=host)

    def _http_request(self, url: httpx.URL, chain: RedirectChain) -> httpx.Request:
        stated = chain.request
        body = None if chain.visited or chain.is_robots else stated.body
        headers = stated.access.headers
        if not chain.is_robots:
            headers = (*headers, *stated.headers)
        request = self._client.build_request(
            _method_of(stated, body),
            url,
            content=body,
            headers=headers,
            extensions=self._extensions(url, chain),
        )
        request.headers.update(_conditions(stated.validators))
        request.headers.update(self._credentials(url, chain))
        if chain.cookies is not None:
            chain.cookies.set_cookie_header(request)
        return request

    def _extensions(self, url: httpx.URL, chain: RedirectChain) -> dict[str, Any]:
        """Return the proxy of the request, and its address with a token."""
        extensions: dict[str, Any] = {}
        proxy = chain.request.access.proxy
        if proxy:
            extensions["proxy"] = self._proxy_of(proxy)
        if _carries_token(chain):
            target = self._tokens.target_of(url, chain.request)
            if target:
                extensions["target"] = target
        return extensions

    def _credentials(self, url: httpx.URL, chain: RedirectChain) -> dict[str, str]:
        """Return the headers with a login or a token, at the request's own origin."""
        headers: dict[str, str] = {}
        if chain.is_at_origin:
            login = self._logins.header_for(url)
            if login:
                headers["Authorization"] = login
        if _carries_token(chain):
            token = self._tokens.header_for(url, chain.request)
            if token:
                name, value = token
                headers[name] = value
        return headers

    def _proxy_of(self, url: str) -> Proxy:
        authorization = self._logins.header_for(httpx.URL(url))
        return Proxy(url, authorization)

    def _note_times(self, response: httpx.Response, slot: HostSlot) -> float | None:
        """Note the response's time and Retry-After in the slot; return the Retry-After
        in seconds.
        """
        slot.responded_at = time.time()
        wait_s = retry_after_s(response.headers, self._clock())
        if response.status_code in (429, 503):
            slot.retry_after_s = wait_s or 0.0
        return wait_s

    def _read(self, response: httpx.Response, chain: RedirectChain) -> bytes:
        """Read the body: a page in full, a robots.txt up to its cap, of an error
        response as much as was received.
        """
        caps = self._caps
        ignored = tuple[type[Exception], ...]()
        if not response.is_success:
            caps, ignored = _ERROR_CAPS, (FetchError, *HTTPX_ERRORS)
        elif chain.is_robots:
            caps, ignored = _ROBOTS_CAPS, (TooLargeError,)
        body = bytearray()
        with suppress(*ignored):
            read_body(response, caps, body, chain.request.url)
        return bytes(body)

    def _page_of(self, hop: Hop, chain: RedirectChain) -> Page:
        request, headers = chain.request, hop.response.headers
        confirmed = request.validators if hop.status == 304 else Validators()
        if not _is_page(hop, request, confirmed):
            bot_wall = bot_wall_of(hop.status, dict(headers), hop.body)
            raise status_error_of(request.url, hop.status, bot_wall, hop.retry_after_s)
        now = self._clock()
        content_type = content_type_of(headers)
        return Page(
            url=without_login(request.url),
            final_url=str(hop.url),
            status=hop.status,
            body=hop.body,
            content_type=content_type,
            encoding=charset_of(content_type),
            validators=validators_of(headers, confirmed),
            content_length=content_length_of(headers),
            max_age_s=max_age_s(headers, now),
            fetched_at=now,
            elapsed_ms=chain.elapsed_ms,
        )

    def _robots_text(self, robots_url: str, access: Access) -> str:
        """Return one robots.txt; without its last line if it is longer than the cap.
        Raises FetchError.
        """
        request = PageRequest(robots_url, obeys_robots=False, access=access)
        total_s = min(self._total_s, _ROBOTS_S)
        chain = RedirectChain(request, total_s, self._closing, is_robots=True)
        body = self._fetch(chain).body
        if len(body) > MAX_ROBOTS_BYTES:
            last_end = max(
                body.rfind(b"\n", 0, MAX_ROBOTS_BYTES),
                body.rfind(b"\r", 0, MAX_ROBOTS_BYTES),
            )
            body = body[: last_end + 1]
        return body.decode("utf-8", "replace")


def _queues_of(requests: Iterable[PageRequest]) -> dict[str, list[PageRequest]]:
    """Return the requests by host, or by the slot of their vendor."""
    by_host: dict[str, list[PageRequest]] = defaultdict(list)
    for request in requests:
        by_host[host_of(request.url)].append(request)
    queues: dict[str, list[PageRequest]] = defaultdict(list)
    for host, request in alternating(by_host, takes_a_break):
        vendor = request.access.vendor
        name = vendor_slot(vendor, host) if vendor else host
        queues[name].append(request)
    return queues


def _carries_token(chain: RedirectChain) -> bool:
    return chain.is_at_origin and not chain.is_robots


def _method_of(request: PageRequest, body: bytes | None) -> str:
    if request.is_head:
        return "HEAD"
    return "GET" if body is None else "POST"


def _conditions(validators: Validators) -> dict[str, str]:
    """Return the headers that make a request conditional."""
    headers = {}
    if validators.etag:
        headers["If-None-Match"] = validators.etag
    if validators.last_modified:
        headers["If-Modified-Since"] = validators.last_modified
    return headers


def _is_page(hop: Hop, request: PageRequest, confirmed: Validators) -> bool:
    """Return whether a response is a page, not a failed fetch."""
    if hop.response.is_success:
        return True
    if confirmed.etag or confirmed.last_modified:  # it has not changed
        return True
    return _is_kept_refusal(request, hop.status)


def _is_kept_refusal(request: PageRequest, status: int) -> bool:
    """Return whether a refusal is a page, because the source says something by it."""
    if not request.keeps_refusals:
        return False
    if status in TRANSIENT_STATUSES:
        return False
    return 400 <= status < 500
