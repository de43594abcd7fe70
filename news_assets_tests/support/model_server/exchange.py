"""One HTTP request and its reply."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from news_assets_tests.support.model_server.server import ModelServer


@dataclass(frozen=True)
class Request:
    """A request; `path` is the match of its route, `query` has the first value of each
    name.
    """

    path: re.Match[str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The body as an object."""
        read: dict[str, Any] = json.loads(self.body)
        return read


@dataclass(frozen=True)
class Reply:
    """A reply: an object that is sent as JSON, or bytes."""

    content: dict[str, Any] | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Route = tuple[str, re.Pattern[str], Callable[["ModelServer", Request], Reply]]
