"""Embed articles: which text, when again, and which models are compatible. Vectors are made in `clients/embedding`."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from news_assets.errors import EmbedError
from news_assets.ports import Embedder
from news_assets.records import ArticleEmbedding, Embedded, EnrichedArticle, RawArticle
from news_assets.text.sentences import prose

BATCH_TEXTS = 256  # a failing batch is repeated text by text, so it is not the whole day


def embedding_text(title: str | None, text: str, summary: str | None) -> str:
    """Return the text to embed of an article: its title and its text without Markdown, each on one line.

    A text that begins with its title contains it once. The summary replaces a text without words. Put before every text
    it only pushes words beyond the model's limit: all-MiniLM-L6-v2 on Cranfield, nDCG@10: title and text .381, title,
    summary and text .379, title and summary .364, text alone .342.
    """
    headline = " ".join((title or "").split())
    body = " ".join((prose(text) or summary or "").split())
    if headline and body.casefold().startswith(headline.casefold()):
        return body
    return f"{headline}\n{body}".strip()


def input_hash(text: str, model: str) -> str:
    """Return the SHA-256 of the embedded text and the model's name."""
    return hashlib.sha256(f"{model}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def embed_articles(
    articles: Sequence[RawArticle],
    enriched: Mapping[str, EnrichedArticle],
    stored: Mapping[str, ArticleEmbedding],
    embedder: Embedder,
    now: datetime,
) -> list[ArticleEmbedding]:
    """Return the new and changed rows, in the order of their articles.

    An article without a text gets no row. Equal inputs are embedded once. A text that cannot be embedded gets a
    `failed` row without a vector, does not affect the others, and is embedded again by the next call.

    Args:
        articles: The articles to embed.
        enriched: Their enrichments by article id.
        stored: Their current rows by article id.
        embedder: Called once per distinct input.
        now: `embedded_at` of the rows.
    """
    texts = {article.article_id: _text_of(article, enriched) for article in articles if _has_text(article)}
    hashes = {article_id: input_hash(text, embedder.model) for article_id, text in texts.items()}
    pending = [
        a
        for a in articles
        if a.article_id in texts and not _is_current(stored.get(a.article_id), a, hashes[a.article_id])
    ]
    known = {row.input_hash: row for row in stored.values() if row.outcome == "ok"}
    missing = {hashes[a.article_id]: texts[a.article_id] for a in pending if hashes[a.article_id] not in known}
    results = dict(_embed_batches(missing, embedder))
    results |= {key: Embedded(row.vector, row.token_count, row.is_cut) for key, row in known.items()}
    return [_row_of(a, hashes[a.article_id], results[hashes[a.article_id]], embedder, now) for a in pending]


def _has_text(article: RawArticle) -> bool:
    return article.outcome == "ok" and bool((article.text or "").strip())


def _text_of(article: RawArticle, enriched: Mapping[str, EnrichedArticle]) -> str:
    row = enriched.get(article.article_id)
    return embedding_text(article.title, article.text or "", row.summary if row else None)


def _is_current(row: ArticleEmbedding | None, article: RawArticle, expected_hash: str) -> bool:
    if row is None or row.outcome != "ok":
        return False
    return (row.input_hash, row.content_hash) == (expected_hash, article.content_hash)


def _embed_batches(texts: Mapping[str, str], embedder: Embedder) -> Iterator[tuple[str, Embedded | EmbedError]]:
    """Yield each key with the embedding of its text or its error."""
    keys = list(texts)
    for start in range(0, len(keys), BATCH_TEXTS):
        batch = keys[start : start + BATCH_TEXTS]
        try:
            yield from zip(batch, embedder.embed([texts[key] for key in batch]), strict=True)
        except EmbedError as error:
            if len(batch) == 1:
                yield batch[0], error
            else:
                yield from ((key, _embed_one(texts[key], embedder)) for key in batch)


def _embed_one(text: str, embedder: Embedder) -> Embedded | EmbedError:
    try:
        return embedder.embed([text])[0]
    except EmbedError as error:
        return error


def _row_of(
    article: RawArticle, key: str, result: Embedded | EmbedError, embedder: Embedder, now: datetime
) -> ArticleEmbedding:
    found = result if isinstance(result, Embedded) else Embedded((), 0, False)
    return ArticleEmbedding(
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        input_hash=key,
        content_hash=article.content_hash,
        model=embedder.model,
        dim=embedder.dim,
        vector=found.vector,
        token_count=found.token_count,
        is_cut=found.is_cut,
        embedded_at=now,
        outcome="ok" if isinstance(result, Embedded) else "failed",
        reason=None if isinstance(result, Embedded) else str(result),
        trace_id=article.trace_id,
    )


def check_model(embedder: Embedder, stored_models: Mapping[str, int], index_dim: int | None = None) -> None:
    """Raise if the model's vectors cannot be mixed with those in the table and in the search index.

    Args:
        embedder: The embedder to be used.
        stored_models: Dimensions by model of the vectors in the table; empty if it has none.
        index_dim: Dimensions of the vectors in the search index; None if it has none.

    Raises:
        EmbedError: Names the models and dimensions that differ, and the fix.
    """
    found = []
    fix = "run `news-assets rebuild search`"
    if stored_models and dict(stored_models) != {embedder.model: embedder.dim}:
        models = ", ".join(f"{model} ({dim} dimensions)" for model, dim in sorted(stored_models.items()))
        found.append(f"article_embeddings holds vectors of {models}")
        fix = f"materialise every partition of article_embeddings with `replace_model: true`, then {fix}"
    if index_dim is not None and index_dim != embedder.dim:
        found.append(f"the search index holds vectors of {index_dim} dimensions")
    if found:
        raise EmbedError(
            f"the model is {embedder.model} ({embedder.dim} dimensions), but {' and '.join(found)}: "
            f"restore NEWS_EMBEDDING_MODEL, or {fix}"
        )
