"""Index pages and articles that are refused with points set on other pages, beside
those with the points in use.

    python -m news_assets_tests.quality.index_pages

Labelled index pages are in one set only, so they are left out fifth by fifth, and the
articles set by set. The points are found as in `thresholds`, from 1 for each sign, so
that as many index pages as possible are refused at .25 % of the other articles. Exits 1
below the goals, which are on the figures with the points of others.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from news_assets.pipeline.page.extract import page_tree
from news_assets.pipeline.page.page_metadata import read_metadata
from news_assets.pipeline.page.refusals import (
    SIGNS,
    PageFacts,
    Signs,
    page_facts,
    signs_of_index,
)
from news_assets_tests.quality import extraction
from news_assets_tests.support.tuning import tuned

GRID: dict[str, tuple[float, ...]] = {
    "enough": (5, 4),
    "short_title": (2, 1),
    "short_address": (1, 0, 2),
    "listing_address": (2, 1),
    "no_date": (1, 0, 2),
    "controls": (2, 1, 3),
    "prices": (1, 0, 2),
    "more_pages": (1, 0),
    "hardly_prose": (2, 1),
    "prose_share": (0.25, 0.15, 0.35),
    "min_prices": (3, 5),
}
FOLDS = 5

Facts = Sequence[PageFacts | None]


def facts_of(cases: Sequence[extraction.Case]) -> Iterator[PageFacts | None]:
    """Yield what is counted on each page; None for one that is no index page by its
    metadata.
    """
    for truth, body in cases:
        page = extraction.page(truth, body)
        tree = page_tree(page)
        metadata = (
            None
            if tree is None
            else read_metadata(tree, page.final_url, "UTC", page.fetched_at)
        )
        yield (
            page_facts(tree, metadata, page.final_url)
            if tree is not None and metadata
            else None
        )


def refused(pages: Facts, signs: Signs) -> int:
    """Return how many pages are refused as index pages."""
    return sum(
        facts is not None and bool(signs_of_index(facts, signs)) for facts in pages
    )


def best(index: Facts, articles: Facts) -> Signs:
    """Return the points by which most of these index pages are refused, and at most
    half of the allowed articles.

    With all that are allowed on these articles, more are refused of others.
    """
    allowed = extraction.MAX_REFUSED_SHARE / 2 * len(articles)

    def score(signs: Signs) -> float:
        wrong = refused(articles, signs)
        return (
            refused(index, signs)
            - wrong / len(articles)
            - len(index) * max(0.0, wrong - allowed)
        )

    return tuned(SIGNS, GRID, score)


def main() -> int:
    if not extraction.CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    index: dict[int, list[PageFacts | None]] = {n: [] for n in range(FOLDS)}
    for case in extraction.cases("article_wcxb"):
        if case[0]["page_type"] in extraction.INDEX_TYPES:
            index[crc32(case[0]["url"].encode()) % FOLDS] += facts_of([case])
    articles = {
        name: list(facts_of(extraction.articles(name))) for name in extraction.FLOORS
    }
    every_index, every_article = all_but(None, index), all_but(None, articles)

    found = wrong = 0
    for fold, pages in index.items():
        signs = best(all_but(fold, index), every_article)
        found += refused(pages, signs)
        print(line(f"index pages, fifth {fold + 1}", pages, signs), flush=True)
    for name, pages in articles.items():
        signs = best(every_index, all_but(name, articles))
        wrong += refused(pages, signs)
        print(line(name, pages, signs), flush=True)
    print(
        f"index pages refused {found}/{len(every_index)}, in use {refused(every_index, SIGNS)}"
    )
    print(
        f"articles refused {wrong}/{len(every_article)}, in use {refused(every_article, SIGNS)}"
    )
    if (
        is_low := found < extraction.INDEX_FLOOR
        or wrong > extraction.MAX_REFUSED_SHARE * len(every_article)
    ):
        print(
            f"BELOW FLOOR: {found} < {extraction.INDEX_FLOOR} or {wrong} articles of {len(every_article)}"
        )
    return int(is_low)


def all_but(left_out: str | int | None, pages: Mapping[Any, Facts]) -> Facts:
    """Return the pages of all sets but one."""
    return [facts for name, some in pages.items() if name != left_out for facts in some]


def line(name: str, pages: Facts, signs: Signs) -> str:
    return (
        f"{name:24} {len(pages):4}  refused, left out {refused(pages, signs):3}   in use {refused(pages, SIGNS):3}"
        f"   {' '.join(f'{value:g}' for value in signs)}"
    )


if __name__ == "__main__":
    sys.exit(main())
