"""HTTP/2 over TLS, against a small h2 server with a certificate generated for the test."""

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Access
from news_assets_tests.clients.web.conftest import OpenFetcher
from news_assets_tests.support.forward_proxy import PROXY_HOST, forward_proxy
from news_assets_tests.support.waiting import HANG_S

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl generates the certificate"
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {path} -out {path}.crt -days 1 -subj /CN=localhost"
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=DNS:localhost"],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def h2_url(certificate: Path) -> Iterator[str]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                plain, _ = server.accept()
                with (
                    suppress(OSError),
                    context.wrap_socket(plain, server_side=True) as connection,
                ):
                    _serve(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"https://localhost:{server.getsockname()[1]}"
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(timeout=HANG_S)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big")
        + bytes([kind, flags])
        + stream.to_bytes(4, "big")
        + payload
    )


_HEADER = b"\x00\x01x\x7f\x81\x7e" + b"y" * 16_384  # a literal of 16 kB
_FLOODS = {  # sent once, and repeated
    b"/continuation": (
        _frame(1, 0, 1, b"\x88"),
        _frame(9, 0, 1, b"\x00\x01x\x01y") * 1_000,
    ),
    b"/large-headers": (_frame(1, 0, 1, b"\x88"), _frame(9, 0, 1, _HEADER[:16_000])),
    b"/pings": (b"", _frame(6, 0, 0, bytes(8)) * 1_000),
    b"/settings": (b"", _frame(4, 0, 0, b"") * 1_000),
    b"/resets": (_frame(1, 4, 1, b"\x88"), _frame(3, 0, 3, bytes(4)) * 1_000),
    b"/empty-data": (_frame(1, 4, 1, b"\x88"), _frame(0, 0, 1, b"") * 1_000),
}


def _serve(connection: ssl.SSLSocket) -> None:
    h2 = H2Connection(H2Configuration(client_side=False))
    h2.initiate_connection()
    connection.sendall(h2.data_to_send())
    while data := connection.recv(65_535):
        for event in h2.receive_data(data):
            if isinstance(event, RequestReceived):
                if flood := _FLOODS.get(dict(event.headers)[b":path"]):
                    connection.settimeout(2)
                    connection.sendall(flood[0])
                    for _ in range(200_000_000 // len(flood[1])):
                        connection.sendall(flood[1])
                h2.send_headers(
                    event.stream_id, [(":status", "200"), ("content-type", "text/html")]
                )
                for _ in range(40 if dict(event.headers)[b":path"] == b"/drip" else 0):
                    h2.send_data(event.stream_id, b"x")
                    connection.sendall(h2.data_to_send())
                    time.sleep(0.03)
                h2.send_data(event.stream_id, b"x" * 16_000)
                h2.send_data(event.stream_id, b"x" * 14_000, end_stream=True)
        connection.sendall(h2.data_to_send())


def test_pages_arrive_over_http2_and_a_slow_body_ends_at_the_time_limit(
    h2_url: str, certificate: Path, open_fetcher: OpenFetcher
) -> None:
    fetcher = open_fetcher(
        ssl_context=ssl.create_default_context(cafile=f"{certificate}.crt"), total_s=0.4
    )
    pages = [
        fetcher.fetch(PageRequest(f"{h2_url}/{number}", obeys_robots=False))
        for number in range(2)
    ]
    assert [len(page.body) for page in pages] == [30_000, 30_000]
    with pytest.raises(FetchError, match="total time limit exceeded"):
        fetcher.fetch(PageRequest(f"{h2_url}/drip", obeys_robots=False))


def test_https_is_tunnelled_through_a_proxy(
    h2_url: str, certificate: Path, open_fetcher: OpenFetcher
) -> None:
    port = int(h2_url.rpartition(":")[2])
    context = ssl.create_default_context(cafile=f"{certificate}.crt")
    fetcher = open_fetcher(
        ssl_context=context, allow_private_hosts=(PROXY_HOST, "localhost"), total_s=3.0
    )
    with forward_proxy({"localhost": ("127.0.0.1", port)}) as proxy:
        page = fetcher.fetch(
            PageRequest(
                f"{h2_url}/a", obeys_robots=False, access=Access(proxy=proxy.url)
            )
        )
    assert len(page.body) == 30_000
    assert {(method, target) for method, target, _ in proxy.seen} == {
        ("CONNECT", f"localhost:{port}")
    }


@pytest.mark.parametrize("path", [path.decode() for path in _FLOODS])
def test_a_flood_of_frames_ends_at_the_time_limit(
    h2_url: str, certificate: Path, open_fetcher: OpenFetcher, path: str
) -> None:
    fetcher = open_fetcher(
        ssl_context=ssl.create_default_context(cafile=f"{certificate}.crt"), total_s=0.5
    )
    with pytest.raises(FetchError) as raised:
        fetcher.fetch(PageRequest(f"{h2_url}{path}", obeys_robots=False))
    assert raised.value.reason.startswith(
        ("total time limit exceeded", "invalid response: HTTP/2, ")
    )
    assert raised.value.is_transient


def test_an_untrusted_certificate_is_refused(h2_url: str, fetcher: HttpFetcher) -> None:
    with pytest.raises(
        FetchError, match="connection failed: TLS: self-signed certificate"
    ) as raised:
        fetcher.fetch(PageRequest(h2_url, obeys_robots=False))
    assert (raised.value.weight, raised.value.is_transient) == (0.5, True)
