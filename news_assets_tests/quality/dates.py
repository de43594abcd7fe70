"""Accuracy of publication times, by the part of the page they were read from.

    python -m news_assets_tests.quality.dates

The first table covers pages whose time is known. For the second, the most reliable
origins are removed in two steps from pages that state a time in JSON-LD or meta tags,
and the time from the next origin is compared with it. It counts as near within a day
and a half, because a date without a time is midnight in a zone that is not known here.
Exits 1 if a score is below its floor; floors are raised and never lowered.
"""

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from news_assets.pipeline.page.extract import extract
from news_assets.records.reading import ExtractedArticle
from news_assets.text.dates import parse_date
from news_assets_tests.quality.extraction import CORPUS, cases, page, paired_cases

ZONE = "UTC"
DAY_FLOORS = {
    "article_fundus": 61,
    "article_readability": 6,
    "article_goose3": 9,
    "article_naeb": 54,
}
# the others state days only
MINUTE_FLOORS = {
    "article_fundus": 61,
    "article_readability": 6,
    "article_goose3": 8,
}
# of the second table; guesses have no floor
SHARE_FLOORS = {
    "markup": 0.9,
    "text": 0.95,
    "url": 0.99,
}

_LINKED = re.compile(rb"<script[^>]*ld\+json.*?</script>", re.IGNORECASE | re.DOTALL)
_META = re.compile(rb"<meta\b[^>]*>", re.IGNORECASE)
_MICRODATA = re.compile(rb"\b(?:itemprop|pubdate)\b", re.IGNORECASE)
_TIMES = re.compile(rb"<time\b.*?</time>", re.IGNORECASE | re.DOTALL)
REMOVED: dict[str, tuple[re.Pattern[bytes], ...]] = {
    "JSON-LD and meta": (_LINKED, _META),
    "microdata and <time> as well": (_LINKED, _META, _MICRODATA, _TIMES),
}
NEAR = timedelta(hours=36)


def dated_cases(name: str) -> Iterator[tuple[dict[str, str], bytes, str]]:
    """Yield ground truth, page and known time of one set."""
    if name == "article_readability":
        for path in sorted((CORPUS / name / "dev").glob("*/expected-metadata.json")):
            known = json.loads(path.read_text()).get("publishedTime")
            yield (
                {},
                gzip.decompress(path.with_name("source.html.gz").read_bytes()),
                known,
            )
    elif name == "article_goose3":
        for truth, body in paired_cases(name):
            yield (
                truth,
                body,
                str((truth.get("expected") or {}).get("publish_date") or ""),
            )
    else:
        for truth, body in cases(name):
            yield truth, body, truth.get("publishing_date") or truth.get("date") or ""


def read(truth: dict[str, str], body: bytes) -> ExtractedArticle:
    return extract(page(truth, body), ZONE)


def is_minute(found: datetime | None, known: datetime) -> bool:
    return found is not None and abs(found - known) < timedelta(minutes=1)


def is_day(found: datetime | None, known: datetime) -> bool:
    return found is not None and found.date() == known.date()


def is_near(found: datetime | None, known: datetime) -> bool:
    return found is not None and abs(found - known) <= NEAR


def print_counts(
    title: str, counts: Counter[tuple[str, str]], columns: tuple[str, ...]
) -> None:
    for origin in sorted({origin for origin, _ in counts}):
        figures = "   ".join(
            f"{column} {counts[origin, column]:3}" for column in columns
        )
        print(f"{title:36} {origin:8} {counts[origin, 'pages']:4}   {figures}")


def score_known_times(name: str) -> tuple[int, int]:
    """Print the table of one set; return the numbers of correct days and minutes."""
    counts: Counter[tuple[str, str]] = Counter()
    for truth, body, text in dated_cases(name):
        if known := parse_date(text, ZONE):
            article = read(truth, body)
            origin = article.published_origin or "none"
            counts[origin, "pages"] += 1
            counts[origin, "day"] += is_day(article.published_at, known)
            counts[origin, "minute"] += is_minute(article.published_at, known)
    print_counts(name, counts, ("day", "minute"))
    return total(counts, "day"), total(counts, "minute")


def total(counts: Counter[tuple[str, str]], what: str) -> int:
    return sum(count for (_, column), count in counts.items() if column == what)


def without(body: bytes, patterns: tuple[re.Pattern[bytes], ...]) -> bytes:
    for pattern in patterns:
        body = pattern.sub(b"", body)
    return body


def stated_cases() -> list[tuple[dict[str, str], bytes, datetime]]:
    """Return the pages that state their time in JSON-LD or meta tags, which is used as
    ground truth.
    """
    names = (
        "article_aeb",
        "article_fundus",
        "article_naeb",
        "article_trafilatura",
        "article_pt",
    )
    found = [
        (truth, body, read(truth, body))
        for name in names
        for truth, body in cases(name)
    ]
    return [
        (truth, body, article.published_at)
        for truth, body, article in found
        if article.published_origin in ("json_ld", "meta") and article.published_at
    ]


def score_next_origins() -> Counter[tuple[str, str]]:
    """Print the second table; return the counts of all steps together."""
    every: Counter[tuple[str, str]] = Counter()
    stated = stated_cases()
    for title, patterns in REMOVED.items():
        counts: Counter[tuple[str, str]] = Counter()
        for truth, body, known in stated:
            article = read(truth, without(body, patterns))
            origin = article.published_origin or "none"
            counts[origin, "pages"] += 1
            counts[origin, "near"] += is_near(article.published_at, known)
            counts[origin, "minute"] += is_minute(article.published_at, known)
        print_counts(f"without {title}", counts, ("near", "minute"))
        every += counts
    return every


def low_scores() -> Iterator[str]:
    """Yield a line for each score below its floor."""
    for name, floor in DAY_FLOORS.items():
        days, minutes = score_known_times(name)
        if days < floor or minutes < MINUTE_FLOORS.get(name, 0):
            yield f"{name}: day {days}, minute {minutes}"
    counts = score_next_origins()
    for origin, share_floor in SHARE_FLOORS.items():
        share = counts[origin, "near"] / max(counts[origin, "pages"], 1)
        if share < share_floor:
            yield f"{origin}: {share:.3f} < {share_floor}"


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    low = list(low_scores())
    for line in low:
        print(f"BELOW FLOOR: {line}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
