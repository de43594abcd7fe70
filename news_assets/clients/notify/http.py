"""POST of JSON to addresses that the same rules permit as pages to fetch; redirects are
not followed.
"""

import ssl
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import httpx

from news_assets.clients.web.responses import as_fetch_errors, retry_after_s
from news_assets.clients.web.transport import (
    BAD_PORTS,
    AddressPolicy,
    GuardedTransport,
    deadline,
)
from news_assets.errors import FetchError, ForbiddenAddressError, NotifyError

# of one message; a receiver that hangs holds up the others of its run
_TOTAL_S: Final = 30.0
_TRANSIENT: Final = (408, 425, 429)


class JsonSender:
    """An HTTP client for messages. Thread-safe; `close` ends it."""

    def __init__(
        self,
        user_agent: str,
        allow_private_hosts: Iterable[str] = (),
        ssl_context: ssl.SSLContext | None = None,
        total_s: float = _TOTAL_S,
    ) -> None:
        context = ssl_context or httpx.create_ssl_context(trust_env=False)
        self._client = httpx.Client(
            transport=GuardedTransport(AddressPolicy(allow_private_hosts), context),
            headers={"User-Agent": user_agent},
            timeout=total_s,
            trust_env=False,
        )
        self._total_s = total_s

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        retries_refusals: bool = False,
    ) -> None:
        """Send a JSON body; done if the answer is 2xx. The address, which may hold a
        secret, is in no error.

        Raises:
            NotifyError: The message was not accepted. Another attempt can help after
                408, 425, 429, 5xx and without an answer; with `retries_refusals` after
                other refusals too, but for 410 (Gone) and redirects.
        """
        headers = {"Content-Type": "application/json", **(headers or {})}
        try:
            with as_fetch_errors(""), deadline(self._total_s):
                status, wait_s = self._send(url, body, headers)
        except ForbiddenAddressError as error:
            hint = "if it is to be sent there, name it in NEWS_ALLOW_PRIVATE_HOSTS"
            raise NotifyError(
                f"{error.reason.replace(url, 'the address')}; {hint}",
                is_transient=False,
            ) from None
        except FetchError as error:
            raise NotifyError(
                error.reason.replace(url, "the address"),
                is_transient=error.is_transient,
            ) from None
        if 200 <= status < 300:
            return
        raise NotifyError(
            f"answered {status}",
            is_transient=_is_transient(status, retries_refusals=retries_refusals),
            retry_after_s=wait_s,
        )

    def _send(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, float | None]:
        """Return the status of the response and its Retry-After in seconds."""
        if httpx.URL(url).port in BAD_PORTS:
            raise NotifyError(
                "refused: the port belongs to another protocol", is_transient=False
            )
        with self._client.stream("POST", url, content=body, headers=headers) as found:
            return found.status_code, retry_after_s(found.headers, datetime.now(UTC))


def _is_transient(status: int, *, retries_refusals: bool) -> bool:
    if status == 410:
        return False
    if status in _TRANSIENT or status >= 500:
        return True
    return retries_refusals and status >= 400
