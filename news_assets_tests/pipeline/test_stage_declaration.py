"""Which changes give an article and its document another state."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.stage_declaration import content_hash, document_hash
from news_assets.ports.search_index import COPIED_FIELDS
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets_tests.store.examples import full, sparse

ARTICLE, ENRICHED, EMBEDDING = (
    full(RawArticle),
    full(EnrichedArticle),
    full(ArticleEmbedding),
)

OF_AGENDA_ITEMS = {"body", "matter", "meeting_id", "meeting_status", "filter_reason"}
NEWS = replace(ARTICLE, **dict.fromkeys(OF_AGENDA_ITEMS, ""))
READ = {
    "article_id", "agency", "day", "url", "canonical_url", "title", "subtitle", "text", "text_hash", "section",
    "category", "tags", "authors", "language", "published_at", "first_seen_at", "image_url", "duplicate_of",
}  # fmt: skip
COPIED = {field for field, source in COPIED_FIELDS.items() if source == "article"}


@pytest.mark.parametrize("name", [field.name for field in fields(RawArticle)])
def test_the_state_of_an_article_covers_the_fields_that_later_stages_read(
    name: str,
) -> None:
    changed = replace(ARTICLE, **{name: getattr(sparse(RawArticle), name)})
    if getattr(changed, name) == getattr(ARTICLE, name):
        changed = replace(ARTICLE, **{name: None})
    assert (content_hash(changed) != content_hash(ARTICLE)) == (
        name in READ | OF_AGENDA_ITEMS | COPIED
    )


def test_states_are_the_same_in_every_process() -> None:
    assert (
        content_hash(NEWS)
        == "a1adc30750f1196772a03b783c585504f116d520a7c3e1012ac8dcf2789d27d4"
    )
    assert (
        document_hash(ARTICLE, ENRICHED, EMBEDDING, "Câmara")
        == "b38f46b36c0d495907fc091883ea5605b07487948cb0b81925829644687cb96f"
    )


@given(st.text(), st.text())
def test_title_and_text_are_hashed_apart(title: str, text: str) -> None:
    state = content_hash(replace(ARTICLE, title=title, text=text))
    assert len(state) == 64
    assert (content_hash(replace(ARTICLE, title=text, text=title)) == state) == (
        title == text
    )
    assert (
        content_hash(replace(ARTICLE, title=title + text, text="")) != state or not text
    )


@pytest.mark.parametrize(
    ("enriched", "embedding", "name"),
    [
        ({"input_hash": "x"}, {}, "Câmara"),
        ({"reused_from": "x"}, {}, "Câmara"),
        ({}, {"input_hash": "x"}, "Câmara"),
        ({}, {"model": "x"}, "Câmara"),
        ({}, {}, "Outra"),
    ],
)
def test_the_state_of_a_document_covers_its_parts(
    enriched: dict[str, Any], embedding: dict[str, Any], name: str
) -> None:
    found = document_hash(
        ARTICLE, replace(ENRICHED, **enriched), replace(EMBEDDING, **embedding), name
    )
    assert found != document_hash(ARTICLE, ENRICHED, EMBEDDING, "Câmara")


def test_a_document_has_another_state_without_one_of_its_parts() -> None:
    other = replace(ARTICLE, content_hash="x")
    found = [
        document_hash(ARTICLE, ENRICHED, EMBEDDING, "n"),
        document_hash(ARTICLE, None, EMBEDDING, "n"),
        document_hash(ARTICLE, ENRICHED, None, "n"),
        document_hash(ARTICLE, None, None, "n"),
        document_hash(other, ENRICHED, EMBEDDING, "n"),
    ]
    assert len(set(found)) == 5


def test_a_document_made_again_from_the_same_inputs_has_the_same_state() -> None:
    again = replace(
        EMBEDDING, vector=(0.9, 0.1), embedded_at=ARTICLE.fetched_at, trace_id="t2"
    )
    enriched = replace(ENRICHED, enriched_at=ARTICLE.fetched_at, trace_id="t2")
    assert document_hash(ARTICLE, enriched, again, "n") == document_hash(
        ARTICLE, ENRICHED, EMBEDDING, "n"
    )
