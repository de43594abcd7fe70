"""Shares of items and documents read correctly from real, synthetic and hostile feeds,
with floors on items.

Run: `python -m news_assets_tests.quality.feeds [-v]`. Reads ../shared/corpus; exits 1
below a floor, 0 if the corpus is missing. Titles are compared as one line of text,
links only if the reference's is an absolute http(s) URL, times only if the reference
has one. `real` is what two other parsers agree on; `advisory` is where they differ.

Some references are known to be wrong. Left out: links that are FeedBurner's counting
redirects, where we return the original, and times in the year 1, which software writes
for "none". Counted as our errors: `2020/1/10` read as 1 November, a time whose PM is
lost, JSON not recognised as a feed, and a link whose `uri` attribute is an address of
another protocol, which feedparser returns as the link.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from news_assets.errors import SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources import feed
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FLOORS = {
    "real count": 1.0,
    "real titles": 0.999,
    "real links": 0.999,
    "real times": 0.99,
    "brazil count": 1.0,
    "brazil titles": 1.0,
    "brazil links": 1.0,
    "brazil times": 1.0,
    "brazil rejected": 1.0,
    "gofeed count": 0.99,
    "gofeed titles": 0.99,
    "gofeed links": 0.9,  # 10 of 11
    "gofeed times": 0.99,
    "feedparser nothing raises": 1.0,
    "feedparser count": 1.0,
    "feedparser titles": 0.995,
    "feedparser links": 0.999,
    "hostile outcome": 1.0,
    "hostile time": 1.0,
}
SOURCE = Source(
    source_id="quality", desk="quality", agency="quality", kind="feed", url="https://example.com/feed", timezone="UTC",
    language="pt",
)  # fmt: skip


@dataclass
class Score:
    """Counts of correct items and documents of one score."""

    right: int = 0
    items: int = 0
    documents: list[bool] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.right / max(1, self.items)


scores: dict[str, Score] = defaultdict(Score)


def main() -> int:
    if not CORPUS.is_dir():
        print(f"skipped: no corpus at {CORPUS}")
        return 0
    for measure in (
        real,
        brazil,
        gofeed_cases,
        feedparser_cases,
        feedparser_files,
        hostile,
    ):
        measure()
    below = []
    print(
        f"{'':26}{'items':>15}{'share':>9}{'floor':>9}   {'documents without an error':>24}"
    )
    for name, score in scores.items():
        floor = FLOORS.get(name)
        below += [name] if floor is not None and score.share < floor else []
        print(
            f"{name:26}{score.right:6} of {score.items:5}{score.share:9.2%}"
            f"{'' if floor is None else format(floor, '.1%'):>9}"
            f"{sum(score.documents):18} of {len(score.documents):5}"
        )
    print(
        "below the floor: " + ", ".join(below)
        if below
        else "all at or above their floors"
    )
    return 1 if below or FLOORS.keys() - scores.keys() else 0


def note(name: str, document: str, right: int, items: int, detail: object = "") -> None:
    score = scores[name]
    score.right, score.items = score.right + right, score.items + items
    score.documents.append(right == items)
    if right < items and "-v" in sys.argv:
        print(f"  {name}: {document}: {items - right} of {items}: {detail}")


def note_one(name: str, document: str, is_right: bool, detail: object = "") -> None:
    note(name, document, int(is_right), 1, detail)


def read(path: Path, content_type: str = "") -> Listing | str:
    """Return the listing, or the message of the `SourceError`; other errors are raised."""
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
    except SourceError as error:
        return str(error)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def is_comparable(link: object) -> bool:
    is_web = isinstance(link, str) and link.strip().startswith(("http://", "https://"))
    return is_web and "/~r/" not in str(link)  # FeedBurner's redirect


def time_of(published: str) -> datetime | None:
    return (
        None if published.startswith(("1-", "0001-")) else parse_date(published, "UTC")
    )


def compare(
    name: str,
    document: str,
    listing: Listing | str,
    expected: list[dict[str, Any]],
    count: int,
) -> None:
    """Score title, link and time of each expected item; a missing item is an error in
    each.
    """
    entries: tuple[ListedEntry | None, ...] = (
        () if isinstance(listing, str) else listing.entries
    )
    missed = abs(len(entries) - count)
    detail = listing if isinstance(listing, str) else f"{len(entries)}, not {count}"
    right = max(0, count - missed) if count else int(not entries)
    note(f"{name} count", document, right, max(1, count), detail)
    pairs = list(zip_longest(entries[: len(expected)], expected))
    titles = [
        (e and (e.title or ""), plain_text(x.get("title") or "")) for e, x in pairs
    ]
    links = [
        (e and e.url, x["link"].strip())
        for e, x in pairs
        if is_comparable(x.get("link"))
    ]
    times = [
        (e and e.published_at, time_of(x["published"]))
        for e, x in pairs
        if x.get("published")
    ]
    for what, values in (("titles", titles), ("links", links), ("times", times)):
        wrong = [
            (got, expected_value)
            for got, expected_value in values
            if got != expected_value
        ]
        if values:
            note(
                f"{name} {what}",
                document,
                len(values) - len(wrong),
                len(values),
                wrong[:1],
            )


def real() -> None:
    folder = CORPUS / "feeds_real" / "dev"
    for row in rows(folder / "reference.jsonl"):
        name = "real" if row.get("agree") else "advisory"
        compare(
            name, row["id"], read(folder / row["id"]), row["entries"], row["n_entries"]
        )


def brazil() -> None:
    folder = CORPUS / "feeds_brazil" / "dev"
    for row in rows(folder / "reference.jsonl"):
        listing = read(folder / f"{row['id']}.xml")
        if row["kind"] == "not_a_feed":
            note_one("brazil rejected", row["id"], isinstance(listing, str), listing)
        else:
            compare("brazil", row["id"], listing, row["items"], row["n_items"])


def gofeed_cases() -> None:
    """Compare with gofeed's parsed models, per format and universal, converted to one
    form.
    """
    folder = CORPUS / "feeds_gofeed" / "dev"
    for expected_path in sorted(folder.rglob("*.json")):
        stem = expected_path.stem
        path = expected_path.with_suffix(".xml")
        if stem.endswith("_expected"):
            path = expected_path.with_name(f"{stem.removesuffix('_expected')}.json")
        if not path.is_file():
            continue
        model = json.loads(expected_path.read_text(encoding="utf-8"))
        items = [
            gofeed_item(item)
            for item in model.get("items") or model.get("entries") or ()
        ]
        listing = read(path)
        if items or isinstance(listing, Listing):
            compare(
                "gofeed",
                expected_path.relative_to(folder).as_posix(),
                listing,
                items,
                len(items),
            )


def gofeed_item(item: dict[str, Any]) -> dict[str, Any]:
    links = [
        link.get("href") for link in item.get("links") or () if isinstance(link, dict)
    ]
    times = (
        item.get(key)
        for key in (
            "publishedParsed",
            "pubDateParsed",
            "date_published",
            "updatedParsed",
        )
    )
    return {
        "title": item.get("title"),
        "link": item.get("link") or item.get("url") or next(filter(None, links), None),
        "published": next(filter(None, times), None),
    }


def feedparser_cases() -> None:
    """Compare with feedparser's results on its own test files that meet their
    expectation.

    Those about text/plain titles with markup or about times in HTTP headers differ.
    """
    folder = CORPUS / "feeds_feedparser" / "dev"
    sent = content_types(folder)
    for row in rows(folder / "reference_feedparser.jsonl"):
        path = folder / row["id"]
        if row["meets_expect"] and path.is_file() and row["entries"]:
            items = [
                {"title": entry.get("title"), "link": entry.get("link")}
                for entry in row["entries"]
            ]
            compare(
                "feedparser",
                row["id"],
                read(path, sent.get(row["id"], "")),
                items,
                row["n_entries"],
            )


def feedparser_files() -> None:
    """Check that every file, with the headers it is served with, gives a listing or a
    `SourceError`.
    """
    folder = CORPUS / "feeds_feedparser" / "dev"
    sent = content_types(folder)
    for path in sorted(folder.rglob("*.*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "/" in name:
            try:
                read(path, sent.get(name, ""))
            except Exception as error:  # noqa: BLE001 - this is what is counted
                note_one("feedparser nothing raises", name, False, repr(error))
            else:
                note_one("feedparser nothing raises", name, True)


def content_types(folder: Path) -> dict[str, str]:
    headers = {
        row["id"]: row.get("headers") or {}
        for row in rows(folder / "expectations.jsonl")
    }
    named = {
        name: {key.lower(): value for key, value in sent.items()}
        for name, sent in headers.items()
    }
    return {name: sent.get("content-type", "") for name, sent in named.items()}


def hostile() -> None:
    folder = CORPUS / "hostile" / "dev"
    for row in rows(folder / "cases.jsonl"):
        path = folder / row["file"]
        is_feed = (row["content_type"] or "").startswith(
            ("application/rss", "application/atom", "application/feed")
        )
        if not is_feed or not path.is_file() or row["category"] == "compression":
            continue
        started = time.perf_counter()
        listing = read(path, row["content_type"])
        seconds = time.perf_counter() - started
        note_one("hostile time", row["id"], seconds < 5, f"{seconds:.1f} s")
        note_one(
            "hostile outcome", row["id"], is_expected(listing, row["expect"]), listing
        )


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
        and not any(url and not url.startswith(("http://", "https://")) for url in urls)
    )


if __name__ == "__main__":
    sys.exit(main())
