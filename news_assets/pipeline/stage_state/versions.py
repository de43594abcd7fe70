"""The state of an article and of its document as hashes, so that what is behind is found by comparing columns.

A stage stores the state of what it worked on with its row. Where the stored state is another than the present one, the
row is behind, whoever changed what and however long ago. `store/queries/backlog.py` compares the same states in SQL.
"""

import hashlib
import json

from news_assets.records import ArticleEmbedding, EnrichedArticle, RawArticle

DOCUMENT_VERSION = "1"  # another one sends every document again: raise it where documents are built differently

_READ_BY_LATER_STAGES = (
    "article_id",
    "agency",
    "day",
    "url",
    "canonical_url",
    "title",
    "subtitle",
    "text",
    "text_hash",
    "section",
    "category",
    "tags",
    "language",
    "published_at",
    "first_seen_at",
    "image_url",
    "duplicate_of",
)


def content_hash(article: RawArticle) -> str:
    """Return the SHA-256 of everything that later stages read of an article."""
    content = [getattr(article, name) for name in _READ_BY_LATER_STAGES]
    return _sha256(json.dumps(content, ensure_ascii=True, default=str))


def document_hash(
    article: RawArticle, enriched: EnrichedArticle | None, embedding: ArticleEmbedding | None, agency_name: str
) -> str:
    """Return the SHA-256 of the states of everything a document is made from; failed rows are given as None."""
    parts = (
        DOCUMENT_VERSION,
        article.content_hash,
        enriched.input_hash if enriched else "",
        (enriched.reused_from or "") if enriched else "",
        embedding.model if embedding else "",
        embedding.input_hash if embedding else "",
        agency_name,
    )
    return _sha256("\n".join(parts))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
