"""The stages: one asset by agency and day each, in the order in which they run.
_DOCUMENTS is of civic desks only.

Assets, jobs, checks, backlog queries, `gaps`, `status`, `failures` and the daily report
are derived from this list. To add a stage, write its row type (in `records/`), its
table (`store/tables.py`) and its `run` function, and declare it here; a `run` that is
named by `on_call` is imported by the processes that run it only.
"""

from typing import Final

from news_assets.pipeline.freshness.row_checks import (
    RowCheck,
    articles_without_summary,
    articles_without_text,
    unsupported_answers,
    vectors_off_unit,
)
from news_assets.pipeline.stage_state.declaration import (
    ARTICLE_STATE,
    DOCUMENT_STATE,
    Option,
    Stage,
    on_call,
)
from news_assets.pipeline.stage_state.retries import stage_retry_at
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.records.desks import Desk
from news_assets.records.reading import StoredDocument

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
    retry_at=stage_retry_at,
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
        retry_at=None,
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
                articles_without_text,
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
        retry_at=stage_retry_at,
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
        retry_at=stage_retry_at,
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
                vectors_off_unit,
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
        retry_at=stage_retry_at,
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
    return tuple(stage.name for stage in (stages_of(desk) if desk else STAGES))


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
