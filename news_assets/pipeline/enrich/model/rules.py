"""Why an article is not sent to a language model."""

import re
from collections.abc import Iterable
from functools import lru_cache

from news_assets.records.desks import EnrichRules
from news_assets.text.words import fold

# Texts of set form, of which a summary says no more than their title.
_PROCEDURAL = (
    "agenda",
    "pauta",
    "ata",
    "edital",
    "retificação",
    "errata",
    "extrato",
    "aviso de licitação",
    "nota de pesar",
    "agenda do ministro",
    "agenda da ministra",
    "press briefing",
    "media advisory",
    "meeting minutes",
    "daily schedule",
)


def reason_not_sent(title: str, text: str, rules: EnrichRules) -> str | None:
    """Return why an article is left to the local enricher; None if it is sent."""
    if len(text.strip()) < rules.min_chars:
        return (
            f"not sent: the text has {len(text.strip())} characters, "
            f"fewer than {rules.min_chars}"
        )
    if found := any_phrase(rules.skip_titles).search(plain(title)):
        return (
            f"not sent: the title has “{found[0].strip()}”, which the desk file skips"
        )
    if found := _procedural().match(plain(title)):
        return f"not sent: a text of set form, as its title begins with “{found[1]}”"
    return None


def plain(text: str) -> str:
    """Return a text in the form in which `any_phrase` finds phrases."""
    return fold(text).lower()


@lru_cache(maxsize=64)
def any_phrase(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of any of these phrases as whole words, in plain text.

    Of none it matches nothing.
    """
    if not phrases:
        return re.compile("(?!)")
    return re.compile(rf"(?<!\w)(?:{_alternatives(phrases)})(?!\w)")


@lru_cache(maxsize=1)
def _procedural() -> re.Pattern[str]:
    return re.compile(rf"\A\W*+({_alternatives(_PROCEDURAL)})(?: |:|$)")


def _alternatives(phrases: Iterable[str]) -> str:
    return "|".join(re.escape(plain(phrase)) for phrase in phrases)
