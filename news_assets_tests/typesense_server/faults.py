"""What a test may let go wrong in the running server, and what it may read afterwards.

Statuses and words as the server's published source has them: while it is starting or behind, 503 `Not Ready or
Lagging` to everything but its own state; when disk or memory runs out, 422 to writes other than DELETE; told to skip
writes, 422 to all of them.
"""

import time
from dataclasses import dataclass, field

from news_assets_tests.typesense_server.errors import ApiError

ABOUT_ITSELF = ("health", "debug", "status", "stats.json", "metrics.json", "operations", "config")


@dataclass(slots=True)
class Faults:
    """Switches; all off in the beginning. They may be changed while the server runs."""

    is_not_ready: bool = False
    is_write_lagging: bool = False  # 503 for writes alone
    out_of: str = ""  # OUT_OF_DISK or OUT_OF_MEMORY
    is_read_only: bool = False  # as with --skip-writes
    delay_s: float = 0.0
    drops_connections: int = 0  # so many of the next requests get no answer
    fails_next: int = 0  # so many of the next requests get a 500
    refused_ids: dict[str, str] = field(default_factory=dict)  # import lines by id, with the error they get
    queued_writes: int = 0  # what /status shows

    def wait(self) -> None:
        """Be slow, if that is asked for."""
        if self.delay_s:
            time.sleep(self.delay_s)

    def takes_connection(self) -> bool:
        """Tell whether this request is one of those that get no answer."""
        if self.drops_connections:
            self.drops_connections -= 1
            return True
        return False

    def check(self, method: str, area: str, is_write: bool) -> None:
        """Raise what the server answers instead of the work; `area` is the first part of the path.

        Raises:
            ApiError: 422, 500 or 503.
        """
        if self.fails_next:
            self.fails_next -= 1
            raise ApiError(500, "Internal Server Error")
        if area not in ABOUT_ITSELF and (self.is_not_ready or (is_write and self.is_write_lagging)):
            raise ApiError(503, "Not Ready or Lagging")
        if is_write and self.out_of and method != "DELETE":
            raise ApiError(422, f"Rejecting write: running out of resource type: {self.out_of}")
        if is_write and self.is_read_only:
            raise ApiError(422, "Skipping writes.")

    @property
    def is_healthy(self) -> bool:
        """What /health says."""
        return not (self.is_not_ready or self.out_of)


@dataclass(frozen=True, slots=True)
class Request:
    """One request the server got, for tests to read. Status 0: it was given no answer."""

    method: str
    path: str
    query: dict[str, str]
    body_bytes: int
    status: int
    action: str = ""  # of an import or a single document: create, upsert, update, emplace
