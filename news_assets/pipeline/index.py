"""Builds search documents from the rows of three stages, and updates the index and its
receipts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from news_assets.errors import IndexingError, NewsAssetsError
from news_assets.pipeline.failures import drop_failures, record_outcomes
from news_assets.pipeline.stage_declaration import (
    Stage,
    document_hash,
    of_articles,
)
from news_assets.ports.search_index import COPIED_FIELDS, SearchDocument, SearchIndex
from news_assets.ports.services import Clock, Lake, Rows, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.text.prose import strip_markdown


class Upserting(Protocol):
    """The part of a search index, also of one that is being rebuilt, that `send` needs."""

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} of those that were rejected.
        Raises IndexingError.
        """
        ...


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """Receipts to store, and the ids of deleted documents, whose receipts are to be
    deleted.
    """

    receipts: tuple[IndexedDocument, ...]
    deleted: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored or deleted."""
        return not self.receipts and not self.deleted


def index_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Clock,
    *,
    search: SearchIndex,
    sandbox: Sandbox,
    only: Collection[str] | None = None,
) -> int:
    """Bring the index and its receipts up to date with these agency-days; return how
    many receipts were written.

    Raises:
        IndexingError: The index holds vectors of another model, or could not be read or
            written. The sensors plan the rest again.
    """
    with lake.latest() as reader:
        articles = reader.read(RawArticle, keys, outcome=["ok"], **of_articles(only))
        embeddings = reader.read(ArticleEmbedding, keys)
        enriched = reader.read(EnrichedArticle, keys)
        receipts = reader.read(IndexedDocument, keys, **of_articles(only))
    _check_vectors(embeddings, search)
    names = {agency.key: agency.name for agency in desk.agencies}
    documents = build_documents(articles, enriched, embeddings, names)
    indexed = _indexed_hashes(search, desk, keys, only)
    changes = index_documents(documents, receipts, indexed, search, sandbox, clock())
    if changes.is_empty:
        return 0
    ended_at = clock()  # from which failed attempts count
    return lake.transact(lambda rows: store_changes(rows, stage, changes, ended_at))


def _indexed_hashes(
    search: SearchIndex, desk: Desk, keys: AgencyDays, only: Collection[str] | None
) -> dict[str, str]:
    """Return the document hashes that the index has of these agency-days, by article
    id; of the articles `only`.
    """
    stored = search.stored(desk.key, keys).select("article_id", "document_hash")
    indexed: dict[str, str] = dict(stored.iter_rows())
    if only is None:
        return indexed
    return {one: indexed[one] for one in only if one in indexed}


def store_changes(
    rows: Rows, stage: Stage, changes: IndexChanges, now: datetime
) -> int:
    """Store receipts with their failures, delete those of deleted documents; return the
    number of stored receipts.
    """
    if changes.deleted:
        rows.delete(IndexedDocument, article_id=changes.deleted)
        drop_failures(rows, stage, changes.deleted)
    if changes.receipts:
        rows.upsert(changes.receipts)
        record_outcomes(rows, stage, changes.receipts, now)
    return len(changes.receipts)


def build_documents(
    articles: Sequence[RawArticle],
    enriched: Iterable[EnrichedArticle],
    embeddings: Iterable[ArticleEmbedding],
    agency_names: Mapping[str, str],
) -> list[SearchDocument]:
    """Return a document for each article that has a text, still in Markdown: `send`
    removes it.

    An article whose enrichment or embedding is missing or failed is indexed without it.
    """
    enrichments: dict[str, EnrichedArticle] = {}
    for enrichment in enriched:
        if enrichment.outcome == "ok":
            enrichments[enrichment.article_id] = enrichment
    vectors: dict[str, ArticleEmbedding] = {}
    for embedding in embeddings:
        if embedding.outcome == "ok" and embedding.vector:
            vectors[embedding.article_id] = embedding
    documents: list[SearchDocument] = []
    for article in articles:
        if article.outcome != "ok":
            continue
        if not article.text:
            continue
        key = article.article_id
        name = agency_names.get(article.agency, article.agency)
        documents.append(
            document_of(article, enrichments.get(key), name, vectors.get(key))
        )
    return documents


def document_of(
    article: RawArticle,
    enriched: EnrichedArticle | None,
    agency_name: str,
    embedding: ArticleEmbedding | None = None,
) -> SearchDocument:
    """Return the document of an article; its text is still in Markdown."""
    return SearchDocument(
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        agency_name=agency_name,
        day=article.day,
        url=article.canonical_url or article.url,
        title=article.title or "",
        text=article.text or "",
        summary=(enriched and enriched.summary) or article.subtitle,
        section=article.section or article.category,
        language=(enriched and enriched.language) or article.language,
        theme_path=enriched.theme_path if enriched else (),
        published_ts=int((article.published_at or article.first_seen_at).timestamp()),
        vector=embedding.vector if embedding else None,
        document_hash=document_hash(article, enriched, embedding, agency_name),
        trace_id=article.trace_id,
        **_copied(article, enriched),
    )


def _copied(article: RawArticle, enriched: EnrichedArticle | None) -> dict[str, Any]:
    """Return the values that are copied from the rows; empty ones are left out."""
    rows = {"article": article, "enrichment": enriched}
    values = {}
    for field, source in COPIED_FIELDS.items():
        value = getattr(rows[source], field, None)
        if value:
            values[field] = value
    return values


def _check_vectors(embeddings: Iterable[ArticleEmbedding], index: SearchIndex) -> None:
    """Check that the index has vectors of the same model and dimensions; store the
    model's name in a new index.

    Raises:
        IndexingError: They differ, or the index could not be read.
    """
    models: set[tuple[str, int]] = set()
    for row in embeddings:
        if row.outcome != "ok":
            continue
        if row.vector:
            models.add((row.model, row.dim))
    if not models:
        return
    dim = index.vector_dim()
    model = index.vector_model()
    for other_model, other_dim in sorted(models):
        if dim not in (None, other_dim) or model not in (None, other_model):
            raise IndexingError(
                f"the vectors of article_embeddings are of {other_model} ({other_dim} dimensions),"
                " those of the search index of"
                f" {model or 'another model'} ({dim or 'no'} dimensions): run `news-assets rebuild"
                " search`"
            )
    if model is None and len(models) == 1:
        index.name_model(models.pop()[0])


def index_documents(
    documents: Sequence[SearchDocument],
    receipts: Iterable[IndexedDocument],
    indexed: Mapping[str, str],
    index: SearchIndex,
    sandbox: Sandbox,
    now: datetime,
) -> IndexChanges:
    """Send new and changed documents, delete the others of these partitions, and return
    what to store.

    Documents are compared with the index, not with the receipts, so that an index that
    lost documents gets them again. A refused document is sent again each time.

    Args:
        documents: All documents of these partitions.
        receipts: Their stored receipts, and those of documents that are gone.
        indexed: The document hashes that the index has of these partitions, by article
            id.
        index: The index.
        sandbox: Where the Markdown of changed documents is removed.
        now: The time of the receipts.

    Raises:
        IndexingError: The index could not be read or written; receipts must not be
            stored.
    """
    changed: list[SearchDocument] = []
    for one in documents:
        if indexed.get(one.article_id) != one.document_hash:
            changed.append(one)
    refused = send(changed, index, sandbox)
    known = {receipt.article_id: receipt for receipt in receipts}
    expected = {document.article_id for document in documents}
    deleted = sorted((known.keys() | indexed.keys()) - expected)
    if deleted:
        index.delete(deleted)
    sent = {document.article_id for document in changed}
    new_receipts: list[IndexedDocument] = []
    for document in documents:
        if document.article_id in sent or not _has_receipt(document, known):
            reason = refused.get(document.article_id)
            new_receipts.append(_receipt(document, reason, now))
    return IndexChanges(tuple(new_receipts), tuple(deleted))


def send(
    documents: Sequence[SearchDocument], index: Upserting, sandbox: Sandbox
) -> dict[str, str]:
    """Store documents, their text without Markdown; return {article_id: reason} of
    those that were not stored.

    Raises:
        IndexingError: The index could not be written.
    """
    texts = sandbox.run(strip_markdown, [(document.text,) for document in documents])
    unread: dict[str, str] = {}
    read: list[SearchDocument] = []
    for document, text in zip(documents, texts, strict=True):
        if isinstance(text, NewsAssetsError):
            unread[document.article_id] = str(text)
        else:
            read.append(replace(document, text=text))
    if not read:
        return unread
    return unread | index.upsert(read)


def _has_receipt(
    document: SearchDocument, receipts: Mapping[str, IndexedDocument]
) -> bool:
    receipt = receipts.get(document.article_id)
    if receipt is None:
        return False
    if receipt.outcome != "ok":
        return False
    return receipt.document_hash == document.document_hash


def _receipt(
    document: SearchDocument, reason: str | None, now: datetime
) -> IndexedDocument:
    return IndexedDocument(
        article_id=document.article_id,
        desk=document.desk,
        agency=document.agency,
        day=document.day,
        document_hash=document.document_hash,
        has_vector=document.vector is not None and reason is None,
        indexed_at=now,
        outcome="ok" if reason is None else "failed",
        reason=reason,
        trace_id=document.trace_id,
    )
