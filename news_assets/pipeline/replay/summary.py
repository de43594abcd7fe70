"""Counts what a replay changes, and holds the worst differences."""

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from news_assets.pipeline.replay.article import OTHER_TEXT, Change, Replayed
from news_assets.text.sentences import sentences

WORST = 10
_DIFF_LINES = 16
_DIFF_CHARS = 160  # of a line
_DIFF_SENTENCES = 1_000  # of each text: the time grows with their product


@dataclass(slots=True)
class Summary:
    """Counts by change and by column, of new rows, and the articles that lose the
    largest share of their words.
    """

    counts: Counter[Change] = field(default_factory=Counter)
    columns: Counter[str] = field(default_factory=Counter)
    new_rows: int = 0
    worst: list[Replayed] = field(default_factory=list)

    def add(self, batch: Sequence[Replayed]) -> None:
        """Add a batch. The texts of the worst articles only are held."""
        self.counts.update(one.change for one in batch)
        self.columns.update(column for one in batch for column in one.columns)
        self.new_rows += sum(one.row is not None for one in batch)
        self.worst = worst_of([*self.worst, *batch], WORST)


def worst_of(replayed: Sequence[Replayed], limit: int | None = None) -> list[Replayed]:
    """Return the articles whose text is another now, those first that lose the largest
    share of their words.
    """
    others = [one for one in replayed if one.change in OTHER_TEXT and one.article.text]
    return nsmallest(
        limit or len(others),
        others,
        key=lambda one: (one.kept_ratio, one.article.article_id),
    )


def diff_of(before: str, after: str) -> list[str]:
    """Return a unified diff of two texts by sentence, cut; it works on outside text, so
    in the sandbox.
    """
    diff = list(
        difflib.unified_diff(
            _lines(before), _lines(after), "stored", "extracted now", n=1, lineterm=""
        )
    )
    cut = [
        line if len(line) <= _DIFF_CHARS else f"{line[: _DIFF_CHARS - 1]}…"
        for line in diff[:_DIFF_LINES]
    ]
    return (
        cut
        if len(diff) <= _DIFF_LINES
        else [*cut, f"… {len(diff) - _DIFF_LINES} more lines"]
    )


def _lines(text: str) -> list[str]:
    lines = [
        sentence
        for line in text.splitlines()
        if line.strip()
        for sentence in sentences(line)
    ]
    return lines[:_DIFF_SENTENCES]
