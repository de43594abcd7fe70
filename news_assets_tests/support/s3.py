"""An S3 server on loopback with one bucket in memory: the requests of DuckDB's httpfs in path style."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.parts: dict[str, bytes] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _target(self) -> tuple[str, dict[str, list[str]]]:
        url = urlsplit(self.path)
        return unquote(url.path).lstrip("/").partition("/")[2], parse_qs(url.query, keep_blank_values=True)

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "ETag": '"1"', **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        key, query = self._target()
        body = self.server.objects.get(key)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if "list-type" in query:
            self._list(query["prefix"][0])
        elif body is None:
            self._answer(404)
        elif wanted is None or self.command == "HEAD":
            self._answer(200, body, Accept_Ranges="bytes", Last_Modified="Fri, 20 Nov 2026 12:00:00 GMT")
        else:
            first, last = int(wanted[1]), min(int(wanted[2] or len(body)), len(body) - 1)
            self._answer(206, body[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(body)}")

    def _list(self, prefix: str) -> None:
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-20T12:00:00.000Z</LastModified>"
            f'<ETag>"1"</ETag><Size>{len(body)}</Size></Contents>'
            for key, body in sorted(self.server.objects.items())
            if key.startswith(prefix)
        )
        self._answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode())

    def do_PUT(self) -> None:
        key, query = self._target()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "partNumber" in query:
            self.server.parts[key] = self.server.parts.get(key, b"") + body
        else:
            self.server.objects[key] = body
        self._answer(200)

    def do_POST(self) -> None:
        key, query = self._target()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "uploads" in query:
            self.server.parts[key] = b""
            self._answer(200, b"<R><UploadId>1</UploadId></R>")
        else:
            self.server.objects[key] = self.server.parts.pop(key)
            self._answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def do_DELETE(self) -> None:
        self.server.objects.pop(self._target()[0], None)
        self._answer(204)


@contextmanager
def s3_server() -> Iterator[tuple[str, dict[str, bytes]]]:
    """Run the server; yield its host with port, and its objects by key."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", server.objects
    finally:
        server.shutdown()
        server.server_close()
