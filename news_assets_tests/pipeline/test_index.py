from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.clients.sqlite_search import SqliteSearchIndex
from news_assets.pipeline.index import IndexChanges, SearchDocument, build_documents, index_documents, without_markdown
from news_assets.records import ArticleEmbedding, EnrichedArticle, IndexedDocument, RawArticle

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
SEEN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEYS = {"article_id": "mec-1", "desk": "govbr", "agency": "mec", "day": date(2026, 11, 20), "trace_id": "poll-1"}

ARTICLE = RawArticle(
    **KEYS,  # type: ignore[arg-type]
    source_id="mec-feed",
    entry_id="1",
    entry_hash="e",
    url="https://example.org/1?from=feed",
    canonical_url="https://example.org/1",
    url_hash="u",
    text_hash="t",
    minhash=None,
    title="Vacinação começa",
    subtitle="Em todo o país",
    authors=(),
    section="Saúde",
    category=None,
    tags=("vacina",),
    article_type=None,
    language="pt",
    published_at=None,
    updated_at=None,
    first_seen_at=SEEN,
    fetched_at=SEEN,
    image_url=None,
    video_url=None,
    text="## Hoje\n\nA **campanha** [começa](https://example.org/2).",
    text_origin="page",
    text_chars=50,
    word_count=4,
    out_links=(),
    outcome="ok",
    reason=None,
    duplicate_of=None,
    rev_n=1,
    attempts=1,
    next_try_at=None,
)
ENRICHED = EnrichedArticle(
    **KEYS,  # type: ignore[arg-type]
    input_hash="i",
    theme_code="03.01",
    theme_path=("03", "03.01"),
    theme_labels=("Saúde", "Vacinas"),
    theme_score=0.9,
    summary="A campanha começa.",
    keywords=("campanha",),
    language="pt-BR",
    word_count=4,
    reading_minutes=1,
    readability=None,
    enricher="local",
    model="1",
    prompt_version="1",
    taxonomy_version="1",
    reused_from=None,
    enriched_at=SEEN,
    outcome="ok",
    reason=None,
)
EMBEDDING = ArticleEmbedding(
    **KEYS,  # type: ignore[arg-type]
    input_hash="v",
    model="model",
    dim=2,
    vector=(1.0, 0.0),
    token_count=9,
    is_cut=False,
    embedded_at=SEEN,
    outcome="ok",
    reason=None,
)


def built(
    article: RawArticle = ARTICLE, enriched: EnrichedArticle = ENRICHED, embedding: ArticleEmbedding = EMBEDDING
) -> SearchDocument:
    (document,) = build_documents([article], {"mec-1": enriched}, {"mec-1": embedding}, {"mec": "Ministério"})
    return document


def test_a_document_says_what_the_three_stages_found() -> None:
    document = built()
    assert document == SearchDocument(
        **KEYS,  # type: ignore[arg-type]
        agency_name="Ministério",
        url="https://example.org/1",
        title="Vacinação começa",
        text="Hoje\n\nA campanha começa.",
        summary="A campanha começa.",
        section="Saúde",
        tags=("vacina",),
        keywords=("campanha",),
        language="pt-BR",
        theme_code="03.01",
        theme_path=("03", "03.01"),
        theme_labels=("Saúde", "Vacinas"),
        published_ts=int(SEEN.timestamp()),
        text_hash="t",
        vector=(1.0, 0.0),
        document_hash=document.document_hash,
    )


def test_an_article_whose_enrichment_and_embedding_failed_is_found_by_its_words() -> None:
    document = built(
        replace(ARTICLE, published_at=NOW),
        replace(ENRICHED, outcome="failed", reason="no answer"),
        replace(EMBEDDING, outcome="failed", vector=()),
    )
    assert (document.vector, document.theme_path, document.language, document.summary, document.published_ts) == (
        None,
        (),
        "pt",
        "Em todo o país",
        int(NOW.timestamp()),
    )
    assert build_documents([ARTICLE], {}, {}, {})[0].agency_name == "mec"


@pytest.mark.parametrize("changes", [{"outcome": "failed"}, {"text": None}, {"text": ""}])
def test_an_article_without_a_text_is_no_document(changes: dict[str, object]) -> None:
    assert build_documents([replace(ARTICLE, **changes)], {}, {}, {}) == []  # type: ignore[arg-type]


def test_the_hash_changes_with_what_a_document_says_and_with_nothing_else() -> None:
    same = (
        built(replace(ARTICLE, fetched_at=NOW, trace_id="poll-2", attempts=2)),
        built(embedding=replace(EMBEDDING, vector=(0.9999, 0.0001))),
    )
    other = (
        built(replace(ARTICLE, title="Outro")),
        built(enriched=replace(ENRICHED, theme_path=())),
        built(embedding=replace(EMBEDDING, model="other")),
        built(embedding=replace(EMBEDDING, input_hash="other")),
        built(embedding=replace(EMBEDDING, outcome="failed")),
    )
    assert {document.document_hash for document in same} == {built().document_hash}
    assert len({built().document_hash, *(document.document_hash for document in other)}) == 6
    assert built().document_hash == "6e7d9f73a6be5ab106f9baadd3730d79df3d2b976fcff23570e2337f394843b3"


def receipt(document: SearchDocument, **changes: object) -> IndexedDocument:
    return replace(
        IndexedDocument(
            **KEYS,  # type: ignore[arg-type]
            document_hash=document.document_hash,
            has_vector=True,
            indexed_at=NOW,
            outcome="ok",
            reason=None,
        ),
        **changes,  # type: ignore[arg-type]
    )


@pytest.fixture
def index(tmp_path: Path) -> SqliteSearchIndex:
    return SqliteSearchIndex.open(tmp_path / "search.sqlite")


def test_what_is_new_is_sent_and_gets_a_receipt_and_the_second_time_nothing_is_done(index: SqliteSearchIndex) -> None:
    document = built()
    changes = index_documents([document], {}, index, NOW)
    assert changes == IndexChanges((receipt(document),), ())
    assert index.hashes("govbr") == {"mec-1": document.document_hash}
    assert index_documents([document], {"mec-1": changes.receipts[0]}, index, NOW) == IndexChanges((), ())


def test_what_is_no_longer_a_document_is_deleted(index: SqliteSearchIndex) -> None:
    document = built()
    (stored,) = index_documents([document], {}, index, NOW).receipts
    assert index_documents([], {"mec-1": stored}, index, NOW) == IndexChanges((), ("mec-1",))
    assert index.count() == 0


def test_a_refusal_is_a_receipt_with_its_reason_and_is_said_once(index: SqliteSearchIndex) -> None:
    index.upsert([replace(built(), article_id="mec-0", vector=(1.0, 0.0, 0.0))])
    document = built()
    (failed,) = index_documents([document], {}, index, NOW).receipts
    assert failed == receipt(document, outcome="failed", reason=failed.reason, has_vector=False)
    assert failed.reason is not None
    assert "2 dimensions" in failed.reason
    assert index_documents([document], {"mec-1": failed}, index, NOW) == IndexChanges((), ())


def test_an_index_that_was_lost_is_filled_again_whatever_the_receipts_say(index: SqliteSearchIndex) -> None:
    document = built()
    assert index_documents([document], {"mec-1": receipt(document)}, index, NOW).receipts == (receipt(document),)
    assert index.count() == 1


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# Um\n\n- dois\n* três\n\n> quatro", "Um\n\ndois\ntrês\n\nquatro"),
        ("**um** e *dois* e `três` e ~~quatro~~", "um e dois e três e quatro"),
        ("[um](https://example.org/a_(b)) ![dois](x.png)", "um dois"),
        ("| a | b |\n|---|---|\n| c | d |", "a   b \n\nc   d"),
        ("um\n\n---\n\ndois", "um\n\ndois"),
        ("snake_case_name 2*3*4 #tag 1. - x", "snake_case_name 2*3*4 #tag 1. - x"),
    ],
)
def test_a_text_is_indexed_as_it_is_read(markdown: str, text: str) -> None:
    assert without_markdown(markdown) == text
