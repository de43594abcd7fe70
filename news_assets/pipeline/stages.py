"""Each stage over one batch of agency-days: read, work, store. Returns how many rows were written.

Reading and working take seconds or minutes; writing is one short transaction that looks again at what it is based on. A
stage can be repeated at any time: what is already as it should be is not written again.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from news_assets.errors import IndexingError
from news_assets.pipeline.articles.fetch import due_entries, fetch_entries, in_batches, store_articles
from news_assets.pipeline.embed import check_model, embed_articles
from news_assets.pipeline.enrich.enrich import enrich_articles
from news_assets.pipeline.enrich.enrich import input_hash as enrichment_input_hash
from news_assets.pipeline.index import build_documents, check_vectors, index_documents
from news_assets.pipeline.stage_state.failures import drop_failures, note_outcomes
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports import Embedder, Enricher, Fetcher, Lake, Rows, SearchIndex
from news_assets.records import (
    AgencyDays,
    ArticleEmbedding,
    CachedEnrichment,
    Desk,
    EnrichedArticle,
    FeedEntry,
    IndexedDocument,
    RawArticle,
)

EMBEDDED_TOGETHER = 200  # articles embedded, then stored: some ten seconds of work, which a killed run repeats


def fetch_batch(
    lake: Lake, desk: Desk, keys: AgencyDays, fetcher: Fetcher, clock: Callable[[], datetime], *, refetch: bool = False
) -> int:
    """Fetch, extract and compare the entries of these partitions that are due; stored every few articles."""
    entries = lake.read(FeedEntry, keys)
    stored = lake.read(RawArticle, article_id={entry.article_id for entry in entries})
    due = due_entries(entries, {article.article_id: article for article in stored}, clock(), refetch=refetch)
    written = 0
    for batch in in_batches(fetch_entries(due, desk, fetcher)):
        now = clock()
        written += len(lake.transact(lambda rows: store_articles(rows, desk, batch, now)))  # noqa: B023 - run at once
    return written


def enrich_batch(lake: Lake, keys: AgencyDays, enricher: Enricher, now: datetime) -> int:
    """Enrich the articles of these partitions whose input changed."""
    articles = lake.read(RawArticle, keys, outcome=["ok"])
    hashes = {enrichment_input_hash(article.title or "", article.text or "", enricher) for article in articles}
    cached = {cache.input_hash: cache for cache in lake.read(CachedEnrichment, input_hash=hashes)}
    originals = {article.duplicate_of for article in articles if article.duplicate_of}
    made = enrich_articles(
        articles,
        cached,
        {row.article_id: row for row in lake.read(EnrichedArticle, article_id=originals)},
        enricher,
        now,
    )
    stored = {row.article_id: _state(row) for row in lake.read(EnrichedArticle, keys)}
    changed = [row for row in made.rows if row.outcome != "ok" or stored.get(row.article_id) != _state(row)]

    def store(rows: Rows) -> int:
        if made.new_cache:
            rows.upsert(made.new_cache)
        kept = store_derived(rows, keys, EnrichedArticle, changed, versions_of(articles))
        note_outcomes(rows, kept, now)
        return len(kept)

    return lake.transact(store)


def _state(row: EnrichedArticle) -> tuple[object, ...]:
    return row.input_hash, row.content_hash, row.reused_from, row.outcome, row.reason


def check_embeddings(
    lake: Lake, desk: Desk, embedder: Embedder, index: SearchIndex, *, replace_model: bool = False
) -> None:
    """Refuse a model that the desk's vectors or the index disagree with; or drop the vectors of other models.

    An index that is away has no say: it refuses what does not fit when it is sent. Nor has one whose vectors are about
    to be replaced: it answers as before until it is rebuilt from the lake, which has to have the new vectors first.

    Raises:
        EmbedError: Names model, table and index, and what to do.
        IndexingError: The index cannot be used, and waiting does not help.
    """
    if replace_model:
        others = set(_stored_models(lake, desk)) - {embedder.model}
        lake.transact(lambda rows: rows.delete(ArticleEmbedding, desk=[desk.key], model=others))
    check_model(embedder, _stored_models(lake, desk), None if replace_model else _dim_of(index))


def _dim_of(index: SearchIndex) -> int | None:
    try:
        return index.vector_dim()
    except IndexingError as error:
        if not error.is_transient:
            raise
        return None


def _stored_models(lake: Lake, desk: Desk) -> dict[str, int]:
    frame = lake.frame(ArticleEmbedding, None, ("model", "dim"), desk=[desk.key], outcome=["ok"])
    return dict(frame.unique().iter_rows())


def embed_batch(lake: Lake, keys: AgencyDays, embedder: Embedder, now: datetime) -> int:
    """Embed the articles of these partitions whose text or model changed."""
    articles = lake.read(RawArticle, keys, outcome=["ok"])
    read = versions_of(articles)
    enriched = {row.article_id: row for row in lake.read(EnrichedArticle, keys)}
    stored = {row.article_id: row for row in lake.read(ArticleEmbedding, keys)}
    written = 0
    for start in range(0, len(articles) or 1, EMBEDDED_TOGETHER):  # once also without articles: rows may be left over
        changed = embed_articles(articles[start : start + EMBEDDED_TOGETHER], enriched, stored, embedder, now)
        written += lake.transact(lambda rows: _store_embeddings(rows, keys, changed, read, now))  # noqa: B023
    return written


def _store_embeddings(
    rows: Rows, keys: AgencyDays, changed: Sequence[ArticleEmbedding], read: Mapping[str, str], now: datetime
) -> int:
    kept = store_derived(rows, keys, ArticleEmbedding, changed, read)
    note_outcomes(rows, kept, now)
    return len(kept)


def index_batch(lake: Lake, desk: Desk, keys: AgencyDays, index: SearchIndex, now: datetime) -> int:
    """Bring the search index and its receipts up to these partitions' articles.

    Raises:
        IndexingError: The index holds vectors of another model, or could not be read or written.
    """
    articles = lake.read(RawArticle, keys, outcome=["ok"])
    embeddings = lake.read(ArticleEmbedding, keys)
    check_vectors(embeddings, index)
    documents = build_documents(
        articles,
        {row.article_id: row for row in lake.read(EnrichedArticle, keys)},
        {row.article_id: row for row in embeddings},
        {agency.key: agency.name for agency in desk.agencies},
    )
    receipts = {row.article_id: row for row in lake.read(IndexedDocument, keys)}
    indexed = dict(index.stored(desk.key, keys).select("article_id", "document_hash").iter_rows())
    changes = index_documents(documents, receipts, indexed, index, now)

    def store(rows: Rows) -> int:
        if changes.deleted:
            rows.delete(IndexedDocument, article_id=changes.deleted)
            drop_failures(rows, IndexedDocument, changes.deleted)
        if changes.receipts:
            rows.upsert(changes.receipts)
            note_outcomes(rows, changes.receipts, now)
        return len(changes.receipts)

    return lake.transact(store)
