"""Stores what a replay changed, as a change of method: the publisher edited nothing."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from news_assets.pipeline.articles.dedupe import store_marked, without_mark
from news_assets.pipeline.articles.rows import revision_of
from news_assets.pipeline.replay.article import Replayed
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import record_article_outcomes
from news_assets.ports.lake import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk


def store_replayed(
    rows: Rows, stage: Stage, desk: Desk, batch: Sequence[Replayed], now: datetime
) -> list[Replayed]:
    """Store the new rows of a batch, and the texts they replace as revisions with cause
    `method`; return the batch.

    An article keeps its `rev_n`, which counts the texts of the publisher. One that was
    stored again since it was read is left as it is, and returned as `newer`. Later
    stages follow by themselves, as `content_hash` differs.
    """
    ids = [one.article.article_id for one in batch if one.row]
    stored = (
        {
            article.article_id: article
            for article in rows.read(RawArticle, article_id=ids)
        }
        if ids
        else {}
    )
    checked = [_unless_newer(one, stored) for one in batch]
    articles = store_marked(rows, [one.row for one in checked if one.row], stored)
    revisions = [
        revision_of(stored[new.article_id], new, now, "method")
        for new in articles
        if new.article_id in stored
    ]
    if written := [revision for revision in revisions if revision]:
        rows.upsert(written)
    record_article_outcomes(rows, stage, articles)
    return checked


def _unless_newer(one: Replayed, stored: dict[str, RawArticle]) -> Replayed:
    now = stored.get(one.article.article_id)
    if one.row is None or (now and without_mark(now) == without_mark(one.article)):
        return one
    return replace(
        one, change="newer", row=None, columns=(), reason="stored again meanwhile"
    )
