"""A council's Legistar Web API and the files of its attachments, over HTTP on loopback.

    with served(council) as base:
        url = f"{base}/v1/springfield"

Like Legistar, it ignores `$filter` of the listing, and lists what changed after the
first date of a signal's filter.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

_ITEMS = re.compile(r"/v1/springfield/events/(\d+)/eventitems")
_AFTER = re.compile(r"datetime'([^']+)'")
_TYPES = {b"%": "application/pdf", b"[": "application/json"}
_CHANGED_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Council:
    """What the server answers: events and items by event id, other answers by path, and
    the requests by path.

    HEAD requests are counted as `HEAD /path`; `refusals` may begin with `HEAD ` too.
    """

    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    items: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    modified: dict[str, str] = field(default_factory=dict)  # Last-Modified by path
    # statuses by the beginning of a path
    refusals: dict[str, int] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)

    def meet(
        self,
        number: int,
        day: date,
        clock: str = "6:00 PM",
        changed_at: datetime = _CHANGED_AT,
        **more: Any,
    ) -> None:
        """Add or change a meeting."""
        self.events[number] = {
            "EventId": number,
            "EventGuid": f"guid-{number}",
            "EventBodyName": "City Council",
            "EventDate": f"{day}T00:00:00",
            "EventTime": clock,
            "EventLocation": "Council Chambers, 12 Oak Street",
            "EventAgendaStatusName": "Final",
            "EventLastModifiedUtc": f"{changed_at:%Y-%m-%dT%H:%M:%S}",
            **more,
        }

    def put(
        self,
        event: int,
        number: int,
        title: str,
        *attachments: tuple[str, str],
        **more: Any,
    ) -> None:
        """Add an item to a meeting; attachments are (name, address)."""
        items = self.items.setdefault(event, [])
        items.append(
            {
                "EventItemId": number,
                "EventItemEventId": event,
                "EventItemAgendaSequence": len(items) + 1,
                "EventItemAgendaNumber": f"{len(items) + 1}.",
                "EventItemTitle": title,
                "EventItemMatterAttachments": [
                    {"MatterAttachmentName": name, "MatterAttachmentHyperlink": url}
                    for name, url in attachments
                ],
                **more,
            }
        )

    def answer(
        self, path: str, query: str, method: str = "GET"
    ) -> tuple[int, str, bytes]:
        """Return status, content type and body."""
        request = path if method == "GET" else f"{method} {path}"
        self.requests[request] += 1
        for start, status in self.refusals.items():
            if request.startswith(start):
                return (
                    status,
                    "text/plain",
                    b"Key or Token is required." if status == 403 else b"unavailable",
                )
        if path in self.files:
            return 200, _TYPES.get(self.files[path][:1], "text/html"), self.files[path]
        if match := _ITEMS.fullmatch(path):
            return (
                200,
                "application/json",
                json.dumps(self.items.get(int(match[1]), [])).encode(),
            )
        if path == "/v1/springfield/events":
            found = list(self.events.values())
            if "$select" in query and (after := _AFTER.search(unquote(query))):
                found = [
                    event for event in found if event["EventLastModifiedUtc"] > after[1]
                ]
            return 200, "application/json", json.dumps(found).encode()
        return 404, "text/plain", b"not found"


@contextmanager
def served(council: Council) -> Iterator[str]:
    """Serve the council; yield the server's origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            status, content_type, body = council.answer(
                parts.path, parts.query, self.command
            )
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if parts.path in council.modified:
                self.send_header("Last-Modified", council.modified[parts.path])
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def days_from(first: date, count: int, every: int = 7) -> list[date]:
    """Return days at equal distances."""
    return [first + timedelta(days=every * number) for number in range(count)]
