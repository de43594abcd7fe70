"""What of an article goes into the search index, and what the index has to be told.

Rows of the three stages enter; `SearchDocument`s, and the receipts of what the index took, leave. How documents are
stored and found is the index's matter; receipts are stored by the caller.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from news_assets.errors import IndexingError
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import drop_failures, record_outcomes
from news_assets.pipeline.stage_state.versions import document_hash
from news_assets.ports import Lake, Rows, SearchDocument, SearchIndex
from news_assets.records import AgencyDays, ArticleEmbedding, Desk, EnrichedArticle, IndexedDocument, RawArticle

_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_LINE_MARK = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+|[-*+][ \t]+|>[ \t]?)?")
_RULE = re.compile(r"^[ \t]*(?:```.*|~~~.*|[-*_](?:[ \t]*[-*_]){2,}|\|?[ \t:|-]*-{3,}[ \t:|-]*)[ \t]*$")
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$")
_LINE_STARTS = frozenset("`~-*_|:#>+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|`+|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


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
        text=without_markdown(article.text or ""),
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


def without_markdown(text: str) -> str:
    """Return the text as it is read: without marks of headings, lists, quotes, tables, links and emphasis."""
    if "](" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = "\n".join(map(_plain_line, text.split("\n")))
    if any(mark in text for mark in "*_`~"):  # most texts have none; to look for a pair takes 2/3 of all this
        text = _EMPHASIS.sub(r"\2", text)
    return _BLANK_LINES.sub("\n\n", text).strip()


def _plain_line(line: str) -> str:
    """Return a line without the marks at its beginning; most have none, as their first sign tells."""
    bare = line.lstrip(" \t")
    if bare[:1] not in _LINE_STARTS:
        return bare
    line = _TABLE_ROW.sub(lambda row: row[1].replace("|", " "), _RULE.sub("", line))
    return _LINE_MARK.sub("", line)


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


def index_batch(
    stage: Stage, lake: Lake, desk: Desk, keys: AgencyDays, clock: Callable[[], datetime], *, search: SearchIndex
) -> int:
    """Bring the index and its receipts up to date with these agency-days; return how many receipts were written.

    Raises:
        IndexingError: The index holds vectors of another model, or could not be read or written. The sensors plan the
            rest again.
    """
    now = clock()
    articles = lake.read(RawArticle, keys, outcome=["ok"])
    embeddings = lake.read(ArticleEmbedding, keys)
    check_vectors(embeddings, search)
    documents = build_documents(
        articles,
        {row.article_id: row for row in lake.read(EnrichedArticle, keys)},
        {row.article_id: row for row in embeddings},
        {agency.key: agency.name for agency in desk.agencies},
    )
    receipts = {row.article_id: row for row in lake.read(IndexedDocument, keys)}
    indexed = dict(search.stored(desk.key, keys).select("article_id", "document_hash").iter_rows())
    changes = index_documents(documents, receipts, indexed, search, now)

    def store(rows: Rows) -> int:
        if changes.deleted:
            rows.delete(IndexedDocument, article_id=changes.deleted)
            drop_failures(rows, stage, changes.deleted)
        if changes.receipts:
            rows.upsert(changes.receipts)
            record_outcomes(rows, stage, changes.receipts, now)
        return len(changes.receipts)

    return lake.transact(store)
