"""Bodies that are made to break readers: those of the evaluation material, if it is
there, and generated ones.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHARED_CASES = Path(__file__).parents[3] / "shared" / "corpus" / "hostile" / "dev"


@dataclass(frozen=True)
class Body:
    """One body as it is served."""

    name: str
    content_type: str
    content: bytes
    encoding: str | None = None

    @property
    def is_page(self) -> bool:
        """Whether it is served as an article's page, not as a feed."""
        return self.content_type.startswith("text/html")


def bodies() -> list[Body]:
    """Return all bodies; names are unique."""
    return [*_shared(), *_pages(), *_feeds()]


def _shared() -> Iterator[Body]:
    cases = SHARED_CASES / "cases.jsonl"
    for line in cases.read_text().splitlines() if cases.exists() else ():
        case = json.loads(line)
        content = (SHARED_CASES / case["file"]).read_bytes()
        yield Body(
            Path(case["file"]).name,
            case["content_type"] or "text/html",
            content,
            case["content_encoding"],
        )


def _pages() -> Iterator[Body]:
    for name, start, piece, end, count in (
        ("links", "<p>", "[a](", "", 60_000),
        ("brackets", "<p>", "![[", "", 60_000),
        ("emphasis", "<p>", "*a **b _c ", "", 40_000),
        ("backticks", "<p>", "` ``", "", 40_000),
        ("spaces", "<p>a", " ", "b", 400_000),
        ("blank lines", "<pre>a", "\n\t ", "b</pre>", 100_000),
        ("abbreviations", "<p>", "Dr. A. B. ", "", 40_000),
        ("one word", "<p>", "a", "", 800_000),
        ("digits", "<p>", "1.1.1,1 ", "", 60_000),
        ("dates", "<p>", "11/11/2026 às 11h11 ", "", 30_000),
        ("addresses", "<p>", "http://a.b/?a=b&amp;", "", 40_000),
        ("entities", "<p>", "&amp;amp;&#0;&#xD800;", "", 40_000),
        ("deep", "", "<div><span>", "x", 100_000),
        ("unclosed tables", "", "<table><tr><td>", "x", 20_000),
        ("comments", "", "<!--", "-->", 100_000),
        ("cdata", "", "<![CDATA[", "]]>", 100_000),
        ("attributes", "<p ", "a='b' c=", ">x", 60_000),
        ("combining", "<p>a", "\u0301", "", 200_000),
        ("direction", "<p>", "\u202e\u2066", "x", 100_000),
    ):
        text = f"<html><title>{name}</title><body><article>{start}{piece * count}{end}</article></body></html>"
        yield Body(
            f"{name.replace(' ', '_')}.html", "text/html; charset=utf-8", text.encode()
        )
    ld = '<script type="application/ld+json">' + '{"a":[' * 50_000 + "</script>"
    yield Body(
        "json_ld.html",
        "text/html",
        f"<html><head>{ld}</head><body><p>x</p></body></html>".encode(),
    )
    yield Body("zeros.html", "text/html", bytes(2_000_000))
    yield Body("all_bytes.html", "text/html; charset=utf-16", bytes(range(256)) * 4000)


def _feeds() -> Iterator[Body]:
    for name, item in (
        ("long_title", f"<title>{'a' * 500_000}</title>"),
        ("links_in_summary", f"<description>{'[a](' * 40_000}</description>"),
        ("dates", f"<pubDate>{'Mon, ' * 50_000}</pubDate>"),
        ("categories", "<category>a</category>" * 30_000),
        ("tracking", f"<link>http://127.0.0.1/?{'utm_a=b&amp;' * 30_000}</link>"),
    ):
        items = f"<item><guid>{name}</guid>{item}</item>"
        yield Body(
            f"gen_{name}.xml",
            "application/rss+xml",
            f'<rss version="2.0"><channel>{items}</channel></rss>'.encode(),
        )
    yield Body("gen_deep.xml", "application/xml", b"<rss><channel>" + b"<a>" * 200_000)
    yield Body("gen_deep.json", "application/feed+json", b"[" * 500_000)
