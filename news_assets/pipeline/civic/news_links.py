"""Which stored matters and meetings an article of news reports on: what it names, compared
with the numbers, places, bodies and titles of agendas.

A wrong link is worse than none: where two cities fit equally, there is none.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from news_assets.pipeline.civic.mentions import letters_of_type, number_of_matter
from news_assets.records.desks import Desk
from news_assets.text.words import fold, stem, stopwords, words

Place = tuple[str, str]  # desk and agency of a council

_LEAD_CHARS: Final = 600  # where an article says which place it is about
_PASSAGE, _LEAD, _NONE = 2, 1, 0
_SAME_PUBLISHER: Final = 3
_IN_NAMES = re.compile(
    r"^(?:the\s)?(?:city|town|village|township|borough|county|municipality)\sof\s"
    r"|^(?:camara|prefeitura|municipio)(?:\smunicipal)?\sd[aeo]s?\s"
    r"|\s(?:city|town|common|county)?\s?council$"
)
# of the distinct words of an item's title that are not of every agenda
_FEWEST_WORDS: Final = 3
_SHARE_OF_WORDS: Final = 0.65
_OF_EVERY_AGENDA: Final = frozenset(
    (
        *("ordinance", "resolution", "approve", "approval", "authorize", "award"),
        *("contract", "agreement", "recommendation", "report", "review", "hearing"),
        *("public", "city", "council", "county", "amend", "amendment", "relating"),
        *("certain", "proposed", "consider", "consideration", "adopt", "adoption"),
        *("code", "chapter", "section", "request", "mayor", "manager", "department"),
        *("lei", "projeto", "municipal", "municipio", "prefeitura", "camara"),
        *("altera", "dispoe", "autoriza", "institui", "providencias"),
    )
)

_TELLING_NOTHING: Final = _OF_EVERY_AGENDA | stopwords("en") | stopwords("pt")


def places_of(desks: Iterable[Desk]) -> dict[Place, str]:
    """Return the place of each agency with councils, folded: `springfield` of "City of
    Springfield, Illinois".
    """
    found: dict[Place, str] = {}
    for desk in desks:
        if not desk.is_civic:
            continue
        for agency in desk.agencies:
            first, _, _ = fold(agency.name).lower().partition(",")
            first, _, _ = first.partition(" (")
            found[desk.key, agency.key] = _IN_NAMES.sub("", first.strip()).strip()
    return found


@dataclass(frozen=True)
class NewsText:
    """An article with what is compared of it."""

    article_id: str
    agency: str
    title: str
    text: str
    language: str | None = None

    @cached_property
    def lead(self) -> str:
        """Headline and first paragraphs, folded."""
        return _folded(f"{self.title}\n{self.text[:_LEAD_CHARS]}")

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words."""
        found = words(f"{self.title}\n{self.text}")
        return frozenset(stem(word, self.language) for word in found)


def _folded(text: str) -> str:
    """Return a text in lower case, without accents and line breaks."""
    return " ".join(fold(text).lower().split())


def the_place(
    article: NewsText,
    passage: str,
    candidates: Collection[Place],
    places: Mapping[Place, str],
) -> Place | None:
    """Return the one of these councils that a passage is about: that of the publisher,
    else the one whose place the passage names, else the first paragraphs; None where
    none or several fit.
    """
    ranks: dict[Place, int] = {}
    in_passage = _folded(passage)
    for one in candidates:
        if article.agency == one[1]:
            ranks[one] = _SAME_PUBLISHER
        else:
            ranks[one] = _rank(places.get(one, ""), in_passage, article.lead)
    best = max(ranks.values(), default=_NONE)
    found = [one for one, rank in ranks.items() if rank == best]
    return found[0] if best and len(found) == 1 else None


def _rank(place: str, passage: str, lead: str) -> int:
    if _is_in(place, passage):
        return _PASSAGE
    return _LEAD if _is_in(place, lead) else _NONE


def _is_in(name: str, text: str) -> bool:
    """Whether a folded text has a folded name as whole words."""
    if not name:
        return False
    start = text.find(name)
    while start >= 0:
        around = text[max(0, start - 1) : start] + text[start + len(name) :][:1]
        if not any(map(str.isalnum, around)):
            return True
        start = text.find(name, start + 1)
    return False


def is_number_of(named: str, matter_file: str, matter_type: str | None) -> bool:
    """Return whether a number that an article names is that of a matter."""
    own = number_of_matter(matter_file)
    if named == own:
        return True
    letters, _, digits = named.rpartition(" ")
    own_letters, _, own_digits = own.rpartition(" ")
    if digits != own_digits or own_letters:
        return False
    return letters in ("FILE", letters_of_type(matter_type))


def names_body(passage: str, body: str, place: str) -> bool:
    """Return whether a passage names a body, or its kind with the place before it."""
    text, name = _folded(passage), _folded(body)
    if not name:
        return False
    short = f"{place} {name.split()[-1]}" if place else name
    return _is_in(name, text) or _is_in(short, text)


def has_words_of(article: NewsText, title: str) -> bool:
    """Return whether an article has most words of an item's title, those of every agenda
    aside.
    """
    stems = set[str]()
    for word in words(title):
        if _tells(word):
            stems.add(stem(word, article.language))
    shared = stems & article.stems
    return len(shared) >= max(_FEWEST_WORDS, _SHARE_OF_WORDS * len(stems))


def _tells(word: str) -> bool:
    if word in _TELLING_NOTHING or fold(word) in _TELLING_NOTHING:
        return False
    return len(word) > 2 or word.isdigit()
