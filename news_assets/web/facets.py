"""The values that a search can be narrowed by: the most frequent of each facet beside the hits,
and all of one facet on a page of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from news_assets.ports.search_index import FACET_LABELS
from news_assets.text.words import fold
from news_assets.web.answers import SearchPart
from news_assets.web.archive import Archive
from news_assets.web.localization import language_name, translation
from news_assets.web.parameters import SearchAddress

_SHOWN: Final = 8
_PRESETS: Final = (("today", 1), ("the last 7 days", 7), ("the last 30 days", 30))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facet:
    """The values of a facet to show, with their counts; there are `total` of them.

    Themes are in the order of their tree, and `levels` has the level of each, from 1.
    """

    name: str
    label: str
    counts: Mapping[str, int]
    total: int
    levels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Preset:
    """A time of publication that ends today."""

    label: str
    first: date
    is_chosen: bool


def facets_of(
    archive: Archive, address: SearchAddress, answer: SearchPart
) -> list[_Facet]:
    """Return the facets of an answer; of one with a chosen value also the other values."""
    found = []
    for name, label in FACET_LABELS.items():
        counts = answer.facets.get(name, {})
        if name in address.active:
            counts = archive.facet_counts(address, name)
        if not counts:
            continue
        by_count = sorted(counts, key=lambda value: -counts[value])
        shown = by_count[:_SHOWN]
        for chosen in address.chosen(name):
            if chosen in counts and chosen not in shown:
                shown.append(chosen)
        levels: dict[str, int] = {}
        if name == "theme":
            levels = _tree(archive, counts, shown, address.desk)
            shown = list(levels)
        of_shown = {value: counts[value] for value in shown}
        facet = _Facet(
            name=name, label=label, counts=of_shown, total=len(counts), levels=levels
        )
        found.append(facet)
    return found


def _paths_of(
    archive: Archive,
    counts: Mapping[str, int],
    shown: Sequence[str],
    desk: str | None,
) -> dict[str, tuple[str, ...]]:
    """Return the paths of these themes and of those above them that are counted."""
    paths: dict[str, tuple[str, ...]] = {}
    for value in shown:
        path = archive.theme_path(value, desk)
        for level, code in enumerate(path, 1):
            if code in counts:
                paths[code] = path[:level]
    return paths


def _tree(
    archive: Archive,
    counts: Mapping[str, int],
    shown: Sequence[str],
    desk: str | None,
) -> dict[str, int]:
    """Return these themes and those above them with their levels, each beneath the one
    above it, the most frequent first.
    """
    paths = _paths_of(archive, counts, shown, desk)

    def place(code: str) -> list[tuple[int, str]]:
        return [(-counts.get(one, 0), one) for one in paths[code]]

    return {code: len(paths[code]) for code in sorted(paths, key=place)}


def presets(archive: Archive, address: SearchAddress) -> list[_Preset]:
    """Return the times to choose with one click; today is that of the first desk."""
    today = archive.today()
    found = []
    for label, days in _PRESETS:
        first = today - timedelta(days=days - 1)
        is_chosen = address.from_day == first and address.to_day is None
        found.append(_Preset(label, first, is_chosen))
    return found


def value_label(
    archive: Archive, name: str, value: str, desk: str | None, language: str
) -> str:
    """Return a value of a facet as readers of this language know it."""
    match name:
        case "agency":
            return archive.agency_name(value)
        case "theme":
            return archive.theme_label(value, language, desk)
        case "language":
            return language_name(value, language)
        case "sentiment" | "meeting_status":
            return translation(language)(value)
        case _:
            return value


def values_with(
    archive: Archive,
    name: str,
    address: SearchAddress,
    contained: str,
    language: str,
) -> Sequence[tuple[str, str, int]]:
    """Return value, label and count of all values of a facet whose labels contain some
    letters, by label.
    """
    wanted = fold(contained.lower())
    found = []
    for value, count in archive.facet_counts(address, name).items():
        label = value_label(archive, name, value, address.desk, language)
        if wanted in fold(label.lower()):
            found.append((value, label, count))
    return sorted(found, key=lambda one: fold(one[1].lower()))
