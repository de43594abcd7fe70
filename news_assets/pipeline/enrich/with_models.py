"""Enrich articles by language models, which cost money: whom to ask for which article, and what to store if none knows.

The local enricher reads every text: its language and length are those of the row. Where it is the first of the chain
and sure of the theme, its result stays. The others are asked of the models in turn. Where none of them gives a usable
answer, the local result fills in, with the reason; unless the reason is in the article, the row is `PROVISIONAL`, and
made again like a failed one until a model answers.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.labels import labelled, labels_in_force
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.model_run import ModelRun
from news_assets.pipeline.stage_state.declaration import Stage, of_articles
from news_assets.pipeline.stage_state.rows import PROVISIONAL, store_derived, versions_of
from news_assets.ports.lake import Lake
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, ThemeLabel
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays


def enrich_with_models(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    enricher: ModelEnricher,
    only: Collection[str] | None,
    *,
    re_enrich: bool,
) -> int:
    """Enrich the articles of these agency-days that have no current row, or all of them; return how many were written.

    Raises:
        EnrichError: No model is available, and the desk wants no local rows instead.
    """
    articles = [a for a in lake.read(RawArticle, keys, outcome=["ok"], **of_articles(only)) if (a.text or "").strip()]
    stored = {row.article_id: row for row in lake.read(EnrichedArticle, keys)}
    pending = [a for a in articles if re_enrich or not _is_current(stored.get(a.article_id), a)]
    made = ModelRun(lake, desk, enricher, clock).rows(pending)
    labels = labels_in_force(lake.read(ThemeLabel, keys, **of_articles(only)))
    rows_made = [labelled(row, labels.get(row.article_id)) for row in made.rows]
    changed = [row for row in rows_made if not _is_same(row, stored.get(row.article_id))]
    ended_at = clock()  # from which failed attempts count
    versions = versions_of(articles)
    kept = lake.transact(lambda rows: store_derived(rows, stage, keys, changed, versions, ended_at, made.provisional))
    if made.unavailable and desk.enrich.fallback == "none":
        raise EnrichError(made.unavailable)
    return len(kept)


def _is_current(row: EnrichedArticle | None, article: RawArticle) -> bool:
    return row is not None and row.outcome == "ok" and row.content_hash == article.content_hash


def _is_same(row: EnrichedArticle, stored: EnrichedArticle | None) -> bool:
    """Whether a row is stored already; what failed or is provisional is stored again, with the next attempt."""
    is_settled = row.outcome == "ok" and row.content_hash != PROVISIONAL
    return is_settled and stored is not None and replace(row, enriched_at=stored.enriched_at) == stored
