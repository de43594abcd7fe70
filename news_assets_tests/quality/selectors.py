"""Selectors that `try-source --selectors` proposes, on saved listing pages.

    python -m news_assets_tests.quality.selectors

A proposal is right if it yields three or more entries and at least 80 % of their titles
are in the page's labelled main text; labels leave out parts of some lists. LISTS are
the pages of the set that list articles or episodes; the other listing pages (shops,
courses, directories) have no floor. Exits 1 if a score is below its floor; floors are
raised and never lowered.
"""

import sys

from news_assets.errors import SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Page
from news_assets.sources.html_listing_kinds import parse_selected
from news_assets.sources.selector_proposal import propose
from news_assets_tests.quality.extraction import CORPUS, cases, page

ZONE = "America/New_York"
LISTS = """
    0082 0083 0260 0265 0337 0470 1795 2962 2967 2968 2969 2972 3011 3013 3014 3030 4508 4636
"""
FLOOR = 14
MIN_ENTRIES, MIN_SHARE, TITLE_CHARS = 3, 0.8, 60


def entries_of(listing: Page) -> tuple[ListedEntry, ...]:
    """Return what the proposed selectors yield; nothing without a proposal."""
    selectors = propose(listing, ZONE)
    source = Source(
        source_id=listing.url,
        desk="",
        agency="",
        kind="html_listing",
        url=listing.url,
        timezone=ZONE,
        language="en",
        selectors=selectors,
    )
    try:
        return parse_selected(listing, source).entries if selectors else ()
    except SourceError:
        return ()


def is_right(entries: tuple[ListedEntry, ...], text: str) -> bool:
    words = " ".join(text.split()).lower()
    titles = [
        " ".join((entry.title or "").split()).lower()[:TITLE_CHARS] for entry in entries
    ]
    found = sum(bool(title) and title in words for title in titles)
    return len(titles) >= MIN_ENTRIES and found >= MIN_SHARE * len(titles)


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    scores: dict[bool, list[bool]] = {True: [], False: []}
    for truth, body in cases("article_wcxb"):
        if truth["page_type"] in ("listing", "collection"):
            entries = entries_of(page(truth, body))
            is_list, good = (
                truth["html_file"][:4] in LISTS,
                is_right(entries, truth["articleBody"]),
            )
            scores[is_list].append(good)
            if is_list:
                dated = sum(entry.published_at is not None for entry in entries)
                print(
                    f"{'right' if good else 'wrong'}  {len(entries):3} entries  {dated:3} dated  {truth['url']}"
                )
    print(
        f"lists of articles: {sum(scores[True])} of {len(scores[True])} (floor {FLOOR})"
    )
    print(f"other listings: {sum(scores[False])} of {len(scores[False])}")
    return int(sum(scores[True]) < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
