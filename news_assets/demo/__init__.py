"""Two small news sites with articles written for the demo, served on loopback:
`articles.yaml` rendered through `templates/`.

`/prefeitura/rss.xml` is RSS 2.0, `/gazeta/atom.xml` is Atom; both support conditional
requests. Publication dates are relative to the start of the site, so that the articles
are always recent. A site that publishes has a bulletin a minute in `/gazeta/atom.xml`.
"""

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml
from jinja2 import Environment, PackageLoader

HOST = "127.0.0.1"
PORT = 8971
_ZONE = ZoneInfo("America/Sao_Paulo")
_ARTICLES = Path(__file__).parent / "articles.yaml"
_BULLETINS = Path(__file__).parent / "bulletins.yaml"
_LISTED_BULLETINS = 20
_STRIDE = (
    701  # from a bulletin's three texts to the next one's: all 2,024 choices occur
)
_TEMPLATES = Environment(
    loader=PackageLoader("news_assets.demo"), autoescape=True, trim_blocks=True
)
_TEMPLATES.filters["rfc822"] = format_datetime
_NAMES = {"gazeta": "Gazeta da Serra", "prefeitura": "Prefeitura de Vila Serena"}

_NO_PAGE = b"<!doctype html><title>404</title><p>There is no such page."


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleArticle:
    """One article of the sample sites."""

    agency: str
    slug: str
    language: str
    section: str
    author: str
    title: str
    subtitle: str
    tags: tuple[str, ...]
    text: str
    edited: str
    status: int
    published_at: datetime
    updated_at: datetime

    @property
    def path(self) -> str:
        """The path of the article's page."""
        return f"/{self.agency}/{self.slug}.html"


def _load_articles(now: datetime) -> list[_SampleArticle]:
    """Return the articles, newest first and none after `now`; a republished one has its
    original's text.
    """
    rows = yaml.safe_load(_ARTICLES.read_text(encoding="utf-8"))
    texts = {row["slug"]: row.get("text", "") for row in rows}
    return sorted(
        (_article(row, texts, now.astimezone(_ZONE)) for row in rows),
        key=lambda one: one.published_at,
        reverse=True,
    )


def _article(
    row: Mapping[str, Any], texts: Mapping[str, str], now: datetime
) -> _SampleArticle:
    day = now.date() - timedelta(days=row["day"])
    planned = datetime.combine(day, time.fromisoformat(row["time"]), _ZONE)
    published_at = min(planned, now.replace(second=0, microsecond=0))
    same = ("agency", "slug", "language", "section", "author", "title")
    return _SampleArticle(
        **{name: row[name] for name in same},
        subtitle=row.get("subtitle", ""),
        tags=tuple(row.get("tags", ())),
        text=texts[row.get("republishes", row["slug"])],
        edited=row.get("edited", ""),
        status=row.get("status", 200),
        published_at=published_at,
        updated_at=published_at,
    )


class _Bulletins:
    """Bulletins of the sample newspaper, one for each minute since the start."""

    def __init__(self, started_at: datetime) -> None:
        self._started_at = started_at
        news = yaml.safe_load(_BULLETINS.read_text(encoding="utf-8"))
        self._choices = list(combinations(news, 3))

    def until(self, now: datetime) -> list[_SampleArticle]:
        """Return the newest bulletins, newest first."""
        count = int((now - self._started_at) / timedelta(minutes=1))
        oldest = max(count - _LISTED_BULLETINS, 0)
        return [self._bulletin(number) for number in range(count, oldest, -1)]

    def _bulletin(self, number: int) -> _SampleArticle:
        published_at = self._started_at + timedelta(minutes=number)
        local = published_at.astimezone(_ZONE)
        parts = self._choices[number * _STRIDE % len(self._choices)]
        topics = [part["topic"] for part in parts]
        return _SampleArticle(
            agency="gazeta",
            slug=f"plantao-{local:%Y%m%d-%H%M}",
            language="pt-BR",
            section="Plantão",
            author="Redação",
            title=f"Plantão das {local:%Hh%M}: {topics[0]}, {topics[1]} e {topics[2]}",
            subtitle="",
            tags=(),
            text="\n\n".join(part["text"] for part in parts),
            edited="",
            status=200,
            published_at=local,
            updated_at=local,
        )


class SampleSite:
    """The HTTP server; `edit` publishes the second version of an article.

    Args:
        now: The present time, which publication dates are relative to.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        publishes: Whether the newspaper publishes a bulletin each minute.

    Raises:
        OSError: Another process listens on the port.
    """

    def __init__(
        self,
        now: datetime,
        host: str = HOST,
        port: int = PORT,
        *,
        publishes: bool = False,
    ) -> None:
        self._articles = _load_articles(now)
        self._bulletins = _Bulletins(now) if publishes else None
        self._lock = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, body = site.response(self.path)
                etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
                if status == 200 and self.headers.get("If-None-Match") == etag:
                    status = 304
                    body = b""
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("ETag", etag)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self.port = self._server.server_port
        self.base = f"http://{host}:{self.port}"

    def __enter__(self) -> "SampleSite":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        """Serve until interrupted."""
        self._server.serve_forever()

    def edit(self, slug: str, at: datetime) -> None:
        """Replace an article's text with its second version."""
        with self._lock:
            articles = list(self._articles)
            for place, one in enumerate(articles):
                if one.slug == slug and one.edited:
                    articles[place] = replace(one, text=one.edited, updated_at=at)
            self._articles = articles

    def response(self, path: str) -> tuple[int, str, bytes]:
        """Return status, content type and body for one path."""
        with self._lock:
            articles = self._articles
        if self._bulletins is not None:
            articles = [*self._bulletins.until(datetime.now(UTC)), *articles]
        path = path.partition("?")[0]
        if path == "/prefeitura/rss.xml":
            feed = self._render("rss.xml", "prefeitura", articles)
            return 200, "application/rss+xml; charset=utf-8", feed
        if path == "/gazeta/atom.xml":
            feed = self._render("atom.xml", "gazeta", articles)
            return 200, "application/atom+xml; charset=utf-8", feed
        for one in articles:
            if one.path == path and one.status == 200:
                values = {"article": one, "json_ld": _json_ld(one)}
                page = self._render("page.html", one.agency, articles, **values)
                return 200, "text/html; charset=utf-8", page
        return 404, "text/html; charset=utf-8", _NO_PAGE

    def _render(
        self,
        template: str,
        agency: str,
        articles: list[_SampleArticle],
        **values: object,
    ) -> bytes:
        own = [one for one in articles if one.agency == agency]
        page = _TEMPLATES.get_template(template).render(
            base=self.base, name=_NAMES[agency], articles=own, **values
        )
        return page.encode()


def _json_ld(article: _SampleArticle) -> dict[str, object]:
    return {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": article.title,
        "datePublished": article.published_at.isoformat(),
        "dateModified": article.updated_at.isoformat(),
        "author": {"@type": "Person", "name": article.author},
        "articleSection": article.section,
        "keywords": list(article.tags),
    }
