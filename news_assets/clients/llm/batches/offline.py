"""Stands for the network of a model.

Shows the body that a direct call sends, and gives it the result of a batch.

So a batch sends and reads what a direct call does, whatever pydantic-ai makes of a
request and of a response.
"""

from typing import Any

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
