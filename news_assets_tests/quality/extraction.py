"""Extraction scores and time on pages with known text, beside trafilatura's own in the
same run.

    python -m news_assets_tests.quality.extraction

F1 over 4-word shingles, averaged over pages as in
scrapinghub/article-extraction-benchmark; over words for BY_WORDS, and over segments for
trafilatura's pages. Exits 1 if a score is below its floor, or a page below half of
trafilatura's F1 where that is above WELL_READ. `thresholds` scores each set with
thresholds that were set on the others, `ablations` without each of our additions.
"""

import gzip
import json
import re
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import trafilatura

from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.refusals import MIN_TEXT_CHARS
from news_assets.records.reading import ExtractedArticle, Page
from news_assets.text.dates import parse_date
from news_assets.text.html import plain_text

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
FLOORS = {
    "article_wcxb": 0.944,
    "article_aeb": 0.968,
    "article_fundus": 0.975,
    "article_naeb": 0.948,
    "article_trafilatura": 0.945,
    "article_pt": 0.990,
    "article_mercury": 0.930,
    "article_readability": 0.936,
}
INDEX_FLOOR = 59  # refused index pages of WCXB
MAX_REFUSED_SHARE = 0.005  # of the articles of all sets
TITLE_FLOOR, DAY_FLOOR = 270, 222  # of WCXB
INDEX_TYPES = ("listing", "collection")
BY_WORDS = ("article_wcxb", "article_mercury", "article_readability")
MAX_TIME_RATIO = 1.15
WELL_READ = 0.8  # trafilatura's F1 of a page that must not be below half of it
_NOW = datetime(2026, 9, 1, tzinfo=UTC)
_WORD = re.compile(r"\w+")

Counts = tuple[float, float, float]
Case = tuple[dict[str, Any], bytes]


def cases(name: str) -> list[Case]:
    """Return the ground truth and page of each case of one set."""
    folder = CORPUS / name / "dev"
    truth = json.loads((folder / "groundtruth.json").read_text())
    return [
        (one, gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes()))
        for key, one in truth.items()
    ]


def paired_cases(name: str) -> list[Case]:
    """Return the cases of a Goose3 set: NAME.json beside NAME.html.gz."""
    folder = CORPUS / name / "dev"
    return [
        (
            json.loads(path.read_text()),
            gzip.decompress(path.with_suffix(".html.gz").read_bytes()),
        )
        for path in sorted(folder.glob("*/*.json"))
    ]


def readability_cases() -> list[Case]:
    """Return the cases of Mozilla Readability: expected.html beside source.html."""
    found = []
    for path in sorted(
        (CORPUS / "article_readability" / "dev").glob("*/expected.html.gz")
    ):
        expected = plain_text(gzip.decompress(path.read_bytes()).decode())
        found.append(
            (
                {"articleBody": expected},
                gzip.decompress(path.with_name("source.html.gz").read_bytes()),
            )
        )
    return found


def articles(name: str) -> list[Case]:
    """Return the cases of one set that are articles, and not shorter than a text that
    is stored.
    """
    known = readability_cases() if name == "article_readability" else cases(name)
    return [case for case in known if _is_article(case[0])]


def _is_article(truth: dict[str, Any]) -> bool:
    text = expected_text(truth)
    if text and len(text) < MIN_TEXT_CHARS:
        return False
    return (
        truth.get("kind") != "not_article"
        and truth.get("page_type", "article") == "article"
    )


def page(truth: dict[str, Any], body: bytes) -> Page:
    url = truth.get("url") or truth.get("link") or "https://example.org/news/article"
    return Page(
        url=url,
        final_url=url,
        status=200,
        body=body,
        content_type="text/html",
        fetched_at=_NOW,
    )


# --- scores ---------------------------------------------------------------------------


def shingle_counts(truth: str, text: str) -> Counts:
    expected, found = _shingles(truth), _shingles(text)
    hits = float((expected & found).total())
    counts = (hits, found.total() - hits, expected.total() - hits)
    return (
        tuple(count / total for count in counts) if (total := sum(counts)) else counts
    )  # type: ignore[return-value]


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    return (
        Counter(
            tuple(words[start : start + 4]) for start in range(max(1, len(words) - 3))
        )
        if words
        else Counter()
    )


def word_f1(truth: str, text: str) -> float:
    expected, found = (
        Counter(_WORD.findall(truth.lower())),
        Counter(_WORD.findall(text.lower())),
    )
    return 2 * (expected & found).total() / max(expected.total() + found.total(), 1)


def segment_counts(truth: dict[str, Any], text: str) -> Counts:
    hits = sum(segment in text for segment in truth["with"])
    return (
        hits,
        sum(segment in text for segment in truth["without"]),
        len(truth["with"]) - hits,
    )


def page_f1(counts: list[Counts]) -> tuple[float, float, float]:
    precisions = [hits / (hits + false) for hits, false, _ in counts if hits + false]
    recalls = [hits / (hits + missed) for hits, _, missed in counts if hits + missed]
    return _f1(
        sum(precisions) / max(len(precisions), 1), sum(recalls) / max(len(recalls), 1)
    )


def total_f1(counts: list[Counts]) -> tuple[float, float, float]:
    hits, false, missed = (sum(column) for column in zip(*counts, strict=True))
    return _f1(hits / max(hits + false, 1), hits / max(hits + missed, 1))


def _f1(precision: float, recall: float) -> tuple[float, float, float]:
    return 2 * precision * recall / max(precision + recall, 1e-9), precision, recall


# --- runs -----------------------------------------------------------------------------


def ours(truth: dict[str, Any], body: bytes) -> ExtractedArticle:
    return extract(page(truth, body), "UTC")


def reference_text(truth: dict[str, Any], body: bytes) -> str:
    document = trafilatura.bare_extraction(
        body, url=truth.get("url"), with_metadata=True
    )
    return getattr(document, "text", None) or ""


def expected_text(truth: dict[str, Any]) -> str | None:
    return truth.get("articleBody") or truth.get("text")


def scored(
    name: str, found: list[tuple[dict[str, Any], str]]
) -> tuple[float, float, float]:
    """Return F1, precision and recall of one set by its own measure; those by words
    have F1 only.
    """
    if name in BY_WORDS:
        found = [(truth, text) for truth, text in found if expected_text(truth)]
        mean = sum(
            word_f1(expected_text(truth) or "", text) for truth, text in found
        ) / max(len(found), 1)
        return mean, mean, mean
    if name == "article_trafilatura":
        return total_f1([segment_counts(truth, text) for truth, text in found])
    known = ((expected_text(truth), text) for truth, text in found)
    return page_f1(
        [shingle_counts(expected, text) for expected, text in known if expected]
    )


class Run(NamedTuple):
    """Our F1, seconds, trafilatura's seconds, refused articles, and pages below half of
    trafilatura's F1 of one set.
    """

    f1: float
    own_s: float
    other_s: float
    refused: int
    lost: int


def run_set(name: str) -> Run:
    """Print the line of one set."""
    pages = articles(name)
    texts: list[tuple[dict[str, Any], str]] = []
    reference: list[tuple[dict[str, Any], str]] = []
    seconds = [0.0, 0.0]
    refused = 0
    # alternating, so that other load and warm caches affect both
    for number, (truth, body) in enumerate(pages):
        order = (0, 1) if number % 2 else (1, 0)
        for who in order:
            started = time.perf_counter()
            found = ours(truth, body) if who == 0 else reference_text(truth, body)
            seconds[who] += time.perf_counter() - started
            if isinstance(found, str):
                reference.append((truth, found))
            else:
                texts.append((truth, found.text or ""))
                refused += found.outcome != "ok"
    own, other = scored(name, texts), scored(name, reference)
    # the others are counted as refused
    pairs = [(one, two) for one, two in zip(texts, reference, strict=True) if one[1]]
    lost = sum(
        2 * f1_of(name, *one) < f1_of(name, *two) > WELL_READ for one, two in pairs
    )
    print(
        f"{name:20} {len(pages):4}  F1 {own[0]:.4f}  P {own[1]:.4f}  R {own[2]:.4f}   trafilatura {other[0]:.4f}"
        f"   F1 ratio {own[0] / other[0]:.3f}   below half {lost}   refused {refused}"
        f"   time ratio {seconds[0] / seconds[1]:.2f}"
    )
    return Run(own[0], seconds[0], seconds[1], refused, lost)


def f1_of(name: str, truth: dict[str, Any], text: str) -> float:
    """Return the F1 of one page by its set's measure."""
    return scored(name, [(truth, text)])[0]


def print_goose() -> None:
    found = [
        (truth.get("expected") or {}, ours(truth, body))
        for truth, body in paired_cases("article_goose3")
    ]
    texts = [
        (one["cleaned_text"], got.text or "")
        for one, got in found
        if one.get("cleaned_text")
    ]
    starts = sum(
        " ".join(_WORD.findall(expected)[:12]) in " ".join(_WORD.findall(got))
        for expected, got in texts
    )
    titles = [(one["title"], got.title) for one, got in found if one.get("title")]
    print(
        f"{'article_goose3':20} {len(found):4}  expected beginnings found {starts}/{len(texts)}"
        f"   titles {sum(_same(*pair) for pair in titles)}/{len(titles)}"
    )


def print_metadata() -> None:
    found = [(truth, ours(truth, body)) for truth, body in cases("article_fundus")]
    titles = sum(_same(truth["title"], got.title) for truth, got in found)
    dated = [
        (parse_date(truth["publishing_date"], "UTC"), got.published_at)
        for truth, got in found
    ]
    dated = [pair for pair in dated if pair[0]]
    minutes = sum(
        got is not None and abs((expected - got).total_seconds()) < 60
        for expected, got in dated
        if expected
    )
    days = sum(
        got is not None and expected.date() == got.date()
        for expected, got in dated
        if expected
    )
    signed = [
        (set(truth["authors"]), set(got.authors))
        for truth, got in found
        if truth["authors"]
    ]
    print(
        f"{'fundus metadata':20} {len(found):4}  title {titles}/{len(found)}   day {days}/{len(dated)}"
        f"   minute {minutes}/{len(dated)}"
        f"   author set {sum(expected == got for expected, got in signed)}/{len(signed)}"
        f"   any author {sum(bool(expected & got) for expected, got in signed)}/{len(signed)}"
    )
    naeb = [(truth, ours(truth, body)) for truth, body in cases("article_naeb")]
    titles = sum(_same(truth["title"], got.title) for truth, got in naeb)
    days = sum(
        bool(got.published_at) and str(got.published_at)[:10] == truth["date"][:10]
        for truth, got in naeb
        if truth.get("date")
    )
    print(
        f"{'naeb metadata':20} {len(naeb):4}  title {titles}/{len(naeb)}   day (UTC) {days}/{len(naeb)}"
    )


def run_wcxb_pages() -> tuple[int, int, int]:
    """Print and return the refused index pages of WCXB, and the correct titles and days
    of its articles.
    """
    found = [(truth, ours(truth, body)) for truth, body in cases("article_wcxb")]
    index = [
        got.outcome != "ok" for truth, got in found if truth["page_type"] in INDEX_TYPES
    ]
    stated = [(truth, got) for truth, got in found if truth["page_type"] == "article"]
    titles = sum(_same(truth["title"], got.title) for truth, got in stated)
    dated = [
        (truth["publish_date"][:10], got.published_at)
        for truth, got in stated
        if truth["publish_date"]
    ]
    days = sum(str(at)[:10] == day for day, at in dated)
    print(
        f"{'wcxb':20} {len(found):4}  index pages refused {sum(index)}/{len(index)}"
        f"   title {titles}/{len(stated)}   day (UTC) {days}/{len(dated)}"
    )
    return sum(index), titles, days


def _same(one: str | None, other: str | None) -> bool:
    return [word.lower() for word in _WORD.findall(one or "")] == [
        word.lower() for word in _WORD.findall(other or "")
    ]


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    extract(
        page({}, b"<html><body><p>" + b"warm " * 100 + b"</p></body></html>"), "UTC"
    )
    reference_text({}, b"<html><body><p>" + b"warm " * 100 + b"</p></body></html>")
    results = {name: run_set(name) for name in FLOORS}
    print_goose()
    print_metadata()
    rejected = [
        ours(truth, body)
        for truth, body in cases("article_pt")
        if truth.get("kind") == "not_article"
    ]
    print(
        f"not an article, rejected: {sum(one.outcome != 'ok' for one in rejected)}/{len(rejected)}"
    )
    index, titles, days = run_wcxb_pages()
    ratio = sum(run.own_s for run in results.values()) / sum(
        run.other_s for run in results.values()
    )
    print(f"time: {ratio:.2f} of trafilatura's bare_extraction with metadata")
    refused = sum(run.refused for run in results.values()) / sum(
        len(articles(name)) for name in FLOORS
    )
    print(f"articles refused: {refused:.4f}")
    low = [
        f"{name} {results[name].f1:.4f} < {floor}"
        for name, floor in FLOORS.items()
        if results[name].f1 < floor
    ]
    low += [
        f"{name}: {run.lost} pages below half of trafilatura's F1"
        for name, run in results.items()
        if run.lost
    ]
    if index < INDEX_FLOOR or titles < TITLE_FLOOR or days < DAY_FLOOR:
        low.append(f"wcxb: index pages {index}, titles {titles}, days {days}")
    if refused > MAX_REFUSED_SHARE:
        low.append(f"articles refused: {refused:.4f} > {MAX_REFUSED_SHARE}")
    if ratio > MAX_TIME_RATIO:
        low.append(f"too slow: {ratio:.2f} > {MAX_TIME_RATIO}")
    for line in low:
        print(f"BELOW FLOOR: {line}")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
