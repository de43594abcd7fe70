"""Faults that tests switch on in the running server, and entries of its request log.

Statuses and messages are those of the server's published source: 503 `Not Ready or
Lagging` to everything but status routes while it starts or lags, 422 to writes other
than DELETE without disk space or memory, and 422 to all writes with `--skip-writes`.
"""

import time
from dataclasses import dataclass, field

from news_assets_tests.typesense_server.errors import ApiError

ABOUT_ITSELF = (
    "health",
    "debug",
    "status",
    "stats.json",
    "metrics.json",
    "operations",
    "config",
)


@dataclass(slots=True)
class Faults:
    """Switches, off by default; they can be changed while the server runs."""

    is_not_ready: bool = False
    is_write_lagging: bool = False  # 503 for writes alone
    out_of: str = ""  # OUT_OF_DISK or OUT_OF_MEMORY
    is_read_only: bool = False  # as with --skip-writes
    delay_s: float = 0.0
    drops_connections: int = 0  # number of next requests that get no response
    fails_next: int = 0  # number of next requests that get a 500
    # ids of import lines, with their errors
    refused_ids: dict[str, str] = field(default_factory=dict)
    queued_writes: int = 0  # as shown at /status

    def wait(self) -> None:
        """Wait for `delay_s`."""
        if self.delay_s:
            time.sleep(self.delay_s)

    def takes_connection(self) -> bool:
        """Return whether this request gets no response, and count it."""
        if self.drops_connections:
            self.drops_connections -= 1
            return True
        return False

    def check(self, method: str, area: str, is_write: bool) -> None:
        """Raise the error of a fault that is switched on; `area` is the first segment
        of the path.

        Raises:
            ApiError: 422, 500 or 503.
        """
        if self.fails_next:
            self.fails_next -= 1
            raise ApiError(500, "Internal Server Error")
        if area not in ABOUT_ITSELF and (
            self.is_not_ready or (is_write and self.is_write_lagging)
        ):
            raise ApiError(503, "Not Ready or Lagging")
        if is_write and self.out_of and method != "DELETE":
            raise ApiError(
                422, f"Rejecting write: running out of resource type: {self.out_of}"
            )
        if is_write and self.is_read_only:
            raise ApiError(422, "Skipping writes.")

    @property
    def is_healthy(self) -> bool:
        """The status at /health."""
        return not (self.is_not_ready or self.out_of)


@dataclass(frozen=True, slots=True)
class Request:
    """A logged request; status 0 means that it got no response."""

    method: str
    path: str
    query: dict[str, str]
    body_bytes: int
    status: int
    action: str = ""  # of writes of documents: create, upsert, update, emplace
