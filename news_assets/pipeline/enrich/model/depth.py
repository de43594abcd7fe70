"""How fully a language model summarises an agenda item, by what the item decides. Pure.

Title and type say what is decided; the section, the sums and the length of the text
count where these say nothing.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

from news_assets.pipeline.enrich.model.rules import any_phrase, plain
from news_assets.records.articles import RawArticle
from news_assets.records.desks import DepthRules

Depth = Literal["brief", "usual", "full"]

_MAX_SUM_CHARS: Final = (
    # the sum that an item decides on stands at the beginning; later ones are of other
    # things
    6_000
)
_SUM = re.compile(
    r"\$ ?(\d[\d,]{0,15}(?:\.\d{1,2})?)(?: ?(thousand|million|billion|k|m|b)\b)?",
    re.IGNORECASE,
)
_TIMES: Final = {
    "": 1,
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "billion": 1e9,
}


def depth_of(item: RawArticle, rules: DepthRules) -> tuple[Depth, str]:
    """Return the depth of the summary of an agenda item, and why."""
    title, matter_type, section, text = (
        value or "" for value in (item.title, item.category, item.section, item.text)
    )
    full, brief = any_phrase(rules.full), any_phrase(rules.brief)
    looked_for: tuple[tuple[Depth, re.Pattern[str], str, str], ...] = (
        ("full", full, "title", title),
        ("full", full, "type", matter_type),
        ("brief", brief, "title", title),
        ("brief", brief, "type", matter_type),
        ("full", full, "section", section),
    )
    for depth, phrases, place, words in looked_for:
        if found := phrases.search(plain(words)):
            return depth, f"its {place} has “{found[0]}”"
    if (largest := max(_sums(text[:_MAX_SUM_CHARS]), default=0)) >= rules.dollars:
        return "full", f"it names ${largest:,.0f}"
    if len(text) >= rules.chars:
        return "full", f"its text has {len(text):,} characters"
    return "usual", "neither its words, its sums nor its length say otherwise"


def _sums(text: str) -> Iterator[float]:
    """Yield the sums in dollars that a text names in digits."""
    for number, unit in _SUM.findall(text):
        yield float(number.replace(",", "")) * _TIMES[unit.lower()]
