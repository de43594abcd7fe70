"""Enrich articles.

Results are cached by their input (title, text, enricher, model, prompt and taxonomy version), so an edited text is
enriched again and an unchanged one is not. Failures are not cached. A duplicate reuses its original's result, unless
its text is only nearly the same.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from news_assets.errors import EnrichError
from news_assets.pipeline.articles.likeness import NEARLY_SAME_TEXT
from news_assets.pipeline.enrich.labels import labelled, labels_in_force
from news_assets.pipeline.stage_state.declaration import Stage, of_articles
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports import Enricher, Lake, PerDesk, Rows
from news_assets.records import AgencyDays, CachedEnrichment, Desk, EnrichedArticle, Enrichment, RawArticle, ThemeLabel

_RESULT_FIELDS = tuple(field.name for field in fields(Enrichment) if not field.name.startswith("theme_"))
_TUPLES = ("theme_path", "theme_labels", "keywords")


def input_hash(title: str, text: str, enricher: Enricher) -> str:
    """Return the SHA-256 of everything a result depends on."""
    parts = (title, text, enricher.name, enricher.model, enricher.prompt_version, enricher.taxonomy_version)
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def enrich_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    *,
    enricher: Enricher,
    only: Collection[str] | None = None,
) -> int:
    """Enrich the stale articles of these agency-days; return how many rows were written."""
    if isinstance(enricher, PerDesk):
        enricher = enricher.for_desk(desk.key)
    articles = lake.read(RawArticle, keys, outcome=["ok"], **of_articles(only))
    hashes = {input_hash(article.title or "", article.text or "", enricher) for article in articles}
    cached = {cache.input_hash: cache for cache in lake.read(CachedEnrichment, input_hash=hashes)}
    ids = {article.duplicate_of for article in articles if article.duplicate_of}
    originals = {row.article_id: row for row in lake.read(EnrichedArticle, article_id=ids)}
    made = enrich_articles(articles, cached, originals, enricher, clock())
    stored = {row.article_id: _state(row) for row in lake.read(EnrichedArticle, keys)}
    labels = labels_in_force(lake.read(ThemeLabel, keys, **of_articles(only)))
    rows_made = [labelled(row, labels.get(row.article_id)) for row in made.rows]
    changed = [row for row in rows_made if row.outcome != "ok" or stored.get(row.article_id) != _state(row)]
    ended_at = clock()  # from which failed attempts count

    def store(rows: Rows) -> int:
        if made.new_cache:
            rows.upsert(made.new_cache)
        return len(store_derived(rows, stage, keys, changed, versions_of(articles), ended_at))

    return lake.transact(store)


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
    for article in _originals_first(usable):
        rows[article.article_id] = batch.row(article, rows)
    return Enriched([rows[article.article_id] for article in usable], batch.new_cache)


def _originals_first(articles: Sequence[RawArticle]) -> list[RawArticle]:
    """Return the articles with every original before its duplicates."""
    by_id = {article.article_id: article for article in articles}
    placed: dict[str, RawArticle] = {}
    for article in articles:
        chain: dict[str, RawArticle] = {}  # ends a cycle
        following: RawArticle | None = article
        while following and following.article_id not in chain:
            chain[following.article_id] = following
            following = by_id.get(following.duplicate_of or "")
        for link in reversed(chain.values()):
            placed.setdefault(link.article_id, link)
    return list(placed.values())


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
        self._now = now
        self._results: dict[str, Enrichment | EnrichError] = {}

    def row(self, article: RawArticle, rows: Mapping[str, EnrichedArticle]) -> EnrichedArticle:
        """Return the row of one article; `rows` are the earlier rows of this call by article id."""
        key = input_hash(article.title or "", article.text or "", self._enricher)
        is_near = article.duplicate_reason == NEARLY_SAME_TEXT  # its text may be cut, or have other facts
        original = None if is_near else self._usable_original(article.duplicate_of, rows)
        if original is not None:
            return self._row_of(article, key, _result_of(original), reused_from=original.article_id)
        return self._row_of(article, key, self._result(key, article), reused_from=None)

    def _usable_original(self, article_id: str | None, rows: Mapping[str, EnrichedArticle]) -> EnrichedArticle | None:
        """Return the original's row, unless it failed or is of another enricher, model, prompt or taxonomy."""
        original = rows.get(article_id or "") or self._originals.get(article_id or "")
        if original is None or original.outcome != "ok":
            return None
        made_by = (original.enricher, original.model, original.prompt_version, original.taxonomy_version)
        current = self._enricher
        is_current = made_by == (current.name, current.model, current.prompt_version, current.taxonomy_version)
        return original if is_current else None

    def _result(self, key: str, article: RawArticle) -> Enrichment | EnrichError:
        if key not in self._results:
            cached = self._cached.get(key)
            self._results[key] = (cached and _from_json(cached.result_json)) or self._enrich(key, article)
        return self._results[key]

    def _enrich(self, key: str, article: RawArticle) -> Enrichment | EnrichError:
        try:
            result = self._enricher.enrich(article.title or "", article.text or "", article.language)
        except EnrichError as error:
            return error
        self.new_cache.append(
            CachedEnrichment(
                input_hash=key,
                enricher=self._enricher.name,
                model=self._enricher.model,
                result_json=json.dumps(asdict(result), ensure_ascii=False),
                created_at=self._now,
            )
        )
        return result

    def _row_of(
        self, article: RawArticle, key: str, result: Enrichment | EnrichError, reused_from: str | None
    ) -> EnrichedArticle:
        is_failed = isinstance(result, EnrichError)
        found = Enrichment() if isinstance(result, EnrichError) else result
        return EnrichedArticle(
            article_id=article.article_id,
            desk=article.desk,
            agency=article.agency,
            day=article.day,
            input_hash=key,
            content_hash=article.content_hash,
            theme_code=found.theme_path[-1] if found.theme_path else None,
            theme_path=found.theme_path,
            theme_labels=found.theme_labels,
            theme_score=found.theme_score,
            theme_reason=found.theme_reason,
            **{name: getattr(found, name) for name in _RESULT_FIELDS},
            enricher=self._enricher.name,
            model=self._enricher.model,
            prompt_version=self._enricher.prompt_version,
            taxonomy_version=self._enricher.taxonomy_version,
            reused_from=reused_from,
            enriched_at=self._now,
            outcome="failed" if is_failed else "ok",
            reason=str(result) if is_failed else None,
            trace_id=article.trace_id,
        )


def _result_of(row: EnrichedArticle) -> Enrichment:
    return Enrichment(**{field.name: getattr(row, field.name) for field in fields(Enrichment)})


def _from_json(result_json: str) -> Enrichment | None:
    """Return a cached result; None for one that an older version wrote and this one cannot read."""
    try:
        stored: dict[str, Any] = json.loads(result_json)
        values: dict[str, Any] = {name: tuple(value) if name in _TUPLES else value for name, value in stored.items()}
        return Enrichment(**values)
    except (ValueError, TypeError, AttributeError):
        return None
