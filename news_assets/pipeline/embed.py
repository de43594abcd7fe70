"""Embeds articles: RawArticle and EnrichedArticle rows enter, the ArticleEmbedding rows that changed leave.

What is embedded, when it is embedded again, and when a model may not be used. How a text becomes a vector is the
embedder's matter (`clients/embedding/embedder.py`).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from news_assets.errors import EmbedError, IndexingError
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports import Embedder, Lake, SearchIndex
from news_assets.records import AgencyDays, ArticleEmbedding, Desk, Embedded, EnrichedArticle, RawArticle
from news_assets.text.sentences import prose

STORED_TOGETHER = 200  # articles embedded, then stored: some ten seconds of work, which a killed run repeats
BATCH_TEXTS = 256  # a failing batch is repeated text by text, so it must not be the whole day

_NO_COPIES: Mapping[str, ArticleEmbedding] = MappingProxyType({})


def embedding_text(title: str | None, text: str, summary: str | None) -> str:
    """Return what is embedded of an article: its title, then its text without Markdown marks, on one line each.

    A text that begins with its title has it once. The summary stands in where a text is nothing but marks: ahead of
    every text it only pushes words behind the model's limit. all-MiniLM-L6-v2 on Cranfield, nDCG@10: title and text
    .381, title, summary and text .379, title and summary .364, text alone .342.
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
    copies: Mapping[str, ArticleEmbedding] = _NO_COPIES,
) -> list[ArticleEmbedding]:
    """Return the rows that are new or changed, in the order of their articles, and none that still holds.

    An article without a text gets no row. Equal inputs are embedded once. A text that cannot be embedded becomes a
    `failed` row without a vector, its neighbours go on; it is tried again with the next call.

    Args:
        articles: What is to be embedded.
        enriched: Their enrichments by article id.
        stored: Their rows as they are now by article id.
        embedder: Who is asked, once for each input.
        now: The time that the rows carry.
        copies: Rows of other articles by input hash, whose vectors are taken over.
    """
    texts = {article.article_id: _text_of(article, enriched) for article in articles if _has_text(article)}
    hashes = {article_id: input_hash(text, embedder.model) for article_id, text in texts.items()}
    pending = [
        a for a in articles if a.article_id in texts and not _holds(stored.get(a.article_id), a, hashes[a.article_id])
    ]
    known = {key: row for key, row in copies.items() if row.outcome == "ok"}
    known |= {row.input_hash: row for row in stored.values() if row.outcome == "ok"}
    asked = {hashes[a.article_id]: texts[a.article_id] for a in pending if hashes[a.article_id] not in known}
    answers = dict(_answers(asked, embedder))
    answers |= {key: Embedded(row.vector, row.token_count, row.is_cut) for key, row in known.items()}
    return [_row(article, hashes[article.article_id], answers, embedder, now) for article in pending]


def _has_text(article: RawArticle) -> bool:
    return article.outcome == "ok" and bool((article.text or "").strip())


def _text_of(article: RawArticle, enriched: Mapping[str, EnrichedArticle]) -> str:
    row = enriched.get(article.article_id)
    return embedding_text(article.title, article.text or "", row.summary if row else None)


def _holds(row: ArticleEmbedding | None, article: RawArticle, expected_hash: str) -> bool:
    if row is None or row.outcome != "ok":
        return False
    return (row.input_hash, row.content_hash) == (expected_hash, article.content_hash)


def _answers(asked: Mapping[str, str], embedder: Embedder) -> Iterator[tuple[str, Embedded | EmbedError]]:
    """Each input's vector, or why there is none."""
    keys = list(asked)
    for start in range(0, len(keys), BATCH_TEXTS):
        batch = keys[start : start + BATCH_TEXTS]
        try:
            yield from zip(batch, embedder.embed([asked[key] for key in batch]), strict=True)
        except EmbedError as error:
            if len(batch) == 1:
                yield batch[0], error
            else:
                yield from ((key, _answer(asked[key], embedder)) for key in batch)


def _answer(text: str, embedder: Embedder) -> Embedded | EmbedError:
    try:
        return embedder.embed([text])[0]
    except EmbedError as error:
        return error


def _row(
    article: RawArticle,
    key: str,
    answers: Mapping[str, Embedded | EmbedError],
    embedder: Embedder,
    now: datetime,
) -> ArticleEmbedding:
    answer = answers[key]
    found = answer if isinstance(answer, Embedded) else Embedded((), 0, False)
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
        outcome="ok" if isinstance(answer, Embedded) else "failed",
        reason=None if isinstance(answer, Embedded) else str(answer),
        trace_id=article.trace_id,
    )


def check_model(embedder: Embedder, stored_models: Mapping[str, int], index_dim: int | None = None) -> None:
    """Refuse a model whose vectors cannot stand beside those that are there.

    Args:
        embedder: What is about to be used.
        stored_models: Length of the vectors in the table by model; empty where there are none yet.
        index_dim: Length of the vectors in the search index; None where it has none yet.

    Raises:
        EmbedError: Names the model, the table and the index where they disagree, and what to do.
    """
    found = []
    mends = "run `news-assets rebuild search`"
    if stored_models and dict(stored_models) != {embedder.model: embedder.dim}:
        there = ", ".join(f"{model} ({dim} numbers)" for model, dim in sorted(stored_models.items()))
        found.append(f"article_embeddings holds vectors of {there}")
        mends = f"materialise every partition of article_embeddings with `replace_model: true`, then {mends}"
    if index_dim is not None and index_dim != embedder.dim:
        found.append(f"the search index holds vectors of {index_dim} numbers")
    if found:
        raise EmbedError(
            f"the model is {embedder.model} ({embedder.dim} numbers), but {' and '.join(found)}: "
            f"set NEWS_EMBEDDING_MODEL back, or {mends}"
        )


def embed_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    *,
    embedder: Embedder,
    search: SearchIndex,
    replace_model: bool = False,
) -> int:
    """Embed the articles of these agency-days whose text or model changed; return how many rows were written.

    Raises:
        EmbedError: Nothing was written: the desk's vectors or the index are of another model.
        IndexingError: The index cannot be used, and a later attempt does not help.
    """
    check_embeddings(lake, desk, embedder, search, replace_model=replace_model)
    articles = lake.read(RawArticle, keys, outcome=["ok"])
    read = versions_of(articles)
    enriched = {row.article_id: row for row in lake.read(EnrichedArticle, keys)}
    stored = {row.article_id: row for row in lake.read(ArticleEmbedding, keys)}
    written = 0
    for start in range(0, len(articles) or 1, STORED_TOGETHER):  # at least once: rows of lost articles are deleted
        now = clock()
        changed = embed_articles(articles[start : start + STORED_TOGETHER], enriched, stored, embedder, now)
        written += len(lake.transact(lambda rows: store_derived(rows, stage, keys, changed, read, now)))  # noqa: B023
    return written


def check_embeddings(
    lake: Lake, desk: Desk, embedder: Embedder, index: SearchIndex, *, replace_model: bool = False
) -> None:
    """Refuse a model that the desk's vectors or the index disagree with; or delete the vectors of other models.

    An index that is unavailable is not checked here: it refuses wrong vectors when they are sent. Neither is one whose
    vectors are about to be replaced: it keeps the old ones until it is rebuilt from the lake.

    Raises:
        EmbedError: Names model, table and index, and what to do.
        IndexingError: The index cannot be used, and a later attempt does not help.
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
