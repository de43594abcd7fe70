"""States of articles and documents, as hashes that a stage stores with its rows."""

import json

from news_assets.pipeline.stage_state.declaration import State, sha256
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle

ARTICLE_STATE = State(column="content_hash", inputs=(("raw_articles", "content_hash"),))
DOCUMENT_STATE = State(
    column="document_hash",
    inputs=(
        ("raw_articles", "content_hash"),
        ("enriched_articles", "input_hash"),
        ("enriched_articles", "reused_from"),
        ("article_embeddings", "model"),
        ("article_embeddings", "input_hash"),
    ),
    # raise it where documents are built differently: every document is then sent again
    version="1",
)

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
# empty for news
_OF_AGENDA_ITEMS = (
    "body",
    "matter",
    "meeting_id",
    "meeting_status",
    "filter_reason",
)


def content_hash(article: RawArticle) -> str:
    """Return the SHA-256 of everything that later stages read of an article."""
    read = (
        (*_READ_BY_LATER_STAGES, *_OF_AGENDA_ITEMS)
        if article.meeting_id
        else _READ_BY_LATER_STAGES
    )
    content = [getattr(article, name) for name in read]
    return sha256(json.dumps(content, ensure_ascii=True, default=str))


def document_hash(
    article: RawArticle,
    enriched: EnrichedArticle | None,
    embedding: ArticleEmbedding | None,
    agency_name: str,
) -> str:
    """Return the state of a search document; failed rows are given as None."""
    rows = {
        "raw_articles": article,
        "enriched_articles": enriched,
        "article_embeddings": embedding,
    }
    return DOCUMENT_STATE.of(rows, agency_name)
