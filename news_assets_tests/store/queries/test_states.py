"""SQL and Python compute the same document hash."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.pipeline.stage_state.declaration import document_hash
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import stale_rows
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import full
from news_assets_tests.support.small_desk import AGENCIES, DESK, NOW, TODAY

_TEXT = st.text(max_size=12) | st.sampled_from(
    ["", "\n", "a\nb", "\0", "ção 🎉", "\ud800", "'; --", "$now"]
)
_OUTCOME = st.sampled_from(["ok", "failed"])
Stages = tuple[RawArticle, EnrichedArticle | None, ArticleEmbedding | None]


@st.composite
def _made(draw: st.DrawFn, number: int) -> Stages:
    agency = draw(st.sampled_from("ab"))
    keys: dict[str, Any] = {
        "article_id": f"{agency}-{number}",
        "desk": "d",
        "agency": agency,
        "day": TODAY,
    }
    article = full(RawArticle, **keys, outcome="ok", content_hash=draw(_TEXT))
    enriched = full(
        EnrichedArticle,
        **keys,
        input_hash=draw(_TEXT),
        reused_from=draw(st.none() | _TEXT),
        outcome=draw(_OUTCOME),
    )
    embedding = full(
        ArticleEmbedding,
        **keys,
        input_hash=draw(_TEXT),
        model=draw(_TEXT),
        outcome=draw(_OUTCOME),
    )
    return (
        article,
        draw(st.sampled_from([enriched, None])),
        draw(st.sampled_from([embedding, None])),
    )


@pytest.mark.slow  # made rows by the hundred
@given(
    st.tuples(*(_made(number) for number in range(20))),
    st.text(st.characters(exclude_categories=["Cs"])),
)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_sql_and_python_compute_the_same_document_hash(
    lake: Lake, made: tuple[Stages, ...], name: str
) -> None:
    desk = replace(
        DESK, agencies=tuple(replace(agency, name=name) for agency in AGENCIES)
    )

    def store(rows: Transaction) -> None:
        for number, record in enumerate(
            (RawArticle, EnrichedArticle, ArticleEmbedding)
        ):
            rows.delete(record, desk=["d"])
            rows.upsert([one[number] for one in made if one[number] is not None])

    lake.transact(store)
    enriched = {
        row.article_id: row for row in lake.read(EnrichedArticle, outcome=["ok"])
    }
    embedded = {
        row.article_id: row for row in lake.read(ArticleEmbedding, outcome=["ok"])
    }
    expected = {
        article.article_id: document_hash(
            article,
            enriched.get(article.article_id),
            embedded.get(article.article_id),
            name,
        )
        for article in lake.read(RawArticle)
    }
    found = stale_rows(lake, desk, NOW).filter(stage="search_index")
    assert dict(found.select("article_id", "version").iter_rows()) == expected
