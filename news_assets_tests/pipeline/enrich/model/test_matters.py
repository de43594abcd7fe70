"""Matters and language models: one call for each text, and none for an appearance that takes another's result."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.meetings import Matter, StoredItem
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import DAY, TEXT, ScriptedModel, enrich, enricher, made, rows
from news_assets_tests.support.stored_meeting import ITEM

MATTER = "file:26-101"
EARLIER = TEXT.replace("{n}", "1000")
LATER = "A Câmara Municipal de Porto Alegre aprovou nesta sexta-feira a compra de vinte ônibus elétricos.\n\n" + EARLIER


def appearance(number: int, text: str) -> tuple[RawArticle, StoredItem]:
    """Return an article of the matter, of a day for each number, and its agenda item."""
    day = DAY + timedelta(days=7 * number)
    article = made(number, text, day=day, matter=MATTER, meeting_id=f"m{number}", text_hash=text)
    item = replace(ITEM, item_id=f"m{number}/1", desk="govbr", agency="mec", day=day, article_id=article.article_id)
    return article, item


@pytest.fixture
def keys() -> AgencyDays:
    return AgencyDays("govbr", frozenset(("mec", DAY + timedelta(days=7 * number)) for number in range(3)))


def store(lake: Lake, *appearances: tuple[RawArticle, StoredItem]) -> None:
    for article, item in appearances:
        upsert(lake, [article])
        upsert(lake, [item])


def quotes(text: str, spans: Sequence[str]) -> list[str]:
    return [text[slice(*map(int, span.split("-")))] for span in spans]


def test_an_earlier_appearance_takes_the_answer_of_the_last_with_its_own_spans(lake: Lake, keys: AgencyDays) -> None:
    store(lake, appearance(0, EARLIER))
    model = ScriptedModel()
    enrich(lake, enricher(model), keys=keys)
    store(lake, appearance(1, LATER))

    enrich(lake, enricher(model), keys=keys)

    first, last = rows(lake)["mec-00000"], rows(lake)["mec-00001"]
    assert len(model.sent) == 2
    assert (first.summary, first.key_points, first.model) == (last.summary, last.key_points, last.model)
    assert (first.reused_from, first.summary_spans) == ("mec-00001", ("",))  # the sentence is not in its text
    assert quotes(EARLIER, first.key_point_spans) == quotes(LATER, last.key_point_spans)
    assert [matter.summary for matter in lake.read(Matter)] == [last.summary]


def test_an_appearance_that_comes_after_a_later_one_is_not_sent(lake: Lake, keys: AgencyDays) -> None:
    store(lake, appearance(1, LATER))
    model = ScriptedModel()
    enrich(lake, enricher(model), keys=keys)
    store(lake, appearance(0, EARLIER))

    enrich(lake, enricher(model), keys=keys)
    enrich(lake, enricher(model), keys=keys, re_enrich=True)

    assert (len(model.sent), rows(lake)["mec-00000"].reused_from) == (1, "mec-00001")
