"""A reached ceiling ends the calls of a run. The local enricher fills in, where the
desk wants it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.clients.llm.provider_batches import open_batches
from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.enrich import enrich_batch
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.ledger import Budget
from news_assets.pipeline.enrich.model.model_requests import load_prompt
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import ModelAnswer
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Desk, EnrichRules
from news_assets.records.model_calls import Ceilings, ModelCall, Spent
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.taxonomy import load_taxonomy
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.model_enrichment import ScriptedModel
from news_assets_tests.support.small_desk import (
    DESK,
    NOW,
    TODAY,
    Newsroom,
    Words,
    entry,
)

KEYS = AgencyDays("d", frozenset({("a", TODAY)}))
USD = 0.002  # of one answer: 1,000 tokens of gpt-5-mini


class Answering(ScriptedModel):
    """A model whose answers are no JSON, one after the other, and cost USD each."""

    def __init__(self) -> None:
        said = ModelAnswer(
            raw="?", input_tokens=0, output_tokens=1_000, cached_tokens=0, elapsed_ms=1
        )
        super().__init__(lambda _: said, "openai:gpt-5-mini")

    @property
    def calls(self) -> int:
        return len(self.sent)


def enricher(model: Answering, budget: Budget) -> Enrichers:
    return Enrichers(
        local=Words(),
        models=(model,),
        open_model=lambda name: model,
        entities="",
        prompt=load_prompt("enrich"),
        brief_prompt=load_prompt("enrich", depth="brief"),
        full_prompt=load_prompt("enrich", depth="full"),
        theme_prompt=load_prompt("theme"),
        entities_prompt=load_prompt("entities"),
        taxonomy=load_taxonomy(None),
        accepted_error=None,
        sandbox=InlineSandbox(),
        open_batches=open_batches,
        has_batches=lambda _name: False,
        budget=budget,
    )


def fetch_nine(lake: Lake) -> None:
    room = Newsroom(lake, FakeSearchIndex())
    room.list(*(entry(n) for n in range(1, 10)))
    room.run("raw_articles")


@pytest.fixture
def room(
    filled_once: Callable[[Callable[[Lake], None]], Path], tmp_path: Path
) -> Iterator[Newsroom]:
    """Nine fetched articles."""
    copy_lake(filled_once(fetch_nine), tmp_path)
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        yield Newsroom(lake, FakeSearchIndex())


def enrich(
    lake: Lake, made_by: Enrichers, desk: Desk = DESK, *, re_enrich: bool = False
) -> None:
    stage = stage_named("enriched_articles")
    enrich_batch(
        stage, lake, desk, KEYS, lambda: NOW, enricher=made_by, re_enrich=re_enrich
    )


@pytest.mark.slow  # several runs with a model server
def test_the_local_enricher_fills_in_with_one_reason_and_is_replaced_when_there_is_money(
    room: Newsroom,
) -> None:
    model = Answering()
    enrich(room.lake, enricher(model, Budget(Ceilings(run=0.02))))

    calls = room.lake.read(ModelCall)
    # more than one price is reserved for each
    assert 1 <= model.calls == len(calls) <= 9
    assert sum(call.usd or 0.0 for call in calls) == pytest.approx(model.calls * USD)
    rows = room.lake.read(EnrichedArticle)
    assert [row.enricher for row in rows] == ["words"] * 9
    unsent = {row.local_reason for row in rows} - {call.reason for call in calls}
    assert len(unsent) == 1
    assert str(unsent.pop()).startswith("NEWS_MAX_USD_PER_RUN is reached: ")

    enrich(room.lake, enricher(model, Budget()))
    assert {call.article_id for call in room.lake.read(ModelCall)} == {
        f"a-{n}" for n in range(1, 10)
    }


def test_a_desk_without_a_fallback_fails_with_the_reason(room: Newsroom) -> None:
    desk = replace(DESK, enrich=EnrichRules(fallback="none"))
    model = Answering()
    with pytest.raises(EnrichError, match="NEWS_MAX_USD_PER_DAY is reached"):
        enrich(
            room.lake,
            enricher(
                model, Budget(Ceilings(day=1.0), lambda rows, now: Spent(day=1.0))
            ),
            desk,
        )
    assert model.calls == 0


def test_under_a_ceiling_nothing_is_sent_to_a_model_of_unknown_price(
    room: Newsroom,
) -> None:
    model = Answering()
    model.name = "openai:mine"
    enrich(room.lake, enricher(model, Budget(Ceilings(month=100.0))))
    assert model.calls == 0
    [reason] = {row.local_reason for row in room.lake.read(EnrichedArticle)}
    assert str(reason).startswith("the price of openai:mine is not known")


@pytest.mark.parametrize(("re_enrich", "is_sent"), [(True, False), (False, True)])
def test_to_enrich_again_is_a_backfill_and_stops_at_its_share_of_the_day(
    room: Newsroom, re_enrich: bool, is_sent: bool
) -> None:
    model = Answering()
    enrich(
        room.lake,
        enricher(model, Budget(Ceilings(day=1.0), lambda rows, now: Spent(day=0.85))),
        re_enrich=re_enrich,
    )
    assert (model.calls > 0) == is_sent


def test_the_local_enricher_leaves_what_a_model_made_unless_told(
    room: Newsroom,
) -> None:
    room.run_stage("enriched_articles", KEYS)
    [row] = room.lake.read(EnrichedArticle, article_id=["a-1"])
    of_model = replace(
        row, enricher="model", model="openai:gpt-5-mini", input_hash="of the model"
    )
    room.lake.transact(lambda rows: rows.upsert([of_model]))
    local = replace(enricher(Answering(), Budget()), models=())

    enrich(room.lake, local)
    assert room.lake.read(EnrichedArticle, article_id=["a-1"]) == [of_model]
    enrich(room.lake, local, re_enrich=True)
    assert [
        one.enricher for one in room.lake.read(EnrichedArticle, article_id=["a-1"])
    ] == ["words"]
