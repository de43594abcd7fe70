"""The thresholds of extraction that were set on labelled pages."""

from typing import NamedTuple


class Thresholds(NamedTuple):
    """Shares by which readings of a page are compared, and lengths by which headlines are found.

    Set on the `dev` parts of article_wcxb (2024-2026), aeb, fundus, naeb, trafilatura and pt. Over the values that
    `news_assets_tests/quality/thresholds.py` tries for each, the F1 of no set changes by more than .003. The script
    scores every set with the values that are best for the others.
    """

    covered: float = 0.4
    """Of the page's long texts; a shorter reading is compared with others. 0 costs .010 on wcxb: wrong small parts."""

    gap: float = 0.15
    """Long texts missing between the first and last of a reading, per text in it; from here on recall mode is tried."""

    agreed: float = 0.75
    """Of one text's word pairs in another: the other holds it."""

    same_title: float = 0.75
    """Of the words of two headlines; those on the page and in its head differ by a word or a section name."""

    byline_chars: float = 250
    """Of a block above the headline; longer ones are text. 80 costs .009 on naeb, 700 costs .006 on trafilatura."""


THRESHOLDS = Thresholds()
