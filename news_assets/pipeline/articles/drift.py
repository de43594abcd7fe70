"""Compares a sample of stored texts with what their pages give now."""

import difflib
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from news_assets.pipeline.articles.replayed_article import (
    OTHER_TEXT,
    Change,
    Replayed,
    replay_articles,
)
from news_assets.pipeline.page.readers import READERS
from news_assets.pipeline.stage_declaration import Findings
from news_assets.ports.services import PageReader, Reader, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk
from news_assets.text.prose import sentences

_SAMPLE_PAGES = 50  # read in about a second
# the newest that have articles: so long is a difference seen while new articles come in
_SAMPLE_DAYS = 30
# Extraction is deterministic, so without a change of code or library no text differs.
# One page of the sample may run into the time limit on a busy machine.
_MAX_DRIFT_RATIO = 0.02

_HEADER = (
    "article_id",
    "agency",
    "day",
    "change",
    "words_kept",
    "stored_chars",
    "found_chars",
    "reason",
)


def drifted_articles(
    lake: Reader,
    desk: Desk,
    sandbox: Sandbox,
    readers: Mapping[str, PageReader] = READERS,
) -> Findings:
    """Return the articles of the desk's sample that would get another text, worst
    first; writes nothing.
    """
    articles = lake.read(RawArticle, article_id=sample_ids(lake, desk.key))
    compared: list[Replayed] = []
    for batch in replay_articles(lake, desk, articles, sandbox, readers):
        compared += [one for one in batch if one.change not in ("no_page", "no_entry")]
    rows = [_row(one) for one in _worst_of(compared)]
    accepted = int(_MAX_DRIFT_RATIO * len(compared))
    return Findings(len(compared), _HEADER, tuple(rows), accepted=accepted)


def _row(one: Replayed) -> tuple[object, ...]:
    """Return the cells of a drifted article below _HEADER."""
    article = one.article
    return (
        article.article_id,
        article.agency,
        article.day,
        one.change,
        f"{one.kept_ratio:.0%}",
        article.text_chars,
        one.found_chars,
        one.reason,
    )


def sample_ids(lake: Reader, desk: str) -> list[str]:
    """Return the ids of the sample: of the newest days, chosen by a hash, so that every
    run compares the same.

    Articles whose last request failed are omitted: their text may be from an earlier
    page than the newest one.
    """
    days = lake.frame(RawArticle, None, ("day",), desk=[desk])["day"].unique().sort()
    frame = lake.frame(
        RawArticle,
        None,
        ("article_id", "text_chars", "attempts"),
        desk=[desk],
        day=days[-_SAMPLE_DAYS:].to_list(),
        outcome=["ok"],
    )
    ids = [key for key, chars, attempts in frame.iter_rows() if chars and not attempts]
    ids.sort(key=lambda article_id: hashlib.sha256(article_id.encode()).digest())
    return ids[:_SAMPLE_PAGES]


# --- counts of changes, and the worst differences -------------------------------------

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
        for one in batch:
            self.counts[one.change] += 1
            self.columns.update(one.columns)
            self.new_rows += one.row is not None
        self.worst = _worst_of([*self.worst, *batch], WORST)


def _worst_of(replayed: Sequence[Replayed], limit: int | None = None) -> list[Replayed]:
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
    old, new = _lines(before), _lines(after)
    diff = list(
        difflib.unified_diff(old, new, "stored", "extracted now", n=1, lineterm="")
    )
    cut: list[str] = []
    for line in diff[:_DIFF_LINES]:
        is_long = len(line) > _DIFF_CHARS
        cut.append(f"{line[: _DIFF_CHARS - 1]}…" if is_long else line)
    if len(diff) > _DIFF_LINES:
        cut.append(f"… {len(diff) - _DIFF_LINES} more lines")
    return cut


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip():
            lines += sentences(line)
    return lines[:_DIFF_SENTENCES]
