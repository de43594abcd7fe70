"""Which agenda items are dropped, and which are kept but not enriched, by the words of their titles.

A phrase fits whole words, in any case, with any spaces and signs between them: "commendation" is not in
"recommendation". The procedural phrases fit only where the title says little else, because "Approval of minutes" is
procedure, and "Approval of the minutes-taking contract with Acme Inc. for five years" is not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from news_assets.records.desks import ItemFilters

MAX_TITLE_CHARS = 1000
_MAX_OTHER_WORDS = 8  # beside a procedural phrase: "Approval of Minutes of the Regular Meeting of March 3, 2026"

Tier = Literal["dropped", "not_enriched"]


@dataclass(frozen=True, slots=True)
class Filtered:
    """Why an item is filtered: its tier, and the reason that is stored."""

    tier: Tier
    reason: str


def filtered(title: str, filters: ItemFilters) -> Filtered | None:
    """Return whether and why an item is filtered; None for one that is enriched."""
    words = title[:MAX_TITLE_CHARS]
    for match in _pattern(filters.dropped).finditer(words):
        others = len(words[: match.start()].split()) + len(words[match.end() :].split())
        if others <= _MAX_OTHER_WORDS:
            return Filtered("dropped", f'procedural: "{_plain(match[0])}"')
    kept = _pattern(filters.not_enriched).search(words)
    return Filtered("not_enriched", f'ceremonial or routine: "{_plain(kept[0])}"') if kept else None


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


@lru_cache(maxsize=64)
def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of whole phrases; without a phrase one that never fits. Longer phrases count first."""
    written = sorted((phrase.split() for phrase in phrases if phrase.strip()), key=len, reverse=True)
    parts = "|".join(r"[\s\W]{1,3}".join(map(re.escape, words)) for words in written)
    return re.compile(rf"(?<!\w)(?:{parts})(?!\w)" if parts else r"(?!)", re.IGNORECASE)
