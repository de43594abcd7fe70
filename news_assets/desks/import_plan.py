"""Which offered sources are new, and what a desk file has to say of them: offers and the known desks in, agencies out.

A source is known by its address in any spelling (`offers.same_source_key`). Each newsroom becomes an agency: offers of
one name on one host are one, and so is an agency that the desk has. How a file is changed is `desk_text.py`'s.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from pydantic import ValidationError

from news_assets.desks.import_rows import Offer, Refusal, same_source_key
from news_assets.desks.loader import explain
from news_assets.desks.spec import AGENCY_KEY, SourceSpec
from news_assets.records import Agency, Desk
from news_assets.text.urls import host_of
from news_assets.text.words import fold

_NO_KEY = re.compile(r"[^a-z0-9]+")
_MAX_KEY_CHARS = 40
_USUAL_END = re.compile(r"(?:/(?:feeds?|rss2?|atom|index|all)(?:\.(?:xml|rss|rdf|atom|json|php))?)+/?$", re.IGNORECASE)

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Additions:
    """What is new, as a desk file has it: agencies by key, and sources of agencies that the desk has already."""

    agencies: dict[str, Plain]
    sources: dict[str, list[Plain]]
    refused: tuple[Refusal, ...]

    @property
    def source_count(self) -> int:
        """How many sources are new."""
        of_new = sum(len(agency["sources"]) for agency in self.agencies.values())
        return of_new + sum(map(len, self.sources.values()))


def choose(offers: Iterable[Offer], desk: Desk | None, known: Sequence[Desk], kinds: Collection[str]) -> Additions:
    """Return what the offers add to a desk, or to a new one; `known` are all desks whose sources are not read twice.

    An offer is refused where its source is known, or where the file says of it what no desk file may hold. One that
    names no kind is a feed.
    """
    chooser = _Chooser(desk, known, kinds)
    for offer in offers:
        chooser.take(offer)
    return Additions(chooser.agencies, chooser.sources, tuple(chooser.refused))


class _Chooser:
    """What was taken so far; an offer is met with what the desks have and with the offers before it."""

    def __init__(self, desk: Desk | None, known: Sequence[Desk], kinds: Collection[str]) -> None:
        self.agencies: dict[str, Plain] = {}
        self.sources: dict[str, list[Plain]] = {}
        self.refused: list[Refusal] = []
        self._kinds = kinds
        self._there = {agency.key: agency for agency in desk.agencies} if desk else {}
        self._places = _places([*known, *([desk] if desk else [])])
        self._keys = {
            (agency.name, _site(source.url)): key for key, agency in self._there.items() for source in agency.sources
        }

    def take(self, offer: Offer) -> None:
        address = same_source_key(offer.url)
        mistakes = self._mistakes(offer)
        if address in self._places:
            mistakes = [f"{offer.url}: already {self._places[address]}"]
        if mistakes:
            self.refused += [Refusal(offer.line, mistake) for mistake in mistakes]
            return
        self._places[address] = f"on line {offer.line}"
        key = self._key_of(offer)
        if key in self._there:
            self.sources.setdefault(key, []).append(_source_of(offer, self._there[key]))
        elif key in self.agencies:
            self.agencies[key]["sources"].append(_source_of(offer, self.agencies[key]))
        else:
            self.agencies[key] = _agency_of(offer)

    def _mistakes(self, offer: Offer) -> list[str]:
        try:
            SourceSpec.model_validate(_source_of(offer, {}), context={"kinds": sorted(self._kinds)})
        except ValidationError as error:
            return [explain(line) for line in error.errors()]
        return []

    def _key_of(self, offer: Offer) -> str:
        """Return the agency's key: the stated one, that of the same name on the same host, else a free one."""
        if offer.agency is not None:
            return offer.agency if AGENCY_KEY.fullmatch(offer.agency) else _slug(offer.agency) or self._free_key(offer)
        group = (offer.name or _name_of(offer.url), _site(offer.url))
        if group not in self._keys:
            self._keys[group] = self._free_key(offer)
        return self._keys[group]

    def _free_key(self, offer: Offer) -> str:
        slug = _slug(offer.name or _name_of(offer.url)) or _slug(_site(offer.url)) or "source"
        taken = {key.lower() for key in (*self._there, *self.agencies)}
        numbered = (f"{slug}-{number}" for number in count(2))
        return next(key for key in chain([slug], numbered) if key not in taken)


def _places(desks: Iterable[Desk]) -> dict[str, str]:
    return {
        same_source_key(source.url): f"in desk {desk.key}, agency {agency.key}{off}"
        for desk in desks
        for agency in desk.agencies
        for off in ("" if agency.is_active else " (not active)",)
        for source in agency.sources
    }


def _slug(text: str) -> str:
    """Return an ASCII key, cut between words; empty where the text has no letter or digit that ASCII knows."""
    slug = _NO_KEY.sub("-", fold(text).lower()).strip("-")
    if len(slug) <= _MAX_KEY_CHARS:
        return slug
    return slug[: _MAX_KEY_CHARS + 1].rpartition("-")[0] or slug[:_MAX_KEY_CHARS]


def _site(url: str) -> str:
    return host_of(url).removeprefix("www.")


def _name_of(url: str) -> str:
    """Return a name for a source that has none: its address without what feeds usually end in."""
    return _USUAL_END.sub("", same_source_key(url).partition("?")[0]) or url


def _agency_of(offer: Offer) -> Plain:
    stated = {"type": offer.type, "timezone": offer.timezone, "language": offer.language}
    agency = {"name": offer.name or offer.agency or _name_of(offer.url)} | _stated(stated)
    return agency | {"sources": [_source_of(offer, agency)]}


def _source_of(offer: Offer, agency: Agency | Plain) -> Plain:
    """Return the source as a desk file has it; zone and language only where they are not the agency's."""
    of_agency = agency if isinstance(agency, dict) else {"timezone": agency.timezone, "language": agency.language}
    own = {"timezone": offer.timezone, "language": offer.language}
    differing = {name: value for name, value in own.items() if value != of_agency.get(name)}
    return {"kind": offer.kind or "feed", "url": offer.url} | _stated({"pace": offer.pace} | differing)


def _stated(values: dict[str, str | None]) -> Plain:
    return {name: value for name, value in values.items() if value is not None}
