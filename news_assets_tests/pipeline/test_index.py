from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from news_assets.pipeline.index import IndexChanges, build_documents, index_documents
from news_assets.pipeline.stage_declaration import document_hash
from news_assets.ports.search_index import (
    COPIED_FIELDS,
    SearchDocument,
    SearchIndex,
)
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)
from news_assets.records.reading import AgencyDays
from news_assets_tests.store.examples import full
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.search_backends import hashes

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
SEEN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEYS = {
    "article_id": "mec-1",
    "desk": "govbr",
    "agency": "mec",
    "day": date(2026, 11, 20),
    "trace_id": "poll-1",
}

ARTICLE = RawArticle(
    **KEYS,  # type: ignore[arg-type]
    source_id="mec-feed",
    entry_id="1",
    entry_hash="e",
    url="https://example.org/1?from=feed",
    canonical_url="https://example.org/1",
    url_hash="u",
    text_hash="t",
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
    article: RawArticle = ARTICLE,
    enriched: EnrichedArticle = ENRICHED,
    embedding: ArticleEmbedding = EMBEDDING,
) -> SearchDocument:
    (document,) = build_documents(
        [article], [enriched], [embedding], {"mec": "Ministério"}
    )
    return document


def test_a_document_combines_three_stages() -> None:
    document = built()
    assert document == SearchDocument(
        **KEYS,  # type: ignore[arg-type]
        agency_name="Ministério",
        url="https://example.org/1",
        title="Vacinação começa",
        text=ARTICLE.text or "",
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


@pytest.mark.parametrize(("field", "source"), COPIED_FIELDS.items())
def test_a_field_with_a_source_is_copied_from_the_column_of_that_row(
    field: str, source: str
) -> None:
    article, enriched = full(RawArticle), full(EnrichedArticle)
    row = article if source == "article" else enriched
    (document,) = build_documents(
        [replace(article, outcome="ok")], [replace(enriched, outcome="ok")], (), {}
    )
    assert getattr(document, field) == getattr(row, field)


def test_the_document_of_an_agenda_item_names_its_meeting_and_matter() -> None:
    named = {
        "body": "City Council",
        "matter": "24-0123",
        "meeting_id": "m-1",
        "meeting_status": "confirmed",
    }
    item = replace(ARTICLE, **named)  # type: ignore[arg-type]
    assert built(item) == replace(built(), **named)  # type: ignore[arg-type]


def test_an_article_with_failed_enrichment_and_embedding_is_indexed_without_them() -> (
    None
):
    document = built(
        replace(ARTICLE, published_at=NOW),
        replace(ENRICHED, outcome="failed", reason="no answer"),
        replace(EMBEDDING, outcome="failed", vector=()),
    )
    assert (
        document.vector,
        document.theme_path,
        document.language,
        document.summary,
        document.published_ts,
    ) == (
        None,
        (),
        "pt",
        "Em todo o país",
        int(NOW.timestamp()),
    )
    assert build_documents([ARTICLE], (), (), {})[0].agency_name == "mec"


@pytest.mark.parametrize(
    "changes", [{"outcome": "failed"}, {"text": None}, {"text": ""}]
)
def test_an_article_without_text_has_no_document(changes: dict[str, object]) -> None:
    assert build_documents([replace(ARTICLE, **changes)], (), (), {}) == []  # type: ignore[arg-type]


def test_the_document_hash_depends_on_all_three_rows() -> None:
    assert built().document_hash == document_hash(
        ARTICLE, ENRICHED, EMBEDDING, "Ministério"
    )
    assert built(
        enriched=replace(ENRICHED, outcome="failed")
    ).document_hash == document_hash(ARTICLE, None, EMBEDDING, "Ministério")
    assert built(
        embedding=replace(EMBEDDING, outcome="failed")
    ).document_hash == document_hash(ARTICLE, ENRICHED, None, "Ministério")
    assert build_documents([ARTICLE], (), (), {})[0].document_hash == document_hash(
        ARTICLE, None, None, "mec"
    )


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
def index() -> SearchIndex:
    return FakeSearchIndex()


class Recording:
    """An index that records what it is sent."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        self.backend = index.backend
        self.sent: list[str] = []
        self.deleted: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        self.sent += [document.article_id for document in documents]
        return self.index.upsert(documents)

    def delete(self, article_ids: Sequence[str]) -> None:
        self.deleted += article_ids
        self.index.delete(article_ids)


def changes_of(
    documents: Sequence[SearchDocument],
    index: SearchIndex,
    *receipts: IndexedDocument,
    now: datetime = NOW,
) -> IndexChanges:
    keys = AgencyDays("govbr", frozenset({("mec", date(2026, 11, 20))}))
    indexed = dict(
        index.stored("govbr", keys).select("article_id", "document_hash").iter_rows()
    )
    return index_documents(
        documents,
        receipts,
        indexed,
        index,
        InlineSandbox(),
        now,
    )


def test_a_new_document_is_sent_once_and_gets_a_receipt(index: SearchIndex) -> None:
    document = built()
    recording = Recording(index)
    changes = changes_of([document], recording)
    assert changes == IndexChanges((receipt(document),), ())
    assert hashes(index, "govbr") == {"mec-1": document.document_hash}
    assert changes_of([document], recording, *changes.receipts) == IndexChanges((), ())
    assert (recording.sent, recording.deleted) == (["mec-1"], [])


def test_a_document_without_an_article_is_deleted(index: SearchIndex) -> None:
    (stored,) = changes_of([built()], index).receipts
    assert changes_of([], index, stored) == IndexChanges((), ("mec-1",))
    assert index.count() == 0


def test_an_orphaned_document_is_deleted_also_without_a_receipt(
    index: SearchIndex,
) -> None:
    index.upsert(
        [
            built(),
            replace(built(), article_id="mec-lost"),
            replace(built(), article_id="mj-1", agency="mj"),
        ]
    )
    assert changes_of([built()], index, receipt(built())) == IndexChanges(
        (), ("mec-lost",)
    )
    assert set(hashes(index, "govbr")) == {"mec-1", "mj-1"}


def test_a_stored_document_without_a_receipt_gets_one_and_is_not_sent(
    index: SearchIndex,
) -> None:
    index.upsert([built()])
    recording = Recording(index)
    assert changes_of([built()], recording) == IndexChanges((receipt(built()),), ())
    assert recording.sent == []


@pytest.mark.parametrize(
    "changes", [{"outcome": "failed", "reason": "busy"}, {"document_hash": "older"}]
)
def test_a_receipt_that_differs_from_the_index_is_replaced(
    index: SearchIndex, changes: dict[str, str]
) -> None:
    index.upsert([built()])
    assert changes_of([built()], index, receipt(built(), **changes)).receipts == (
        receipt(built()),
    )


def test_a_refused_document_is_sent_again_each_time(index: SearchIndex) -> None:
    index.upsert(
        [replace(built(), article_id="mec-0", agency="other", vector=(1.0, 0.0, 0.0))]
    )
    document, recording = built(), Recording(index)
    (failed,) = changes_of([document], recording).receipts
    assert failed == receipt(
        document, outcome="failed", reason=failed.reason, has_vector=False
    )
    assert "2 dimensions" in str(failed.reason)
    later = NOW + timedelta(hours=1)
    assert changes_of([document], recording, failed, now=later).receipts == (
        replace(failed, indexed_at=later),
    )
    assert recording.sent == ["mec-1", "mec-1"]


def test_a_lost_index_is_filled_again_despite_its_receipts(index: SearchIndex) -> None:
    document = built()
    assert changes_of([document], index, receipt(document)).receipts == (
        receipt(document),
    )
    assert index.count() == 1
