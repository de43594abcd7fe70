"""Compares a sample of stored texts with what their pages give now."""

import hashlib
from collections.abc import Mapping

from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.pipeline.page.readers import READERS
from news_assets.pipeline.replay.archive import replay_articles
from news_assets.pipeline.replay.summary import worst_of
from news_assets.ports.lake import Reader
from news_assets.ports.reading import PageReader, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk

SAMPLE_PAGES = 50  # read in about a second
# the newest that have articles: so long is a difference seen while new articles come in
SAMPLE_DAYS = 30
# Extraction is deterministic, so without a change of code or library no text differs.
# One page of the sample may run into the time limit on a busy machine.
MAX_DRIFT_RATIO = 0.02

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
    replayed = [
        one
        for batch in replay_articles(lake, desk, articles, sandbox, readers)
        for one in batch
    ]
    compared = [one for one in replayed if one.change not in ("no_page", "no_entry")]
    rows = tuple(
        (
            one.article.article_id,
            one.article.agency,
            one.article.day,
            one.change,
            f"{one.kept_ratio:.0%}",
            one.article.text_chars,
            one.found_chars,
            one.reason,
        )
        for one in worst_of(compared)
    )
    return Findings(
        len(compared), _HEADER, rows, accepted=int(MAX_DRIFT_RATIO * len(compared))
    )


def sample_ids(lake: Reader, desk: str) -> list[str]:
    """Return the ids of the sample: of the newest days, chosen by a hash, so that every
    run compares the same.

    Articles whose last request failed are left out: their text may be from an earlier
    page than the newest one.
    """
    days = (
        lake.frame(RawArticle, None, ("day",), desk=[desk])["day"]
        .unique()
        .sort()[-SAMPLE_DAYS:]
    )
    columns = ("article_id", "text_chars", "attempts")
    frame = lake.frame(
        RawArticle, None, columns, desk=[desk], day=days.to_list(), outcome=["ok"]
    )
    ids = [
        article_id
        for article_id, chars, attempts in frame.iter_rows()
        if chars and not attempts
    ]
    return sorted(
        ids, key=lambda article_id: hashlib.sha256(article_id.encode()).digest()
    )[:SAMPLE_PAGES]
