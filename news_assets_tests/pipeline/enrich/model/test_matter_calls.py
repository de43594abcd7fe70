"""Matters and language models: one call for each text, and a summary for each
appearance.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.meetings import Matter, StoredItem
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import (
    DAY,
    TEXT,
    ScriptedModel,
    enrich,
    enricher,
    made,
    rows,
)
from news_assets_tests.support.stored_meeting import ITEM

MATTER = "file:26-101"
EARLIER = TEXT.replace("{n}", "1000")
LATER = (
    "A Câmara Municipal de Porto Alegre aprovou nesta sexta-feira a compra de vinte ônibus elétricos.\n\n"
    + EARLIER
)


def appearance(number: int, text: str) -> tuple[RawArticle, StoredItem]:
    """Return an article of the matter, of a day for each number, and its agenda item."""
    day = DAY + timedelta(days=7 * number)
    article = made(
        number, text, day=day, matter=MATTER, meeting_id=f"m{number}", text_hash=text
    )
    item = replace(
        ITEM,
        item_id=f"m{number}/1",
        desk="govbr",
        agency="mec",
        day=day,
        article_id=article.article_id,
    )
    return article, item


@pytest.fixture
def keys() -> AgencyDays:
    return AgencyDays(
        "govbr",
        frozenset(("mec", DAY + timedelta(days=7 * number)) for number in range(3)),
    )


def store(lake: Lake, *appearances: tuple[RawArticle, StoredItem]) -> None:
    for article, item in appearances:
        upsert(lake, [article])
        upsert(lake, [item])


def test_each_appearance_keeps_the_summary_that_it_had(
    lake: Lake, keys: AgencyDays
) -> None:
    store(lake, appearance(0, EARLIER))
    model = ScriptedModel()
    enrich(lake, enricher(model), keys=keys)
    before = rows(lake)["mec-00000"]
    store(lake, appearance(1, LATER))

    enrich(lake, enricher(model), keys=keys)

    assert len(model.sent) == 2
    assert rows(lake)["mec-00000"] == before
    assert rows(lake)["mec-00001"].summary != before.summary
    assert [matter.summary for matter in lake.read(Matter)] == [
        rows(lake)["mec-00001"].summary
    ]
