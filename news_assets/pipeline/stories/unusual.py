"""How rare a theme is for some publishers, and which themes have more articles than usual.

Habits are learnt from the weeks before a day: of each publisher the shares of its themes,
of each theme its share of all articles on the same weekday, and how much it varies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log2, sqrt
from typing import Annotated, Final

_PRIOR_ARTICLES: Final = 20.0  # with the themes of all publishers, added to each one's
_LEAST_DAYS: Final = 3  # of a weekday that a habit is learnt from
_LEAST_ARTICLES: Final = 5
_RISING: Final = 3.0  # standard deviations above the habit


@dataclass(frozen=True, slots=True, kw_only=True)
class RisingTheme:
    """A theme with more articles on a day than it usually has."""

    theme_code: Annotated[str, "code of a theme of level 1"]
    articles: Annotated[int, "articles of the day"]
    usual: Annotated[
        float, "articles that it would have by its usual share of the weekday"
    ]
    excess: Annotated[float, "standard deviations above that"]


@dataclass(frozen=True, slots=True)
class ThemeHabits:
    """Numbers of articles by theme of level 1: by publisher (`desk/agency`) in the weeks
    before, and of the day and the same weekday before by day.
    """

    of_publisher: Mapping[str, Mapping[str, int]]
    of_day: Mapping[date, Mapping[str, int]]

    def one_in(self, theme: str, publishers: Sequence[str]) -> float:
        """Return how rare a theme is for these publishers: one of so many articles, as
        the geometric mean; 1 if nothing is known.
        """
        everyone = sum(map(_total, self.of_publisher.values()))
        if not everyone or not publishers:
            return 1.0
        of_theme = sum(counts.get(theme, 0) for counts in self.of_publisher.values())
        share = (of_theme + 1) / (everyone + _PRIOR_ARTICLES)
        bits = 0.0
        for publisher in publishers:
            counts = self.of_publisher.get(publisher, {})
            expected = counts.get(theme, 0) + _PRIOR_ARTICLES * share
            bits += log2((_total(counts) + _PRIOR_ARTICLES) / expected)
        return float(2 ** (bits / len(publishers)))

    def rising(self, day: date) -> list[RisingTheme]:
        """Return the themes with more articles on a day than usual, the most unusual
        first. A day that is not over is compared by its shares.
        """
        today = self.of_day.get(day, {})
        before = [counts for one, counts in self.of_day.items() if one < day]
        if len(before) < _LEAST_DAYS:
            return []
        found = []
        for theme, articles in today.items():
            usual, deviation = _usual(theme, before, _total(today))
            excess = (articles - usual) / deviation
            if articles < _LEAST_ARTICLES or excess < _RISING:
                continue
            rising = RisingTheme(
                theme_code=theme, articles=articles, usual=usual, excess=excess
            )
            found.append(rising)
        return sorted(found, key=lambda one: (-one.excess, one.theme_code))


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


def _usual(
    theme: str, before: Sequence[Mapping[str, int]], total: int
) -> tuple[float, float]:
    """Return how many of so many articles usually have a theme, and the standard
    deviation: by chance, and by how much more than that the days before differ.
    """
    share = sum(counts.get(theme, 0) for counts in before) / sum(map(_total, before))
    usual = share * total
    dispersion = 0.0
    for counts in before:
        expected = max(share * _total(counts), 1.0)
        dispersion += (counts.get(theme, 0) - expected) ** 2 / expected
    dispersion = max(1.0, dispersion / len(before))
    return usual, sqrt(max(usual, 1.0) * dispersion)
