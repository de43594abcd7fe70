"""Embed articles: which text, when again, and which models are compatible. Vectors are
made in `clients/embedding`.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from news_assets.errors import EmbedError, IndexingError, NewsAssetsError
from news_assets.pipeline.stage_declaration import Stage, of_articles
from news_assets.pipeline.storing import states_of, store_derived
from news_assets.ports.search_index import Embedder, SearchIndex
from news_assets.ports.services import Clock, Lake, Reader, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Embedded
from news_assets.text.prose import prose

_STORED_TOGETHER = 200  # articles: some ten seconds of work, which a killed run repeats
# a failing batch is repeated text by text, so it is not the whole day
_BATCH_TEXTS = 256


def embed_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Clock,
    *,
    embedder: Embedder,
    search: SearchIndex,
    sandbox: Sandbox,
    only: Collection[str] | None = None,
    replace_model: bool = False,
) -> int:
    """Embed the articles of these agency-days whose text or model changed; return how
    many rows were written.

    Raises:
        EmbedError: Nothing was written: the desk's vectors or the index are of another
            model.
        IndexingError: The index cannot be used, and a later attempt does not help.
    """
    if replace_model:
        _delete_other_models(lake, desk, embedder)
    with lake.latest() as reader:
        _check_embeddings(reader, desk, embedder, search, replace_model=replace_model)
        articles = reader.read(RawArticle, keys, outcome=["ok"], **of_articles(only))
        enriched = {row.article_id: row for row in reader.read(EnrichedArticle, keys)}
        stored = {row.article_id: row for row in reader.read(ArticleEmbedding, keys)}
    read_states = states_of(articles)

    def store(changed: Sequence[ArticleEmbedding]) -> list[ArticleEmbedding]:
        now = clock()  # from which failed attempts count
        return lake.transact(
            lambda rows: store_derived(rows, stage, keys, changed, read_states, now)
        )

    may_have_lost = only is not None or _has_lost_articles(stored, articles)
    written = 0
    # at least once: rows of lost articles are deleted
    for start in range(0, len(articles) or 1, _STORED_TOGETHER):
        some = articles[start : start + _STORED_TOGETHER]
        changed = embed_articles(some, enriched, stored, embedder, sandbox, clock())
        if changed or may_have_lost:
            written += len(store(changed))
    return written


def _has_lost_articles(stored: Iterable[str], articles: Iterable[RawArticle]) -> bool:
    """Return whether there are rows of articles that have no text now; `stored` are the
    article ids of rows.
    """
    with_text = {article.article_id for article in articles if article.text_chars}
    return not with_text.issuperset(stored)


def _delete_other_models(lake: Lake, desk: Desk, embedder: Embedder) -> None:
    """Delete the desk's vectors of other models."""
    others = set(_stored_models(lake, desk)) - {embedder.model}
    lake.transact(
        lambda rows: rows.delete(ArticleEmbedding, desk=[desk.key], model=others)
    )


def _check_embeddings(
    lake: Reader,
    desk: Desk,
    embedder: Embedder,
    index: SearchIndex,
    *,
    replace_model: bool = False,
) -> None:
    """Refuse a model that the desk's vectors or the index disagree with.

    An index that is unavailable is not checked here: it refuses wrong vectors when they
    are sent. Neither is one whose vectors are about to be replaced: it keeps the old
    ones until it is rebuilt from the lake.

    Raises:
        EmbedError: Names model, table and index, and what to do.
        IndexingError: The index cannot be used, and a later attempt does not help.
    """
    index_dim = None if replace_model else _dim_of(index)
    check_model(embedder, _stored_models(lake, desk), index_dim)


def _dim_of(index: SearchIndex) -> int | None:
    try:
        return index.vector_dim()
    except IndexingError as error:
        if not error.is_transient:
            raise
        return None


def _stored_models(lake: Reader, desk: Desk) -> dict[str, int]:
    frame = lake.frame(
        ArticleEmbedding, None, ("model", "dim"), desk=[desk.key], outcome=["ok"]
    )
    return dict(frame.unique().iter_rows())


def embedding_text(title: str | None, text: str, summary: str | None) -> str:
    """Return the text to embed of an article: its title and its text without Markdown,
    each on one line.

    A text that begins with its title contains it once. The summary replaces a text
    without words. Put before every text it only pushes words beyond the model's limit:
    all-MiniLM-L6-v2 on Cranfield, nDCG@10: title and text .381, title, summary and text
    .379, title and summary .364, text alone .342.
    """
    headline = " ".join((title or "").split())
    body = " ".join((prose(text) or summary or "").split())
    if headline and body.casefold().startswith(headline.casefold()):
        return body
    return f"{headline}\n{body}".strip()


def input_hash(text: str, model: str) -> str:
    """Return the SHA-256 of the embedded text and the model's name."""
    return hashlib.sha256(
        f"{model}\n{text}".encode("utf-8", "surrogatepass")
    ).hexdigest()


def embed_articles(
    articles: Sequence[RawArticle],
    enriched: Mapping[str, EnrichedArticle],
    stored: Mapping[str, ArticleEmbedding],
    embedder: Embedder,
    sandbox: Sandbox,
    now: datetime,
) -> list[ArticleEmbedding]:
    """Return the new and changed rows, in the order of their articles.

    An article without a text gets no row. Equal inputs are embedded once. A text that
    cannot be embedded gets a `failed` row without a vector, does not affect the others,
    and is embedded again by the next call.

    Args:
        articles: The articles to embed.
        enriched: Their enrichments by article id.
        stored: Their current rows by article id.
        embedder: Called once per distinct input.
        sandbox: Where the texts to embed are made.
        now: `embedded_at` of the rows.
    """
    known = _embedded_by_input(stored.values())
    texts = _texts_of(list(filter(_has_text, articles)), enriched, sandbox)
    results: dict[str, Embedded | EmbedError] = {}
    pending: list[tuple[RawArticle, str]] = []
    missing: dict[str, str] = {}
    for article in articles:
        text = texts.get(article.article_id)
        if text is None:
            continue
        key = input_hash(str(text), embedder.model)
        if _is_current(stored.get(article.article_id), article, key):
            continue
        pending.append((article, key))
        if isinstance(text, NewsAssetsError):
            results[key] = EmbedError(str(text))
        elif key not in known:
            missing[key] = text
    results |= dict(_embed_batches(missing, embedder))
    results |= known
    return [
        _row_of(article, key, results[key], embedder, now) for article, key in pending
    ]


def _embedded_by_input(rows: Iterable[ArticleEmbedding]) -> dict[str, Embedded]:
    """Return what is embedded already, by input hash."""
    known: dict[str, Embedded] = {}
    for row in rows:
        if row.outcome == "ok":
            known[row.input_hash] = Embedded(row.vector, row.token_count, row.is_cut)
    return known


def _has_text(article: RawArticle) -> bool:
    if article.outcome != "ok":
        return False
    return bool((article.text or "").strip())


def _texts_of(
    articles: Sequence[RawArticle],
    enriched: Mapping[str, EnrichedArticle],
    sandbox: Sandbox,
) -> dict[str, str | NewsAssetsError]:
    """Return the text to embed of each article by its id, or the error of making it."""
    calls: list[tuple[str | None, str, str | None]] = []
    for article in articles:
        row = enriched.get(article.article_id)
        summary = row.summary if row else None
        calls.append((article.title, article.text or "", summary))
    ids = [article.article_id for article in articles]
    return dict(zip(ids, sandbox.run(embedding_text, calls), strict=True))


def _is_current(
    row: ArticleEmbedding | None, article: RawArticle, expected_hash: str
) -> bool:
    if row is None:
        return False
    if row.outcome != "ok":
        return False
    return (row.input_hash, row.content_hash) == (expected_hash, article.content_hash)


def _embed_batches(
    texts: Mapping[str, str], embedder: Embedder
) -> Iterator[tuple[str, Embedded | EmbedError]]:
    """Yield each key with the embedding of its text or its error."""
    keys = list(texts)
    for start in range(0, len(keys), _BATCH_TEXTS):
        batch = keys[start : start + _BATCH_TEXTS]
        try:
            vectors = embedder.embed([texts[key] for key in batch])
        except EmbedError as error:
            if len(batch) == 1:
                yield batch[0], error
                continue
            for key in batch:
                yield key, _embed_one(texts[key], embedder)
        else:
            yield from zip(batch, vectors, strict=True)


def _embed_one(text: str, embedder: Embedder) -> Embedded | EmbedError:
    try:
        return embedder.embed([text])[0]
    except EmbedError as error:
        return error


def _row_of(
    article: RawArticle,
    key: str,
    result: Embedded | EmbedError,
    embedder: Embedder,
    now: datetime,
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


def check_model(
    embedder: Embedder, stored_models: Mapping[str, int], index_dim: int | None = None
) -> None:
    """Raise if the model's vectors cannot be mixed with those in the table and in the
    search index.

    Args:
        embedder: The embedder to be used.
        stored_models: Dimensions by model of the vectors in the table; empty if it has
            none.
        index_dim: Dimensions of the vectors in the search index; None if it has none.

    Raises:
        EmbedError: Names the models and dimensions that differ, and the fix.
    """
    found = []
    former = "the former model"
    fix = "run `news-assets rebuild search`"
    if stored_models and dict(stored_models) != {embedder.model: embedder.dim}:
        models = ", ".join(
            f"{model} ({dim} dimensions)"
            for model, dim in sorted(stored_models.items())
        )
        found.append(f"article_embeddings holds vectors of {models}")
        former = min(stored_models) if len(stored_models) == 1 else former
        fix = (
            "materialise every partition of article_embeddings with `replace_model: true`, then"
            f" {fix}"
        )
    if index_dim is not None and index_dim != embedder.dim:
        found.append(f"the search index holds vectors of {index_dim} dimensions")
    if found:
        raise EmbedError(
            f"the model is {embedder.model} ({embedder.dim} dimensions), but {' and '.join(found)}:"
            f" set NEWS_EMBEDDING_MODEL to {former}, or {fix}"
        )
