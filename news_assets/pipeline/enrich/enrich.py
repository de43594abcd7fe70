"""Enrich articles.

Results are cached by their input (title, text, enricher, model, prompt and taxonomy version), so an edited text is
enriched again and an unchanged one is not. Failures are not cached. A duplicate reuses its original's result, unless
its text is only nearly the same.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from news_assets.errors import EnrichError
from news_assets.pipeline.articles.likeness import NEARLY_SAME_TEXT
from news_assets.pipeline.enrich.duplicates import originals_first
from news_assets.pipeline.enrich.labels import labelled, labels_in_force
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.model.requests import ENRICHER
from news_assets.pipeline.enrich.rows import (
    cache_of,
    enriched_row,
    from_json,
    identity,
    identity_of,
    input_hash,
    result_of,
    unenriched_row,
)
from news_assets.pipeline.enrich.with_models import enrich_with_models
from news_assets.pipeline.stage_state.declaration import Stage, of_articles
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports.enrichment import Enricher, PerDesk
from news_assets.ports.lake import Lake, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle, ThemeLabel
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Enrichment


def enrich_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    *,
    enricher: Enricher | ModelEnricher,
    only: Collection[str] | None = None,
    re_enrich: bool = False,
) -> int:
    """Enrich the stale articles of these agency-days; return how many rows were written.

    A language model is not asked again for an article that has a row of its present state, also one of the local
    enricher, unless `re_enrich` is set: that costs money. Nor does the local enricher replace what a model made. Its
    own rows are made again wherever it would make others.

    Raises:
        EnrichError: No model is available, and the desk wants no rows of the local enricher instead.
    """
    if isinstance(enricher, ModelEnricher):
        enricher = enricher.for_desk(desk)
        if enricher.asks_models(desk.enrich):
            asked = enricher.within_budget(clock, is_backfill=re_enrich)
            return enrich_with_models(stage, lake, desk, keys, clock, asked, only, re_enrich=re_enrich)
        enricher = enricher.local
    elif isinstance(enricher, PerDesk):
        enricher = enricher.for_desk(desk)
    rows_before = {row.article_id: row for row in lake.read(EnrichedArticle, keys)}
    articles = [
        article
        for article in lake.read(RawArticle, keys, outcome=["ok"], **of_articles(only))
        if re_enrich or not _is_paid_for(rows_before.get(article.article_id), article)
    ]
    hashes = {input_hash(article.title or "", article.text or "", enricher) for article in articles}
    cached = {cache.input_hash: cache for cache in lake.read(CachedEnrichment, input_hash=hashes)}
    ids = {article.duplicate_of for article in articles if article.duplicate_of}
    originals = {row.article_id: row for row in lake.read(EnrichedArticle, article_id=ids)}
    made = enrich_articles(articles, cached, originals, enricher, clock())
    stored = {article_id: _state(row) for article_id, row in rows_before.items()}
    labels = labels_in_force(lake.read(ThemeLabel, keys, **of_articles(only)))
    rows_made = [labelled(row, labels.get(row.article_id)) for row in made.rows]
    changed = [row for row in rows_made if row.outcome != "ok" or stored.get(row.article_id) != _state(row)]
    ended_at = clock()  # from which failed attempts count

    def store(rows: Rows) -> int:
        if made.new_cache:
            rows.upsert(made.new_cache)
        return len(store_derived(rows, stage, keys, changed, versions_of(articles), ended_at))

    return lake.transact(store)


def _is_paid_for(row: EnrichedArticle | None, article: RawArticle) -> bool:
    """Whether a language model made the row of an article as it is now: the local enricher leaves it."""
    return (
        row is not None and row.enricher == ENRICHER and (row.outcome, row.content_hash) == ("ok", article.content_hash)
    )


def _state(row: EnrichedArticle) -> tuple[object, ...]:
    return row.input_hash, row.content_hash, row.reused_from, row.outcome, row.reason


@dataclass(frozen=True, slots=True)
class Enriched:
    """Rows in the order of their articles, and the results to add to the cache."""

    rows: list[EnrichedArticle]
    new_cache: list[CachedEnrichment]


def enrich_articles(
    articles: Sequence[RawArticle],
    cached: Mapping[str, CachedEnrichment],
    originals: Mapping[str, EnrichedArticle],
    enricher: Enricher,
    now: datetime,
) -> Enriched:
    """Return one row for each article that has a text; other articles get none.

    Args:
        articles: The articles to enrich.
        cached: Earlier results by input hash.
        originals: Stored rows of the originals of duplicates, by article id.
        enricher: Called once per distinct input.
        now: `enriched_at` of the rows and `created_at` of the cache entries.
    """
    batch = _Batch(cached, originals, enricher, now)
    usable = [article for article in articles if article.outcome == "ok" and (article.text or "").strip()]
    rows: dict[str, EnrichedArticle] = {}
    for article in originals_first(usable):
        rows[article.article_id] = unenriched_row(article, now) if article.filter_reason else batch.row(article, rows)
    return Enriched([rows[article.article_id] for article in usable], batch.new_cache)


class _Batch:
    """Results, failures and new cache entries of one call."""

    def __init__(
        self,
        cached: Mapping[str, CachedEnrichment],
        originals: Mapping[str, EnrichedArticle],
        enricher: Enricher,
        now: datetime,
    ) -> None:
        self.new_cache: list[CachedEnrichment] = []
        self._cached = cached
        self._originals = originals
        self._enricher = enricher
        self._made_by = identity(enricher)
        self._now = now
        self._results: dict[str, Enrichment | EnrichError] = {}

    def row(self, article: RawArticle, rows: Mapping[str, EnrichedArticle]) -> EnrichedArticle:
        """Return the row of one article; `rows` are the earlier rows of this call by article id."""
        key = input_hash(article.title or "", article.text or "", self._enricher)
        is_near = article.duplicate_reason == NEARLY_SAME_TEXT  # its text may be cut, or have other facts
        original = None if is_near else self._usable_original(article.duplicate_of, rows)
        if original is not None:
            reused_from, result = original.article_id, result_of(original)
            return enriched_row(article, key, result, self._made_by, self._now, reused_from=reused_from)
        return enriched_row(article, key, self._result(key, article), self._made_by, self._now)

    def _usable_original(self, article_id: str | None, rows: Mapping[str, EnrichedArticle]) -> EnrichedArticle | None:
        """Return the original's row, unless it failed or is of another enricher, model, prompt or taxonomy."""
        original = rows.get(article_id or "") or self._originals.get(article_id or "")
        if original is None or original.outcome != "ok":
            return None
        return original if identity_of(original) == self._made_by else None

    def _result(self, key: str, article: RawArticle) -> Enrichment | EnrichError:
        if key not in self._results:
            cached = self._cached.get(key)
            self._results[key] = (cached and from_json(cached.result_json)) or self._enrich(key, article)
        return self._results[key]

    def _enrich(self, key: str, article: RawArticle) -> Enrichment | EnrichError:
        try:
            result = self._enricher.enrich(article.title or "", article.text or "", article.language)
        except EnrichError as error:
            return error
        self.new_cache.append(cache_of(key, result, self._enricher.name, self._enricher.model, self._now))
        return result
