"""The fetcher: requests in, pages or one clear error each out. Implements `ports.Fetcher` over httpx.

One URL's way through redirects, robots.txt, turns and caps stands here; the single rules stand beside it in
`addresses`, `network`, `politeness`, `robots`, `headers`, `body`, `shields` and `fetch_errors`. When to ask again is
decided in `pipeline/schedule.py`.
"""

import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Self

import httpx

from news_assets.clients.web.addresses import AddressPolicy
from news_assets.clients.web.body import BodyCaps, read_body
from news_assets.clients.web.bot_walls import shield_of
from news_assets.clients.web.errors import HTTPX_ERRORS, status_error_of
from news_assets.clients.web.headers import max_age_s, retry_after_s, validators_of
from news_assets.clients.web.host_queue import side_by_side
from news_assets.clients.web.politeness import Politeness, Turn
from news_assets.clients.web.redirects import Answer, Journey, check_scheme, translated
from news_assets.clients.web.robots import MAX_ROBOTS_BYTES, Robots
from news_assets.clients.web.transport import GuardedTransport
from news_assets.errors import FetchError, SettingsError
from news_assets.ports import PageRequest
from news_assets.records import Page

MAX_REDIRECTS = 10
PAGE_CAPS = BodyCaps()
_REFUSAL_CAPS = BodyCaps(64_000, 256_000)  # of a refusal as much is read as tells a shield and keeps the connection
_ROBOTS_CAPS = BodyCaps(MAX_ROBOTS_BYTES, MAX_ROBOTS_BYTES)
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate",
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class HttpFetcher:
    """A polite HTTP client, safe to share among threads; `close()` or `with` ends it.

    `delay_s` is the least pause between two requests to one host, kept by all fetchers of this machine that share
    `state_dir`. `allow_private_hosts` names hosts or CIDR blocks that may be asked though they are not public.
    `total_s` caps one URL with its redirects, waiting for turns not counted.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        delay_s: float,
        state_dir: Path,
        allow_private_hosts: tuple[str, ...] = (),
        max_workers: int = 8,
        connect_s: float = 10.0,
        read_s: float = 20.0,
        total_s: float = 60.0,
        caps: BodyCaps = PAGE_CAPS,
        ssl_context: ssl.SSLContext | None = None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        try:
            self._politeness = Politeness(state_dir, delay_s)
        except OSError as error:
            raise SettingsError(
                f"{state_dir} cannot be used as the folder for hosts' turns: {error.strerror}"
            ) from error
        self._client = httpx.Client(
            transport=GuardedTransport(
                AddressPolicy(allow_private_hosts), ssl_context or httpx.create_ssl_context(trust_env=False)
            ),
            headers={**_HEADERS, "User-Agent": user_agent},
            timeout=httpx.Timeout(read_s, connect=connect_s),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # nothing is remembered between two URLs
            trust_env=False,
        )
        self._robots = Robots(user_agent, self._robots_text)
        self._max_workers, self._total_s, self._caps, self._clock = max_workers, total_s, caps, clock
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; waits for turns are called off."""
        self._closing.set()
        self._client.close()

    def fetch(self, request: PageRequest) -> Page:
        """Return one page, after redirects. A 304 is a page too, with `is_unchanged`. Raises FetchError."""
        return self._follow(Journey(request, self._total_s, self._closing))

    def fetch_all(self, requests: Iterable[PageRequest]) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or error as they arrive; a host's requests keep their order.

        No more than twice `max_workers` pages exist at a time. Leaving the iteration early stops the rest.
        """
        by_host: dict[str, list[PageRequest]] = defaultdict(list)
        for request in requests:
            by_host[_host_of(request.url)].append(request)
        if by_host:
            yield from side_by_side(by_host, self._ask_once, self._politeness.wait_s, self._max_workers)

    def _ask_once(self, request: PageRequest, stopping: threading.Event) -> Page | FetchError:
        try:
            return self._follow(Journey(request, self._total_s, stopping))
        except FetchError as error:
            return error

    def _follow(self, journey: Journey) -> Page:
        with translated(journey.request.url):
            url = httpx.URL(journey.request.url)
        for _ in range(MAX_REDIRECTS + 1):
            check_scheme(url, journey)
            if journey.request.obeys_robots:
                self._obey_robots(url, journey)
            answer = self._ask(url, journey)
            if answer.redirect is None:
                return self._page_of(answer, journey)
            url = journey.next_url(answer)
        raise FetchError(journey.request.url, f"more than {MAX_REDIRECTS} redirects", status=answer.status)

    def _ask(self, url: httpx.URL, journey: Journey) -> Answer:
        """Send one request in the host's turn and read its answer, a page's in full, a refusal's in part."""
        with (
            translated(journey.request.url),
            self._politeness.turn(url.host, journey.stopping) as turn,
            journey.timed(),
            closing(self._client.send(self._request_of(url, journey), stream=True)) as response,
        ):
            wait_s = self._note(response, turn)
            body = bytearray()
            if response.is_success:
                with suppress(*journey.tolerated):
                    read_body(response, _ROBOTS_CAPS if journey.is_robots else self._caps, body, journey.request.url)
            else:
                with suppress(FetchError, *HTTPX_ERRORS):  # the status says enough
                    read_body(response, _REFUSAL_CAPS, body, journey.request.url)
        return Answer(url, response, bytes(body), wait_s)

    def _request_of(self, url: httpx.URL, journey: Journey) -> httpx.Request:
        request = self._client.build_request("GET", url)
        validators = journey.request.validators
        if validators.etag:
            request.headers["If-None-Match"] = validators.etag
        if validators.last_modified:
            request.headers["If-Modified-Since"] = validators.last_modified
        if journey.cookies is not None:
            journey.cookies.set_cookie_header(request)
        return request

    def _note(self, response: httpx.Response, turn: Turn) -> float | None:
        """Tell the turn when the answer came; return the pause in seconds that it asks for."""
        turn.answered_at = time.time()
        wait_s = retry_after_s(response.headers, self._clock())
        if response.status_code in (429, 503):
            turn.retry_after_s = wait_s or 0.0
        return wait_s

    def _page_of(self, answer: Answer, journey: Journey) -> Page:
        request, response, url = journey.request, answer.response, journey.request.url
        is_unchanged = answer.status == 304 and (request.validators.etag or request.validators.last_modified)
        if not response.is_success and not is_unchanged:
            shield = shield_of(answer.status, dict(response.headers), answer.body)
            raise status_error_of(url, answer.status, shield, answer.wait_s)
        now = self._clock()
        return Page(
            url=url,
            final_url=str(answer.url),
            status=answer.status,
            body=answer.body,
            content_type=response.headers.get("content-type", ""),
            encoding=response.charset_encoding,
            validators=validators_of(response.headers, *([request.validators] if is_unchanged else ())),
            max_age_s=max_age_s(response.headers, now),
            fetched_at=now,
            elapsed_ms=round(journey.elapsed_s * 1000),
        )

    # --- robots.txt --------------------------------------------------------------------------------------------------

    def _obey_robots(self, url: httpx.URL, journey: Journey) -> None:
        crawl_delay_s = self._robots.check(url, journey.request.url)
        if crawl_delay_s is not None:
            self._politeness.slow_down(url.host, crawl_delay_s)

    def _robots_text(self, robots_url: str) -> str:
        """Return one robots.txt, cut at its cap. Raises FetchError."""
        request = PageRequest(robots_url, obeys_robots=False)
        page = self._follow(Journey(request, self._total_s, self._closing, is_robots=True))
        return page.body.decode("utf-8", "replace")


def _host_of(url: str) -> str:
    """Give the host whose turn a request waits for; empty for what is no address."""
    try:
        return httpx.URL(url).host
    except httpx.InvalidURL:
        return ""
