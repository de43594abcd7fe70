"""Enriches articles: RawArticle rows enter, EnrichedArticle rows and cache entries leave.

An answer is kept by its input (title, text, enricher, model, prompt and taxonomy version): an edited text is enriched
again, an unchanged one never, a failure is not kept, a duplicate reuses its original's answer. Besides the policy this
holds the local enricher, which needs no network. Enrichers that ask a model elsewhere live in `clients/`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.keywords import keywords
from news_assets.pipeline.enrich.summary import summary
from news_assets.pipeline.enrich.themes import FoundTheme, ThemeTable
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports import Enricher, Lake, Rows
from news_assets.records import AgencyDays, CachedEnrichment, Desk, EnrichedArticle, Enrichment, RawArticle
from news_assets.taxonomy.loader import Taxonomy
from news_assets.text.language import language_of
from news_assets.text.readability import readability
from news_assets.text.sentences import paragraphs, prose, sentences
from news_assets.text.words import words

READING_WPM = 220  # adults read 200 to 230 words a minute
MODEL = "lexical-1"  # another number with every change of how themes, summaries or keywords are found
PROMPT_VERSION = "1"

_RESULT_FIELDS = tuple(field.name for field in fields(Enrichment) if not field.name.startswith("theme_"))
_TUPLES = ("theme_path", "theme_labels", "keywords")


class LocalEnricher:
    """Says theme, summary and keywords by the words of a taxonomy and of the text itself: no network, no model."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.name = "local"
        self.model = MODEL
        self.prompt_version = PROMPT_VERSION
        self.taxonomy_version = taxonomy.version
        self._taxonomy = taxonomy
        self._tables: dict[str | None, ThemeTable] = {}

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return what can be said of one article; the theme is empty where the words do not settle it."""
        said = prose(text)
        spoken = language_of(f"{title}\n{said}" if title else said, language)
        primary = (spoken or "").partition("-")[0] or None
        counted = words(said)
        theme = self._table(primary).find(title, said)
        return Enrichment(
            theme_path=theme.path,
            theme_labels=self._labels(theme, primary),
            theme_score=round(theme.score, 4),
            summary=summary(title, text, primary),
            keywords=keywords(title, said, primary),
            language=spoken,
            word_count=len(counted),
            reading_minutes=max(1, round(len(counted) / READING_WPM)),
            readability=readability(counted, _sentence_count(text), primary),
        )

    def _table(self, language: str | None) -> ThemeTable:
        if language not in self._tables:
            self._tables[language] = ThemeTable(self._taxonomy, language)
        return self._tables[language]

    def _labels(self, theme: FoundTheme, language: str | None) -> tuple[str, ...]:
        return tuple(self._taxonomy.themes[code].label(language) for code in theme.path)


def _sentence_count(text: str) -> int:
    return sum(len(sentences(paragraph)) for paragraph in paragraphs(text))


def input_hash(title: str, text: str, enricher: Enricher) -> str:
    """Return the SHA-256 of everything an answer depends on."""
    parts = (title, text, enricher.name, enricher.model, enricher.prompt_version, enricher.taxonomy_version)
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Enriched:
    """Rows in the order of their articles, and the answers that were not in the cache."""

    rows: list[EnrichedArticle]
    new_cache: list[CachedEnrichment]


def enrich_articles(
    articles: Sequence[RawArticle],
    cached: Mapping[str, CachedEnrichment],
    originals: Mapping[str, EnrichedArticle],
    enricher: Enricher,
    now: datetime,
) -> Enriched:
    """Return one row for each article that has a text; the others are not enriched and get none.

    Args:
        articles: What is to be enriched.
        cached: Earlier answers by input hash.
        originals: Rows of articles that others here duplicate, by article id.
        enricher: Who is asked, once for each input.
        now: The time that the rows and cache entries carry.
    """
    enriching = _Enriching(cached, originals, enricher, now)
    usable = [article for article in articles if article.outcome == "ok" and (article.text or "").strip()]
    rows: dict[str, EnrichedArticle] = {}
    for article in _originals_first(usable):
        rows[article.article_id] = enriching.row(article, rows)
    return Enriched([rows[article.article_id] for article in usable], enriching.new_cache)


def _originals_first(articles: Sequence[RawArticle]) -> list[RawArticle]:
    """The articles with every original before its duplicates, whichever way they came."""
    by_id = {article.article_id: article for article in articles}
    placed: dict[str, RawArticle] = {}
    for article in articles:
        chain: dict[str, RawArticle] = {}  # a circle ends where it began
        following: RawArticle | None = article
        while following and following.article_id not in chain:
            chain[following.article_id] = following
            following = by_id.get(following.duplicate_of or "")
        for link in reversed(chain.values()):
            placed.setdefault(link.article_id, link)
    return list(placed.values())


class _Enriching:
    """One call's memory: what was answered, what failed, what goes into the cache."""

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
        self._answers: dict[str, Enrichment | EnrichError] = {}

    def row(self, article: RawArticle, rows: Mapping[str, EnrichedArticle]) -> EnrichedArticle:
        """The row of one article, given the rows of those before it."""
        key = input_hash(article.title or "", article.text or "", self._enricher)
        original = self._usable_original(article.duplicate_of, rows)
        if original is not None:
            return self._made(article, key, _result_of(original), reused_from=original.article_id)
        return self._made(article, key, self._answer(key, article), reused_from=None)

    def _usable_original(self, article_id: str | None, rows: Mapping[str, EnrichedArticle]) -> EnrichedArticle | None:
        """The original's row, unless it failed or another enricher, model or taxonomy made it."""
        original = rows.get(article_id or "") or self._originals.get(article_id or "")
        if original is None or original.outcome != "ok":
            return None
        by = (original.enricher, original.model, original.prompt_version, original.taxonomy_version)
        asked = self._enricher
        return original if by == (asked.name, asked.model, asked.prompt_version, asked.taxonomy_version) else None

    def _answer(self, key: str, article: RawArticle) -> Enrichment | EnrichError:
        if key not in self._answers:
            kept = self._cached.get(key)
            self._answers[key] = (kept and _from_json(kept.result_json)) or self._asked(key, article)
        return self._answers[key]

    def _asked(self, key: str, article: RawArticle) -> Enrichment | EnrichError:
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

    def _made(
        self, article: RawArticle, key: str, result: Enrichment | EnrichError, reused_from: str | None
    ) -> EnrichedArticle:
        is_failed = isinstance(result, EnrichError)
        answer = Enrichment() if isinstance(result, EnrichError) else result
        return EnrichedArticle(
            article_id=article.article_id,
            desk=article.desk,
            agency=article.agency,
            day=article.day,
            input_hash=key,
            content_hash=article.content_hash,
            theme_code=answer.theme_path[-1] if answer.theme_path else None,
            theme_path=answer.theme_path,
            theme_labels=answer.theme_labels,
            theme_score=answer.theme_score,
            **{name: getattr(answer, name) for name in _RESULT_FIELDS},
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


def _from_json(kept: str) -> Enrichment | None:
    """The kept answer; None for one that cannot be read any more, which is then asked for again."""
    try:
        stored: dict[str, Any] = json.loads(kept)
        values: dict[str, Any] = {name: tuple(value) if name in _TUPLES else value for name, value in stored.items()}
        return Enrichment(**values)
    except (ValueError, TypeError, AttributeError):
        return None


def enrich_batch(
    stage: Stage, lake: Lake, desk: Desk, keys: AgencyDays, clock: Callable[[], datetime], *, enricher: Enricher
) -> int:
    """Enrich the articles of these agency-days whose input changed; return how many rows were written."""
    now = clock()
    articles = lake.read(RawArticle, keys, outcome=["ok"])
    hashes = {input_hash(article.title or "", article.text or "", enricher) for article in articles}
    cached = {cache.input_hash: cache for cache in lake.read(CachedEnrichment, input_hash=hashes)}
    ids = {article.duplicate_of for article in articles if article.duplicate_of}
    originals = {row.article_id: row for row in lake.read(EnrichedArticle, article_id=ids)}
    made = enrich_articles(articles, cached, originals, enricher, now)
    stored = {row.article_id: _state(row) for row in lake.read(EnrichedArticle, keys)}
    changed = [row for row in made.rows if row.outcome != "ok" or stored.get(row.article_id) != _state(row)]

    def store(rows: Rows) -> int:
        if made.new_cache:
            rows.upsert(made.new_cache)
        return len(store_derived(rows, stage, keys, changed, versions_of(articles), now))

    return lake.transact(store)


def _state(row: EnrichedArticle) -> tuple[object, ...]:
    return row.input_hash, row.content_hash, row.reused_from, row.outcome, row.reason
