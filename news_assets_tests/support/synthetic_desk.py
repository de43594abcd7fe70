"""A synthetic desk of any size and the site it polls. Each article is different and has
two words of its own.

    with SyntheticSite(agencies=160, days=days, per_day=2) as site:
        desk = load_desks([str(desk_file(folder, days[0], site.base))], KINDS)[0]
        lake.transact(lambda rows: rows.upsert(stored_entries(desk, days, 2, now)))    # as if polled
        published = site.publish("a012", today)                                        # one new article

An article is computed from its agency, day and number, so that nothing has to be
stored. The site runs in a process of its own (`python -m
news_assets_tests.support.synthetic_desk --port N`), so that it takes no time from what
is measured. Its readers need NEWS_HOST_DELAY_S=0 and
NEWS_ALLOW_PRIVATE_HOSTS=127.0.0.1.
"""

import argparse
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import yaml

from news_assets.pipeline.poll.entry_rows import entry_changes
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Desk
from news_assets.records.reading import ListedEntry, Listing
from news_assets_tests.support.servers import free_port
from news_assets_tests.support.waiting import HANG_S

DESK = "synthetic"
LISTED = 30  # articles of a feed
ENV = {"NEWS_HOST_DELAY_S": "0", "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.1"}
PARAGRAPHS = 4  # of a page, half a kilobyte each
_SENTENCES = 4
_SYLLABLES = [consonant + vowel for consonant in "bcdfglmnprstvz" for vowel in "aeiou"]
_WHO = (
    "A prefeitura", "O ministério", "A câmara municipal", "A secretaria de saúde", "O conselho de educação",
    "A universidade federal", "O instituto de pesquisa", "A agência de águas", "O tribunal de contas",
    "A companhia de transportes", "A defesa civil", "O comitê da bacia", "A assembleia", "O banco de fomento",
)  # fmt: skip
_DOES = (
    "anunciou", "aprovou", "publicou", "suspendeu", "ampliou", "inaugurou", "revisou", "contratou", "entregou",
    "adiou", "concluiu", "apresentou", "regulamentou", "financiou", "reformou",
)  # fmt: skip
_WHAT = (
    "o plano de obras", "a linha de ônibus", "um edital de bolsas", "o calendário de vacinação", "a rede de esgoto",
    "o orçamento da cultura", "uma escola técnica", "o mapa de riscos", "a ponte sobre o rio", "o programa de crédito",
    "o censo agrícola", "a coleta seletiva", "um laboratório de solos", "o horário dos museus", "a tarifa social",
)  # fmt: skip
_WHERE = (
    "no bairro central", "em doze municípios", "na margem esquerda", "ao longo da rodovia", "na região serrana",
    "junto ao porto", "nas aldeias do norte", "em todo o estado", "perto da estação", "na zona rural",
)  # fmt: skip
_WHY = (
    "depois de meses de debate", "com recursos do fundo nacional", "a pedido dos moradores", "por decisão unânime",
    "antes do período de chuvas", "com apoio de voluntários", "segundo a nota técnica", "apesar do atraso",
    "para reduzir as filas", "como previsto em lei", "sob críticas da oposição",
)  # fmt: skip


@dataclass(frozen=True)
class Article:
    """Article number `n` of a day."""

    agency: str
    day: date
    n: int

    @property
    def path(self) -> str:
        return f"/{self.agency}/{self.day}/{self.n}.html"

    @property
    def published_at(self) -> datetime:
        return datetime.combine(self.day, time(), UTC) + timedelta(seconds=self.n)

    @cached_property
    def words(self) -> tuple[str, str]:
        """Two words that no other article has."""
        dice = random.Random(f"words {self.path}")
        first, second = ("".join(dice.choices(_SYLLABLES, k=6)) for _ in range(2))
        return first, second

    @cached_property
    def title(self) -> str:
        dice = random.Random(f"title {self.path}")
        return f"{dice.choice(_WHO)} {dice.choice(_DOES)} {dice.choice(_WHAT)}: {' '.join(self.words)}"

    @cached_property
    def paragraphs(self) -> list[str]:
        dice = random.Random(f"text {self.path}")
        return [
            " ".join(_sentence(dice) for _ in range(_SENTENCES))
            for _ in range(PARAGRAPHS)
        ]

    @property
    def summary(self) -> str:
        return self.paragraphs[0].partition(".")[0] + "."

    def page(self, paragraphs: int) -> str:
        text = "".join(
            f"<p>{paragraph}</p>\n" for paragraph in self.paragraphs[:paragraphs]
        )
        return (
            f'<!doctype html><html lang="pt-BR"><head><meta charset="utf-8"><title>{self.title}</title>'
            f'<meta property="article:published_time" content="{self.published_at.isoformat()}"></head>'
            f"<body><nav><a href='/'>Início</a></nav><main><article><h1>{self.title}</h1>\n{text}</article></main>"
            "<footer>Portal de serviços</footer></body></html>"
        )

    @property
    def item(self) -> str:
        return (
            f"<title>{self.title}</title><description>{self.summary}</description>"
            f"<pubDate>{format_datetime(self.published_at)}</pubDate>"
        )


def _sentence(dice: random.Random) -> str:
    parts = [dice.choice(_DOES), dice.choice(_WHAT), dice.choice(_WHERE)]
    number = f"{dice.randrange(2, 9000)} {dice.choice(('famílias', 'alunos', 'hectares', 'reais', 'leitos', 'viagens'))}"
    return f"{dice.choice(_WHO)} {' '.join(parts)}, {dice.choice(_WHY)}, o que alcança {number}."


def agency_keys(count: int) -> list[str]:
    return [f"a{number:03}" for number in range(count)]


def desk_file(
    folder: Path,
    first_day: date,
    base_url: str,
    agencies: int = 160,
    every_minutes: int | None = 15,
) -> Path:
    """Write a desk file with `agencies` agencies, each with one feed of the site at
    `base_url`.

    It is replaced as a whole: several processes may write and read it at once.
    """
    pause = {"every_minutes": every_minutes} if every_minutes else {}
    written = {
        key: {
            "name": f"Órgão {key}",
            "sources": [{"kind": "feed", "url": f"{base_url}/{key}/feed.xml", **pause}],
        }
        for key in agency_keys(agencies)
    }
    desk = {
        "desk": DESK,
        "timezone": "UTC",
        "language": "pt-BR",
        "first_day": first_day.isoformat(),
        "agencies": written,
    }
    path = folder / f"{DESK}.yaml"
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(yaml.safe_dump(desk, allow_unicode=True), encoding="utf-8")
    return draft.replace(path)


def stored_entries(
    desk: Desk, days: Sequence[date], per_day: int, now: datetime
) -> list[FeedEntry]:
    """Return the rows that a poll at `now` would store if the feeds listed all articles
    of these days.
    """
    return [
        row
        for source in desk.sources
        for row in entry_changes(
            source,
            _listing(source.url, source.agency, days, per_day),
            (),
            now,
            "synthetic",
        ).rows
    ]


def _listing(feed_url: str, agency: str, days: Sequence[date], per_day: int) -> Listing:
    base = feed_url.removesuffix(f"/{agency}/feed.xml")
    articles = [Article(agency, day, n) for day in days for n in range(per_day)]
    return Listing(
        entries=tuple(
            ListedEntry(
                entry_id=base + article.path,
                url=base + article.path,
                title=article.title,
                summary=article.summary,
                published_at=article.published_at,
            )
            for article in articles
        )
    )


# --- the site -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Published:
    """A new article of a feed."""

    url: str
    title: str
    words: tuple[str, str]


class SyntheticSite:
    """The site in a process of its own, with the articles of `days`."""

    def __init__(
        self,
        agencies: int = 160,
        days: Sequence[date] = (),
        per_day: int = 2,
        paragraphs: int = PARAGRAPHS,
        address: str = "127.0.0.1",
    ) -> None:
        self.port = free_port()
        self.base = f"http://{address}:{self.port}"
        span = ("--first-day", str(days[0]), "--days", str(len(days))) if days else ()
        counts = (
            "--agencies",
            str(agencies),
            "--per-day",
            str(per_day),
            "--paragraphs",
            str(paragraphs),
        )
        module = (sys.executable, "-m", "news_assets_tests.support.synthetic_desk")
        place = ("--address", address, "--port", str(self.port))
        self._command = [*module, *place, *counts, *span]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the site did not start"
        return self

    def __exit__(self, *_: object) -> None:
        # where SIGINT is ignored, Dagster makes child processes ignore SIGTERM too
        self._process.kill()
        self._process.communicate()

    def publish(self, agency: str, day: date) -> Published:
        """Add an article of this day to the agency's feed."""
        url = f"{self.base}/_publish?agency={agency}&day={day}"
        with urllib.request.urlopen(
            urllib.request.Request(url, method="POST"), timeout=HANG_S
        ) as answer:
            article = json.load(answer)
        return Published(
            article["url"], article["title"], (article["words"][0], article["words"][1])
        )

    def pace(self) -> tuple[int, int, float]:
        """Return the number of requests, the most at once, and the shortest pause from
        one to the next in seconds.
        """
        with urllib.request.urlopen(f"{self.base}/_pace", timeout=HANG_S) as answer:
            requests, most_at_once, shortest_pause_s = json.load(answer)
        return int(requests), int(most_at_once), float(shortest_pause_s)


@dataclass
class Pace:
    """How close the requests for pages and feeds came to each other, and the most at
    once.
    """

    shortest_pause_s: float = math.inf
    most_at_once: int = 0
    requests: int = 0
    _at_once: int = 0
    _began_at: float = -math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note one request."""
        with self._lock:
            now = monotonic()
            self.shortest_pause_s = min(self.shortest_pause_s, now - self._began_at)
            self._began_at = now
            self.requests += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1


class Shelf:
    """The published articles of each agency, newest last."""

    def __init__(self, base: str, seeds: Iterator[Article], paragraphs: int) -> None:
        self._base, self._paragraphs = base, paragraphs
        self._articles: defaultdict[str, list[Article]] = defaultdict(list)
        for article in seeds:
            self._articles[article.agency].append(article)
        self._feeds: dict[str, bytes] = {}

    def publish(self, agency: str, day: date) -> dict[str, Any]:
        n = sum(article.day == day for article in self._articles[agency])
        article = Article(agency, day, n)
        self._articles[agency].append(article)
        self._feeds.pop(agency, None)
        return {
            "url": self._base + article.path,
            "title": article.title,
            "words": article.words,
        }

    def feed(self, agency: str) -> bytes:
        if agency not in self._feeds:
            newest = sorted(
                self._articles[agency],
                key=lambda article: article.published_at,
                reverse=True,
            )[:LISTED]
            items = "".join(
                f"<item><guid>{self._base}{article.path}</guid><link>{self._base}{article.path}</link>{article.item}"
                "</item>\n"
                for article in newest
            )
            channel = f"<title>Órgão {agency}</title><link>{self._base}/{agency}/</link>\n{items}"
            self._feeds[agency] = (
                f'<rss version="2.0"><channel>{channel}</channel></rss>'.encode()
            )
        return self._feeds[agency]

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Return status, content type and body."""
        parts = path.strip("/").split("/")
        if len(parts) == 2 and parts[1] == "feed.xml":
            return 200, "application/rss+xml; charset=utf-8", self.feed(parts[0])
        if len(parts) == 3 and parts[2].endswith(".html"):
            article = Article(
                parts[0],
                date.fromisoformat(parts[1]),
                int(parts[2].removesuffix(".html")),
            )
            return (
                200,
                "text/html; charset=utf-8",
                article.page(self._paragraphs).encode(),
            )
        return 404, "text/plain", b""


def serve(address: str, port: int, seeds: Iterator[Article], paragraphs: int) -> None:
    shelf = Shelf(f"http://{address}:{port}", seeds, paragraphs)
    pace = Pace()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path == "/_pace":
                found = pace.requests, pace.most_at_once, pace.shortest_pause_s
                self._send(200, "application/json", json.dumps(found).encode())
                return
            with pace.noted():
                self._send(*shelf.answer(self.path))

        def do_POST(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            article = shelf.publish(
                query["agency"][0], date.fromisoformat(query["day"][0])
            )
            self._send(200, "application/json", json.dumps(article).encode())

        def _send(self, status: int, kind: str, body: bytes) -> None:
            etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            if status == 200 and self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer((address, port), Handler) as server:
        print("ready", flush=True)  # noqa: T201 - read by SyntheticSite
        server.serve_forever()


def _main() -> None:
    parser = argparse.ArgumentParser(
        description="Serve the synthetic site until stopped."
    )
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--agencies", type=int, default=160)
    parser.add_argument(
        "--first-day", type=date.fromisoformat, default=date(2026, 1, 1)
    )
    parser.add_argument(
        "--days", type=int, default=0, help="days with articles at the start"
    )
    parser.add_argument("--per-day", type=int, default=2)
    parser.add_argument(
        "--paragraphs",
        type=int,
        default=PARAGRAPHS,
        help="length of a page, in half kilobytes",
    )
    options = parser.parse_args()
    days = [options.first_day + timedelta(days=n) for n in range(options.days)][
        -LISTED:
    ]
    keys, numbers = agency_keys(options.agencies), range(options.per_day)
    serve(
        options.address,
        options.port,
        (Article(key, day, n) for key in keys for day in days for n in numbers),
        options.paragraphs,
    )


if __name__ == "__main__":
    _main()
