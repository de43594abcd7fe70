"""What the batches of each provider give, and the form of their requests and results.

`Offline` stands for the network of a model: it shows the body that a direct call sends,
and gives the model the result of a batch. So a batch sends and reads what a direct call
does, whatever pydantic-ai makes of a request and of a response.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from news_assets.ports.services import BatchState

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_REFUSED = (400, b"{}")


class Offline:
    """The network of one model.

    Keeps the `body` of the last request, and replies with `reply`, (status, body).
    """

    def __init__(self) -> None:
        self.body = b""
        self.reply = _REFUSED

    def http_client(self) -> Any:
        """Return an HTTP client of the kind that the providers' libraries use."""
        import httpx2

        def reply(request: Any) -> Any:
            self.body = request.content
            status, content = self.reply
            return httpx2.Response(
                status, content=content, headers={"Content-Type": "application/json"}
            )

        return httpx2.AsyncClient(transport=httpx2.MockTransport(reply), timeout=60)

    def refuse(self) -> None:
        """Refuse the next requests, so that only their body is seen."""
        self.reply = _REFUSED


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of a batch: its id there, and the body that a direct call would send."""

    custom_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one request.

    Status and body are those that a direct call would have been answered with.
    """

    custom_id: str
    status: int
    body: bytes


class BatchApi(Protocol):
    """One provider's batches. All calls are made with the client of `model`.

    `min_requests` and `max_requests` bound a batch. `make` and `find` know a batch by
    `key`, 16 hexadecimal digits with which the id of each of its requests begins as
    well.
    """

    min_requests: int
    max_requests: int

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return the same model with `offline` in the place of the network."""
        ...

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Make a batch and return its id.

        Nothing here is tried twice: the first try may have made it.
        """
        ...

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the id of the batch that was made under this key after `since`, if it
        was.
        """
        ...

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return what has become of a batch."""
        ...

    async def results(self, model: Any, batch_id: str) -> Iterable[Result]:
        """Return the results of a batch that is over, in any order.

        Requests that were not run are left out.
        """
        ...


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a file of JSON lines.

    Not splitlines(): it also splits at separators that JSON may contain.
    """
    return filter(None, text.split("\n"))
