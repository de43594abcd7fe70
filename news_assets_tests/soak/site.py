"""A newsroom on loopback with faults: good articles, hostile bodies, and on a share of
requests a random fault.

    with FaultySite(folder, agencies=12) as site:
        url = site.publish("a003", today)
        site.set_faults(0.0)

Each agency has an address of its own, so that a server that does not answer delays one
host. The site runs in a process of its own: `python -m news_assets_tests.soak.site
--port N`.
"""

import argparse
import json
import random
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from news_assets_tests.soak.faults import Answer, random_fault
from news_assets_tests.soak.hostile import bodies
from news_assets_tests.support.servers import free_port
from news_assets_tests.support.synthetic_desk import Shelf, agency_keys

DESK, HOSTILE = "soak", "hostile"
HOSTILE_HOSTS = 6


def host_of(number: int) -> str:
    return f"127.0.1.{number + 1}"


def hostile_host(number: int) -> str:
    return f"127.0.2.{number % HOSTILE_HOSTS + 1}"


class FaultySite:
    """The site in a process of its own."""

    def __init__(self, folder: Path, agencies: int, seed: int) -> None:
        self.keys, self.port = agency_keys(agencies), free_port()
        self.file = folder / f"{DESK}.yaml"
        self.file.write_text(yaml.safe_dump(self._desk()))
        options = (
            "--port",
            str(self.port),
            "--agencies",
            str(agencies),
            "--seed",
            str(seed),
        )
        self._command = [sys.executable, "-m", "news_assets_tests.soak.site", *options]

    def _desk(self) -> dict[str, Any]:
        agencies = {
            key: self._agency(f"http://{host_of(n)}:{self.port}/{key}/feed.xml")
            for n, key in enumerate(self.keys)
        }
        feeds = [
            f"http://{hostile_host(n)}:{self.port}/_hostile/{body.name}"
            for n, body in enumerate(bodies())
            if not body.is_page
        ]
        agencies[HOSTILE] = self._agency(
            f"http://{hostile_host(0)}:{self.port}/_hostile_pages.xml", *feeds
        )
        first_day = datetime.now(UTC).date() - timedelta(days=3)
        return {
            "desk": DESK,
            "timezone": "UTC",
            "language": "pt-BR",
            "first_day": first_day.isoformat(),
            "agencies": agencies,
        }

    def _agency(self, *urls: str) -> dict[str, Any]:
        kinds = ["json_feed" if url.endswith(".json") else "feed" for url in urls]
        sources = [
            {"kind": kind, "url": url, "every_minutes": 5}
            for kind, url in zip(kinds, urls, strict=True)
        ]
        return {"name": "Órgão", "sources": sources}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the site did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def publish(self, agency: str, day: date) -> str:
        """Add an article of this day to the agency's feed and return its address."""
        return str(self._post("publish", agency=agency, day=str(day))["url"])

    def set_faults(self, share: float) -> None:
        """Answer this share of the requests with a fault."""
        self._post("faults", share=share)

    def served(self) -> dict[str, int]:
        """Return how often each fault and each kind of answer was served."""
        return dict(self._post("served"))

    def _post(self, path: str, **values: Any) -> Any:
        request = urllib.request.Request(
            f"http://127.0.1.1:{self.port}/_{path}", json.dumps(values).encode()
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


class _Newsroom:
    """What the site serves."""

    def __init__(self, port: int, agencies: int, seed: int) -> None:
        self.share, self.served = 0.0, Counter[str]()
        self.lock, self.rng = threading.Lock(), random.Random(seed)
        self._shelves = {
            key: Shelf(f"http://{host_of(n)}:{port}", iter(()), paragraphs=4)
            for n, key in enumerate(agency_keys(agencies))
        }
        self._bodies = {body.name: body for body in bodies()}
        pages = [name for name, body in self._bodies.items() if body.is_page]
        items = "".join(
            f"<item><guid>{name}</guid><title>{name}</title>"
            f"<link>http://{hostile_host(n)}:{port}/_hostile/{name}</link></item>"
            for n, name in enumerate(pages)
        )
        self._pages = f'<rss version="2.0"><channel>{items}</channel></rss>'.encode()

    def answer(self, path: str) -> tuple[Answer, str | None]:
        """Return status, content type and body, and the Content-Encoding."""
        name = path.rpartition("/")[2]
        if path.startswith("/_hostile/") and name in self._bodies:
            body = self._bodies[name]
            return (200, body.content_type, body.content), body.encoding
        if path == "/_hostile_pages.xml":
            return (200, "application/rss+xml", self._pages), None
        shelf = self._shelves.get(path.split("/")[1])
        with self.lock:
            return (shelf.answer(path) if shelf else (404, "text/plain", b"")), None

    def order(self, path: str, values: dict[str, Any]) -> Any:
        """Carry out what the test asks for."""
        with self.lock:
            if path == "/_publish":
                return self._shelves[values["agency"]].publish(
                    values["agency"], date.fromisoformat(values["day"])
                )
            if path == "/_faults":
                self.share = values["share"]
            return self.served


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    newsroom: _Newsroom

    def do_GET(self) -> None:
        room, path = self.newsroom, urlsplit(self.path).path
        if path.startswith("/_loop/"):
            return self._redirect()
        answer, encoding = room.answer(path)
        with room.lock:
            is_faulty = room.rng.random() < room.share and path != "/robots.txt"
            fault = random_fault(room.rng) if is_faulty else None
            rng = random.Random(room.rng.random())
            room.served[fault.__name__ if fault else str(answer[0])] += 1
        if fault:
            self.close_connection = True
            return fault(self, answer, rng)
        return self._send(*answer, encoding)

    def do_POST(self) -> None:
        values = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send(
            200,
            "application/json",
            json.dumps(self.newsroom.order(self.path, values)).encode(),
            None,
        )

    def _redirect(self) -> None:
        self.send_response(302)
        self.send_header("Location", f"/_loop/{random.randrange(10**9)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(
        self, status: int, content_type: str, body: bytes, encoding: str | None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that ended."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--agencies", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    _Handler.newsroom = _Newsroom(options.port, options.agencies, options.seed)
    hosts = [
        *map(host_of, range(options.agencies)),
        *map(hostile_host, range(HOSTILE_HOSTS)),
    ]
    for host in hosts:
        server = _Server((host, options.port), _Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
