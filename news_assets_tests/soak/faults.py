"""What a server can do in place of a good answer. Each fault writes to the handler's
connection and ends it.
"""

import random
import socket
import struct
import time
import zlib
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler

Answer = tuple[int, str, bytes]  # status, content type, body
Fault = Callable[[BaseHTTPRequestHandler, Answer, random.Random], None]

STALL_S = 25.0  # longer than the client waits for a byte
_TRICKLE_S = 70.0  # longer than the client takes for one URL
_BOMB_MB = 512


def wrong_status(
    handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random
) -> None:
    # not 410: a page that is gone is not requested again
    status = rng.choice((403, 404, 429, 500, 502, 503, 504))
    _head(
        handler,
        status,
        **{"Content-Length": "5", "Retry-After": str(rng.choice((0, 1, 5)))},
    )
    handler.wfile.write(b"fault")


def stall(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    time.sleep(STALL_S)


def slow(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    _in_pieces(handler, good, pieces=20, seconds=5.0)


def trickle(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    _in_pieces(handler, good, pieces=70, seconds=_TRICKLE_S)


def truncated(
    handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random
) -> None:
    _head(
        handler,
        good[0],
        **{"Content-Type": good[1], "Content-Length": str(len(good[2]) + 1)},
    )
    handler.wfile.write(good[2][: rng.randrange(len(good[2]) + 1)])


def length_too_small(
    handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random
) -> None:
    _head(
        handler,
        good[0],
        **{"Content-Type": good[1], "Content-Length": str(len(good[2]) // 2)},
    )
    handler.wfile.write(good[2])


def wrong_chunks(
    handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random
) -> None:
    _head(handler, good[0], **{"Content-Type": good[1], "Transfer-Encoding": "chunked"})
    handler.wfile.write(b"zz\r\n" + good[2][:100] + b"\r\n-5\r\n")


def reset(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    if rng.random() < 0.5:
        _head(
            handler,
            good[0],
            **{"Content-Type": good[1], "Content-Length": str(len(good[2]))},
        )
        handler.wfile.write(good[2][: len(good[2]) // 2])
        handler.wfile.flush()
    handler.connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )


def redirect_loop(
    handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random
) -> None:
    _head(
        handler,
        302,
        Location=f"/_loop/{rng.randrange(10**9)}",
        **{"Content-Length": "0"},
    )


def bomb(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    body = _zeros()
    headers = {
        "Content-Type": good[1],
        "Content-Encoding": "gzip",
        "Content-Length": str(len(body)),
    }
    _head(handler, good[0], **headers)
    handler.wfile.write(body)


def endless(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    _head(handler, good[0], **{"Content-Type": good[1], "Transfer-Encoding": "chunked"})
    for _ in range(400):
        handler.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


def garbage(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    handler.wfile.write(
        rng.choice(
            (
                b"\x00\xff" * 5000,
                b"HTTP/1.1 999999 ?\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nA\r\n\r\n",
            )
        )
    )


def large_header(
    handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random
) -> None:
    _head(handler, good[0], **{"X-Large": "x" * 200_000, "Content-Length": "0"})


def empty(handler: BaseHTTPRequestHandler, good: Answer, rng: random.Random) -> None:
    _head(handler, 200, **{"Content-Type": good[1], "Content-Length": "0"})


# with weights: those that block a host for long are rare
FAULTS: tuple[tuple[Fault, float], ...] = (
    (wrong_status, 4),
    (stall, 0.3),
    (slow, 1),
    (trickle, 0.2),
    (truncated, 2),
    (length_too_small, 1),
    (wrong_chunks, 1),
    (reset, 2),
    (redirect_loop, 1),
    (bomb, 1),
    (endless, 1),
    (garbage, 1),
    (large_header, 1),
    (empty, 1),
)


def random_fault(rng: random.Random) -> Fault:
    """Return one of the faults."""
    return rng.choices(
        [fault for fault, _ in FAULTS], [weight for _, weight in FAULTS]
    )[0]


def _head(handler: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()


def _in_pieces(
    handler: BaseHTTPRequestHandler, good: Answer, pieces: int, seconds: float
) -> None:
    status, content_type, body = good
    _head(
        handler,
        status,
        **{"Content-Type": content_type, "Content-Length": str(len(body))},
    )
    size = max(len(body) // pieces, 1)
    for start in range(0, len(body), size):
        handler.wfile.write(body[start : start + size])
        handler.wfile.flush()
        time.sleep(seconds / pieces)


@cache
def _zeros() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return (
        b"".join(packer.compress(bytes(1 << 20)) for _ in range(_BOMB_MB))
        + packer.flush()
    )
