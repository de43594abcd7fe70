"""The stages: one asset by agency and day each, in the order in which they run.
_DOCUMENTS is of civic desks only.

Assets, jobs, checks, backlog queries, `gaps`, `status`, `failures` and the daily report
are derived from this list. To add a stage, write its row type (in `records/`), its
table (`store/tables.py`) and its `run` function, and declare it here; a `run` that is
named by `on_call` is imported by the processes that run it only.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from news_assets.pipeline.stage_declaration import (
    ARTICLE_STATE,
    DOCUMENT_STATE,
    Findings,
    Option,
    RowCheck,
    Stage,
    on_call,
)
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.records.desks import Desk
from news_assets.records.meetings import StoredDocument
from news_assets.records.model_calls import ModelCall

if TYPE_CHECKING:
    import polars as pl

_ACCEPTED_UNSUPPORTED = 0.1  # of a model's answers
_UNSUPPORTED = "evidence:"  # how the reason of a refused answer begins
_UNIT_TOLERANCE = 1e-3  # float32 sums of 384 to 1,024 squares stay within 1e-5


# --- checks of the rows of a desk ---------------------------------------------------------


def repeated_keys(frame: "pl.DataFrame", key: Sequence[str]) -> Findings:
    """Return the keys of more than one row."""
    import polars as pl

    repeated = (
        frame.group_by(key)
        .agg(pl.len().alias("rows"))
        .filter(pl.col("rows") > 1)
        .sort(key)
    )
    return Findings(frame.height, (*key, "rows"), tuple(repeated.rows()))


def _articles_without_text(lake: Reader, desk: str) -> Findings:
    """Return the articles of outcome ok that have no text."""
    import polars as pl

    frame = lake.frame(
        RawArticle,
        None,
        ("article_id", "url", "text_chars"),
        desk=[desk],
        outcome=["ok"],
    )
    return _findings(frame, frame.filter(pl.col("text_chars") == 0))


def articles_without_summary(lake: Reader, desk: str) -> Findings:
    """Return the enriched articles that have no summary, but for those that the filters
    of their desk leave out.
    """
    import polars as pl

    from news_assets.pipeline.enrich.enriched_rows import NOT_ENRICHED

    columns = ("article_id", "summary", "word_count", "enricher")
    frame = lake.frame(EnrichedArticle, None, columns, desk=[desk], outcome=["ok"])
    enriched = frame.filter(pl.col("enricher") != NOT_ENRICHED)
    return _findings(enriched, enriched.filter(pl.col("summary").fill_null("") == ""))


def unsupported_answers(lake: Reader, desk: str) -> Findings:
    """Return the answers of language models that say something which nothing in their
    article supports.

    Those with such a summary were refused, and are in the ledger; those with such a key
    point are rows. Some are accepted: models err.
    """
    import polars as pl

    from news_assets.pipeline.enrich.model.model_requests import ENRICHER

    rows = lake.frame(
        EnrichedArticle,
        None,
        ("article_id", "model", "key_points", "key_point_spans"),
        desk=[desk],
        outcome=["ok"],
        enricher=[ENRICHER],
        reused_from=[None],
    )
    spans = pl.col("key_point_spans").list
    counted = rows.select(
        "article_id",
        "model",
        pl.col("key_points").list.len(),
        spans.eval(pl.element() == "").list.sum().alias("empty"),
    )
    columns = ("article_id", "model", "reason")
    calls = lake.frame(ModelCall, None, columns, desk=[desk], outcome=["refused"])
    found = calls.filter(pl.col("reason").str.starts_with(_UNSUPPORTED)).rows()
    checked = rows.height + len(found)
    for article_id, model, total, empty in counted.iter_rows():
        if empty:
            found.append((article_id, model, f"{empty} of {total} key points"))
    return Findings(
        checked,
        ("article_id", "model", "what is unsupported"),
        tuple(found),
        accepted=int(checked * _ACCEPTED_UNSUPPORTED),
    )


def _vectors_off_unit(lake: Reader, desk: str) -> Findings:
    """Return the vectors of another length than 1, or of other dimensions than their
    row states.
    """
    import polars as pl

    columns = ("article_id", "model", "dim", "vector")
    frame = lake.frame(ArticleEmbedding, None, columns, desk=[desk], outcome=["ok"])
    vector = pl.col("vector").list
    squares = vector.eval(pl.element().pow(2)).list.sum()
    measured = frame.with_columns(
        squares.sqrt().alias("length"), vector.len().alias("dimensions")
    ).drop("vector")
    is_unit = (pl.col("length") - 1).abs() <= _UNIT_TOLERANCE
    is_sound = is_unit & (pl.col("dimensions") == pl.col("dim"))
    return _findings(measured, measured.filter(~is_sound.fill_null(value=False)))


def _findings(checked: "pl.DataFrame", wrong: "pl.DataFrame") -> Findings:
    return Findings(checked.height, tuple(wrong.columns), tuple(wrong.rows()))


# --- the stages -----------------------------------------------------------------------


_DOCUMENTS: Final = Stage(
    name="documents",
    record=StoredDocument,
    upstream=("feed_entries",),
    run=on_call("news_assets.pipeline.civic.attachments:read_attachments"),
    ports=("fetcher", "sandbox"),
    options=(
        Option(
            "refetch",
            "request every attachment again, not only those that are not read yet",
        ),
    ),
    state=None,
    made_at="fetched_at",
    done="documents",
    check=(
        "every_attachment_is_read",
        "Every attachment of the last days is read, or the reason why not is known.",
    ),
    describe=lambda row: f"{row.characters} characters of {row.name}",
    description="""Attachments of the agenda items of these agencies and days: their text in
    Markdown, or the reason.

    Each content is read once, under whatever addresses it is listed. An item whose
    attachments could not be read is composed with the reason, and again when they come.
    """,
    kind="pdf",
    preview=("name", "kind", "pages", "characters", "outcome", "reason"),
)

STAGES: tuple[Stage, ...] = (
    Stage(
        name="raw_articles",
        record=RawArticle,
        upstream=("feed_entries", "documents"),
        run=on_call("news_assets.pipeline.articles.fetch:fetch_batch"),
        ports=("fetcher", "sandbox"),
        options=(
            Option(
                "refetch",
                "fetch every entry again, not only those that are missing, changed or due",
            ),
        ),
        state=None,
        made_at="fetched_at",
        done="articles",
        check=(
            "every_entry_is_fetched",
            "Every entry of the last days has been fetched, or the reason why not is known.",
        ),
        row_checks=(
            RowCheck(
                "articles_have_text",
                "Every article of outcome ok has a text.",
                _articles_without_text,
            ),
        ),
        describe=lambda row: (
            f"{row.word_count} words, revision {row.rev_n}"
            + (f", a copy of {row.duplicate_of}" if row.duplicate_of else "")
        ),
        description="""Articles of these agencies and days: text in Markdown and metadata,
        exact copies marked.

        An entry that cannot be fetched or read is a row too, with `outcome` and `reason`,
        and is retried when due. Re-running fetches only what is missing, changed or due;
        `refetch` in the run config fetches everything.
        """,
        kind="html",
        preview=("title", "outcome", "reason", "duplicate_of", "text_chars"),
    ),
    Stage(
        name="enriched_articles",
        record=EnrichedArticle,
        upstream=("raw_articles",),
        run=on_call("news_assets.pipeline.enrich.enrich:enrich_batch"),
        ports=("enricher",),
        options=(
            Option(
                "re_enrich",
                "request the language model that NEWS_ENRICHER names also for articles that have a"
                " row already; `news-assets cost` says before what that costs",
            ),
            Option(
                "local_only",
                "store the rows of the local enricher only; the sensor `due_model_calls` requests"
                " the language models",
            ),
        ),
        state=ARTICLE_STATE,
        made_at="enriched_at",
        then=on_call("news_assets.pipeline.civic.item_rows:refresh_items_of"),
        done="enriched",
        check=(
            "every_article_is_enriched",
            "Every article is enriched in its present state.",
        ),
        row_checks=(
            RowCheck(
                "articles_have_summaries",
                "Every enriched article has a summary.",
                articles_without_summary,
            ),
            RowCheck(
                "answers_are_supported",
                "Nine in ten answers of language models say only what a part of their article"
                " supports.",
                unsupported_answers,
            ),
        ),
        describe=lambda row: (
            f"theme {row.theme_code or 'none'}, by {row.enricher} {row.model}"
        ),
        description="""Theme of up to three levels, summary, keywords, language, length and
        readability of each article.

        Cached by input: one text is enriched once by the same enricher and taxonomy, and a
        copy takes its original's result. Articles without a text have no row. A language
        model adds key points, sentiment, type and entities, and the part of the text that
        each sentence rests on. The local row is stored first, and replaced by the answer.
        """,
        kind="python",
        preview=(
            "article_id",
            "theme_labels",
            "theme_score",
            "enricher",
            "model",
            "outcome",
        ),
    ),
    Stage(
        name="article_embeddings",
        record=ArticleEmbedding,
        upstream=("enriched_articles",),
        run=on_call("news_assets.pipeline.embed:embed_batch"),
        ports=("embedder", "search", "sandbox"),
        options=(
            Option(
                "replace_model",
                "delete the desk's vectors of other models instead of refusing to run; "
                "run `news-assets rebuild search` afterwards",
            ),
        ),
        state=ARTICLE_STATE,
        made_at="embedded_at",
        done="embedded",
        check=(
            "every_article_is_embedded",
            "Every article is embedded in its present state.",
        ),
        row_checks=(
            RowCheck(
                "vectors_have_unit_length",
                "Every vector has unit length and the dimensions that its row states.",
                _vectors_off_unit,
            ),
        ),
        describe=lambda row: f"{row.dim} dimensions, by {row.model}",
        description="""Unit vector of each article's title and text, with the model, its
        dimension and the token cut.

        Only texts that changed are embedded. Fails before it writes where the lake holds
        vectors of another model, or the index vectors of another dimension.
        """,
        kind="onnx",
        preview=("article_id", "model", "dim", "token_count", "is_cut", "outcome"),
    ),
    Stage(
        name="search_index",
        record=IndexedDocument,
        upstream=("raw_articles", "enriched_articles", "article_embeddings"),
        run=on_call("news_assets.pipeline.index:index_batch"),
        ports=("search", "sandbox"),
        state=DOCUMENT_STATE,
        made_at="indexed_at",
        done="indexed",
        check=(
            "every_article_is_indexed",
            "Every article has a receipt for the document that it would make now.",
        ),
        describe=lambda row: (
            f"indexed {'with' if row.has_vector else 'without'} its vector"
        ),
        description="""Documents of the search index, with a receipt for each in the lake:
        id, document hash and time.

        Only changed documents are sent; those whose article is gone are removed. An article
        whose embedding failed is indexed without a vector and found by its words. An index
        that is unavailable or full fails the run with the reason, and no receipt is written
        for a document that it did not confirm.
        """,
        kind="search",
        preview=("article_id", "has_vector", "indexed_at", "outcome", "reason"),
    ),
)


def all_stages() -> tuple[Stage, ...]:
    """Return the stages of all desks, upstream first."""
    return (_DOCUMENTS, *STAGES)


def stages_of(desk: Desk) -> tuple[Stage, ...]:
    """Return the stages of a desk, upstream first: one with meetings also reads their
    documents.
    """
    return all_stages() if desk.is_civic else STAGES


def stage_names(desk: Desk | None = None) -> tuple[str, ...]:
    """Return the names of the stages of a desk, upstream first; without a desk of those
    that all desks have.
    """
    stages = STAGES if desk is None else stages_of(desk)
    return tuple(stage.name for stage in stages)


def fetching_stages(desk: Desk) -> tuple[str, ...]:
    """Return the names of the stages of a desk that fetch: up to the articles."""
    names = stage_names(desk)
    return names[: names.index(STAGES[0].name) + 1]


def derived_stages() -> tuple[Stage, ...]:
    """Return the stages after the first: their rows are made from articles and have a
    `state`.
    """
    return STAGES[1:]


def stage_named(name: str) -> Stage:
    """Return a stage by its name."""
    return next(stage for stage in all_stages() if stage.name == name)
