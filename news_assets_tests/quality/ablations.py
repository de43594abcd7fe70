"""What each of our additions to trafilatura and htmldate gains and loses on each set of
labelled pages.

    python -m news_assets_tests.quality.ablations

The first table has the F1 of each set without one addition to the text, and how many
pages the addition makes better and worse. The second has the titles and days of
publication that are right, beside those of trafilatura with htmldate, the days by the
part of the page that they were read from, and the articles refused as index pages.
Exits 1 if an addition lowers the mean over all sets, or a score is below its floor.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from statistics import mean
from typing import Any

import trafilatura

from news_assets.pipeline.page.body_text import THRESHOLDS, TRIMS
from news_assets.pipeline.page.extract import page_tree
from news_assets.pipeline.page.page_metadata import PageMetadata, read_metadata
from news_assets.pipeline.page.refusals import page_facts, signs_of_index
from news_assets.text.dates import parse_date
from news_assets_tests.quality import extraction
from news_assets_tests.quality.thresholds import FLOORS, ReadPage, ReadSet

ZONE = "America/Sao_Paulo"  # of the Brazilian public bodies; a day off is no error
NEAR = timedelta(hours=36)
CHANGED = 0.002  # of F1
TITLE_FLOORS = {"meta_ferret": 0.93, "article_mercury": 0.90, "article_naeb": 0.96}
DAY_FLOORS = {"meta_ferret": 0.97, "article_mercury": 0.92, "dates_htmldate": 0.94}
_WORD = re.compile(r"\w+")
_SEPARATOR = re.compile(r" [|–—:-] |: ")

Text = Callable[[ReadPage], str]


def texts() -> dict[str, Text]:
    """Return how a page's text is made: with all additions, and without each."""
    made: dict[str, Text] = {
        "nothing": lambda page: page.text(THRESHOLDS),
        "recall mode": lambda page: page.trimmed(page.readings["default"]),
        "joining": ReadPage.apart_text,
    }
    for name in TRIMS:
        made[name] = _without(name)
    return made


def _without(name: str) -> Text:
    others = [other for other in TRIMS if other != name]
    return lambda page: page.text(THRESHOLDS, others)


def text_table(sets: list[ReadSet]) -> Iterator[str]:
    """Print the first table; yield a line for each addition that lowers the mean."""
    means: dict[str, float] = {}
    print(
        f"{'without':14}"
        + "".join(f"{one.name.removeprefix('article_'):>13}" for one in sets)
        + "         mean"
    )
    for name, text in texts().items():
        scores = [
            extraction.scored(
                one.name, [(page.truth, text(page)) for page in one.pages]
            )[0]
            for one in sets
        ]
        means[name] = mean(scores)
        print(
            f"{name:14}"
            + "".join(f"{score:13.4f}" for score in (*scores, means[name])),
            _changes(sets, text),
        )
    costs = {name: score - means["nothing"] for name, score in means.items()}
    yield from (f"{name} costs {cost:.4f}" for name, cost in costs.items() if cost > 0)


def _changes(sets: list[ReadSet], text: Text) -> str:
    counts: Counter[str] = Counter()
    for one in sets:
        for page in one.pages:
            whole = extraction.f1_of(one.name, page.truth, page.text(THRESHOLDS))
            less = extraction.f1_of(one.name, page.truth, text(page))
            counts["better"] += whole > less + CHANGED
            counts["worse"] += whole < less - CHANGED
    return f"  better {counts['better']:3}  worse {counts['worse']:3}"


# --- titles and days ------------------------------------------------------------------


def stated_table(name: str) -> Iterator[str]:
    """Print the titles, days and refusals of one set; yield a line for each score below
    its floor.
    """
    counts: Counter[str] = Counter()
    for truth, body in extraction.articles(name):
        metadata, is_refused = _read(truth, body)
        reference = trafilatura.bare_extraction(
            body, url=truth.get("url"), with_metadata=True
        )
        counts["pages"] += 1
        counts["refused"] += is_refused
        _count_title(counts, truth, metadata, getattr(reference, "title", None))
        _count_day(counts, truth, metadata, getattr(reference, "date", None))
    print(
        f"{name:18} {'  '.join(f'{what} {count}' for what, count in counts.items())}",
        flush=True,
    )
    for what, known, floors in (
        ("titles", "titled", TITLE_FLOORS),
        ("days", "dated", DAY_FLOORS),
    ):
        share = counts[what] / max(counts[known], 1)
        if share < floors.get(name, 0):
            yield f"{name}: {what} {share:.3f} < {floors[name]}"


def _read(truth: dict[str, Any], body: bytes) -> tuple[PageMetadata | None, bool]:
    """Return a page's metadata, and whether it is refused as an index page."""
    page = extraction.page(truth, body)
    tree = page_tree(page)
    if tree is None:
        return None, False
    metadata = read_metadata(tree, page.final_url, ZONE, page.fetched_at)
    facts = page_facts(tree, metadata, page.final_url)
    return metadata, facts is not None and bool(signs_of_index(facts))


def _count_title(
    counts: Counter[str],
    truth: dict[str, Any],
    metadata: PageMetadata | None,
    reference: str | None,
) -> None:
    if expected := truth.get("title"):
        counts["titled"] += 1
        counts["titles"] += is_title(expected, metadata.title if metadata else None)
        counts["other's titles"] += is_title(expected, reference)


def _count_day(
    counts: Counter[str],
    truth: dict[str, Any],
    metadata: PageMetadata | None,
    reference: str | None,
) -> None:
    known = parse_date(str(truth.get("date")), ZONE)
    if known is None:
        return
    right = is_near(metadata.published_at if metadata else None, known)
    counts["dated"] += 1
    counts["days"] += right
    counts["other's days"] += is_near(parse_date(reference, ZONE), known)
    origin = (metadata.published_origin if metadata else None) or "none"
    counts[f"{origin} {'right' if right else 'wrong'}"] += 1


def is_title(expected: str, title: str | None) -> bool:
    """Whether a title is the expected one, or one of the two has the site's name after
    it.
    """
    words, found = _words(expected), _words(title or "")
    shorter, longer = sorted((words, found), key=len)
    is_longer = bool(shorter) and longer[: len(shorter)] == shorter
    return words == found or (
        is_longer and bool(_SEPARATOR.search(f"{expected}{title}"))
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def is_near(found: datetime | None, known: datetime) -> bool:
    return found is not None and abs(found - known) <= NEAR


def main() -> int:
    if not extraction.CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    low = list(text_table([ReadSet(name) for name in FLOORS]))
    for name in ("meta_ferret", "article_mercury", "dates_htmldate", "article_naeb"):
        low += stated_table(name)
    for line in low:
        print(f"BELOW FLOOR: {line}")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
