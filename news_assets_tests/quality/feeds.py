"""How much of real, synthetic and hostile feeds is read: shares of documents read exactly, with pinned floors.

Run: `python -m news_assets_tests.quality.feeds [-v]`. Reads ../shared/corpus; exits 1 below a floor, 0 where the corpus
is missing. Titles are compared as one line of text, links only where the reference's is an absolute http(s) address.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from news_assets.errors import NewsAssetsError
from news_assets.records import Listing, Page, Source
from news_assets.sources import feed
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FLOORS = {
    "real count": 1.0,
    "real titles": 0.995,
    "real links": 0.99,
    "real times": 0.96,
    "brazil count": 1.0,
    "brazil titles": 1.0,
    "brazil links": 1.0,
    "brazil times": 1.0,
    "brazil refused": 1.0,
    "feedparser count": 0.995,
    "feedparser titles": 0.99,
    "feedparser links": 0.995,
    "gofeed titles": 0.99,
    "gofeed links": 0.99,
    "gofeed times": 0.99,
    "hostile outcome": 1.0,
    "hostile time": 1.0,
}
SOURCE = Source(
    source_id="quality", desk="quality", agency="quality", kind="feed", url="https://example.com/feed", timezone="UTC",
    language="pt",
)  # fmt: skip

scores: dict[str, list[bool]] = defaultdict(list)


def main() -> int:
    if not CORPUS.is_dir():
        print(f"no corpus at {CORPUS}: nothing measured")
        return 0
    for measure in (real, brazil, feedparser_cases, gofeed_cases, hostile):
        measure()
    below = []
    for name, floor in FLOORS.items():
        share = sum(scores[name]) / max(1, len(scores[name]))
        below += [name] if share < floor else []
        print(f"{name:20} {sum(scores[name]):5} of {len(scores[name]):5}  {share:6.1%}  floor {floor:.1%}")
    print("below the floor: " + ", ".join(below) if below else "all at or above their floors")
    return 1 if below else 0


def score(name: str, document: str, is_right: bool, detail: object = "") -> None:
    scores[name].append(is_right)
    if not is_right and "-v" in sys.argv:
        print(f"  {name}: {document}: {detail}")


def read(path: Path, content_type: str = "") -> Listing | str:
    page = Page(
        url=SOURCE.url,
        final_url="https://example.com/",
        status=200,
        body=path.read_bytes(),
        content_type=content_type,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    try:
        return feed.read(page, SOURCE)
    except NewsAssetsError as error:
        return str(error)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def is_web(link: object) -> bool:
    return isinstance(link, str) and link.startswith(("http://", "https://")) and "feedproxy.google" not in link


def compare(name: str, document: str, listing: Listing | str, expected: list[dict[str, Any]], count: int) -> None:
    if isinstance(listing, str):
        for what in ("count", "titles", "links", "times"):
            score(f"{name} {what}", document, False, listing)
        return
    score(f"{name} count", document, len(listing.entries) == count, f"{len(listing.entries)}, not {count}")
    pairs = list(zip(listing.entries, expected, strict=False))
    titles = [(e.title or "", plain_text(x.get("title") or "")) for e, x in pairs]
    links = [(e.url, x["link"].strip()) for e, x in pairs if is_web(x.get("link"))]
    times = [(e.published_at, parse_date(x["published"], "UTC")) for e, x in pairs if x.get("published")]
    for what, values in (("titles", titles), ("links", links), ("times", times)):
        wrong = next(((got, wanted) for got, wanted in values if got != wanted), None)
        score(f"{name} {what}", document, wrong is None, wrong)


def real() -> None:
    folder = CORPUS / "feeds_real" / "dev"
    for row in rows(folder / "reference.jsonl"):
        if row.get("agree"):
            compare("real", row["id"], read(folder / row["id"]), row["entries"], row["n_entries"])


def brazil() -> None:
    folder = CORPUS / "feeds_brazil" / "dev"
    for row in rows(folder / "reference.jsonl"):
        listing = read(folder / f"{row['id']}.xml")
        if row["kind"] == "not_a_feed":
            score("brazil refused", row["id"], isinstance(listing, str), listing)
        else:
            compare("brazil", row["id"], listing, row["items"], row["n_items"])


def feedparser_cases() -> None:
    """Its own test files; those that are about text/plain titles with markup or about times in HTTP headers differ."""
    folder = CORPUS / "feeds_feedparser" / "dev"
    headers = {row["id"]: row.get("headers") or {} for row in rows(folder / "expectations.jsonl")}
    for row in rows(folder / "reference_feedparser.jsonl"):
        path = folder / row["id"]
        if not row["meets_expect"] or not path.is_file() or not row["entries"]:
            continue
        sent = {key.lower(): value for key, value in headers.get(row["id"], {}).items()}
        listing = read(path, sent.get("content-type", ""))
        compare("feedparser", row["id"], listing, row["entries"], row["n_entries"])


def gofeed_cases() -> None:
    folder = CORPUS / "feeds_gofeed" / "dev" / "translator"
    for expected_path in sorted(folder.rglob("*.json")):
        path = expected_path.with_suffix(".xml")
        if path.is_file():
            items = json.loads(expected_path.read_text(encoding="utf-8")).get("items") or []
            name = expected_path.relative_to(folder).as_posix()
            listing = read(path)
            if items or isinstance(listing, Listing):
                compare("gofeed", name, listing, items, len(items))


def hostile() -> None:
    folder = CORPUS / "hostile" / "dev"
    for row in rows(folder / "cases.jsonl"):
        path = folder / row["file"]
        is_feed = (row["content_type"] or "").startswith(("application/rss", "application/atom", "application/feed"))
        if not is_feed or not path.is_file() or row["category"] == "compression":
            continue
        started = time.perf_counter()
        listing = read(path, row["content_type"])
        seconds = time.perf_counter() - started
        score("hostile time", row["id"], seconds < 5, f"{seconds:.1f} s")
        score("hostile outcome", row["id"], is_expected(listing, row["expect"]), listing)


def is_expected(listing: Listing | str, expect: dict[str, Any]) -> bool:
    if isinstance(listing, str):
        return expect["outcome"] in ("reject", "either")
    titles = [entry.title for entry in listing.entries]
    urls = [entry.url or None for entry in listing.entries]
    return (
        expect["outcome"] in ("parse", "either")
        and len(titles) == expect.get("n_items", len(titles))
        and len(titles) >= expect.get("min_items", 0)
        and titles == expect.get("titles", titles)
        and set(expect.get("titles_include", ())) <= set(titles)
        and urls == expect.get("links", urls)
        and set(expect.get("links_include", ())) <= set(urls)
        and not any(url and not is_web(url) for url in urls)
    )


if __name__ == "__main__":
    sys.exit(main())
