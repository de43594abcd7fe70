"""What of an article goes into the search index, and what the index has to be told.

Rows of the three stages enter; `SearchDocument`s, and the receipts of what the index took, leave. How documents are
stored and found is the index's matter; receipts are stored by the caller.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from news_assets.errors import IndexingError
from news_assets.pipeline.stage_state.versions import document_hash
from news_assets.ports import SearchDocument, SearchIndex
from news_assets.records import ArticleEmbedding, EnrichedArticle, IndexedDocument, RawArticle
from news_assets.text.plain import strip_markdown


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """What changed: receipts to store, ids whose document and receipt are gone."""

    receipts: tuple[IndexedDocument, ...]
    deleted: tuple[str, ...]


def build_documents(
    articles: Sequence[RawArticle],
    enriched: Mapping[str, EnrichedArticle],
    embeddings: Mapping[str, ArticleEmbedding],
    agency_names: Mapping[str, str],
) -> list[SearchDocument]:
    """Return a document for each article that has a text.

    One that is not enriched or embedded, or whose enrichment or embedding failed, is found by its words alone.
    """
    return [
        _document(article, _ok(enriched, article), _ok_vector(embeddings, article), agency_names)
        for article in articles
        if article.outcome == "ok" and article.text
    ]


def _ok(enriched: Mapping[str, EnrichedArticle], article: RawArticle) -> EnrichedArticle | None:
    row = enriched.get(article.article_id)
    return row if row is not None and row.outcome == "ok" else None


def _ok_vector(embeddings: Mapping[str, ArticleEmbedding], article: RawArticle) -> ArticleEmbedding | None:
    row = embeddings.get(article.article_id)
    return row if row is not None and row.outcome == "ok" and row.vector else None


def _document(
    article: RawArticle,
    enriched: EnrichedArticle | None,
    embedding: ArticleEmbedding | None,
    agency_names: Mapping[str, str],
) -> SearchDocument:
    agency_name = agency_names.get(article.agency, article.agency)
    return SearchDocument(
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        agency_name=agency_name,
        day=article.day,
        url=article.canonical_url or article.url,
        title=article.title or "",
        text=strip_markdown(article.text or ""),
        summary=(enriched and enriched.summary) or article.subtitle,
        section=article.section or article.category,
        tags=article.tags,
        keywords=enriched.keywords if enriched else (),
        language=(enriched and enriched.language) or article.language,
        theme_code=enriched.theme_code if enriched else None,
        theme_path=enriched.theme_path if enriched else (),
        theme_labels=enriched.theme_labels if enriched else (),
        image_url=article.image_url,
        published_ts=int((article.published_at or article.first_seen_at).timestamp()),
        text_hash=article.text_hash,
        duplicate_of=article.duplicate_of,
        vector=embedding.vector if embedding else None,
        document_hash=document_hash(article, enriched, embedding, agency_name),
        trace_id=article.trace_id,
    )


def check_vectors(embeddings: Iterable[ArticleEmbedding], index: SearchIndex) -> None:
    """Refuse an index whose vectors are of another length or model than these; let a new one remember the model.

    Raises:
        IndexingError: Names both, and the command that mends it; or the index could not be asked.
    """
    made = {(row.model, row.dim) for row in embeddings if row.outcome == "ok" and row.vector}
    if not made:
        return
    dim, model = index.vector_dim(), index.vector_model()
    for other_model, other_dim in sorted(made):
        if dim not in (None, other_dim) or model not in (None, other_model):
            raise IndexingError(
                f"the vectors of article_embeddings are of {other_model} ({other_dim} numbers), those of the search "
                f"index of {model or 'another model'} ({dim or 'no'} numbers): run `news-assets rebuild search`"
            )
    if model is None and len(made) == 1:
        index.name_model(made.pop()[0])


def index_documents(
    documents: Sequence[SearchDocument],
    receipts: Mapping[str, IndexedDocument],
    indexed: Mapping[str, str],
    index: SearchIndex,
    now: datetime,
) -> IndexChanges:
    """Send what the index does not have, delete what the lake does not have, and return what to store.

    What the index holds decides, and not what the receipts say: an index that lost documents gets them again. A
    document that was refused is sent again each time.

    Args:
        documents: What these partitions should be in the index.
        receipts: Their stored receipts by article id.
        indexed: What the index holds of these partitions: document hash by article id.
        index: The index.
        now: The time that the receipts carry.

    Raises:
        IndexingError: The index could not be read or written; nothing is to be stored then.
    """
    changed = [document for document in documents if indexed.get(document.article_id) != document.document_hash]
    refused = index.upsert(changed) if changed else {}
    deleted = sorted((receipts.keys() | indexed.keys()) - {document.article_id for document in documents})
    if deleted:
        index.delete(deleted)
    sent = {document.article_id for document in changed}
    made = (
        _receipt(document, refused.get(document.article_id), now)
        for document in documents
        if document.article_id in sent or not _has_receipt(document, receipts)
    )
    return IndexChanges(tuple(made), tuple(deleted))


def _has_receipt(document: SearchDocument, receipts: Mapping[str, IndexedDocument]) -> bool:
    receipt = receipts.get(document.article_id)
    return receipt is not None and receipt.outcome == "ok" and receipt.document_hash == document.document_hash


def _receipt(document: SearchDocument, reason: str | None, now: datetime) -> IndexedDocument:
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
