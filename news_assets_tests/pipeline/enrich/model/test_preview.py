"""What the preview counts is what the enrichment then sends."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.clients.llm.provider_batches import open_batches
from news_assets.pipeline.enrich.enrich import enrich_batch
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.model_requests import load_prompt
from news_assets.pipeline.enrich.model.preview import Found, Preview, Sent, estimated
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle
from news_assets.records.desks import Desk, EnrichRules
from news_assets.records.model_calls import ModelCall, Tokens
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


class NoJson(ScriptedModel):
    """A model whose answers are no JSON."""

    def __init__(self, name: str) -> None:
        super().__init__(lambda _: "?", name)


def enricher(*models: NoJson, entities: str = "") -> Enrichers:
    return Enrichers(
        local=Words(),
        models=models,
        open_model=NoJson,
        entities=entities,
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
    )


def previewed(lake: Lake, made_by: Enrichers, desk: Desk = DESK) -> Found:
    preview = Preview(lake, desk, made_by, lambda: NOW)
    preview.add(KEYS)
    return preview.found


def fetch_five(lake: Lake) -> None:
    room = Newsroom(lake, FakeSearchIndex())
    room.list(*(entry(n) for n in range(1, 6)))
    room.run("raw_articles")
    first, copy = lake.read(RawArticle, article_id=["a-1", "a-4"])
    twin = replace(
        copy, text=first.text, duplicate_of="a-1", duplicate_reason="same_text"
    )
    lake.transact(lambda rows: rows.upsert([twin]))


@pytest.fixture
def room(
    filled_once: Callable[[Callable[[Lake], None]], Path], tmp_path: Path
) -> Iterator[Newsroom]:
    """Five articles without rows of enrichment; `a-4` is a copy of `a-1`, and `a-5` is
    too odd for the local one.
    """
    copy_lake(filled_once(fetch_five), tmp_path)
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        yield Newsroom(lake, FakeSearchIndex(), enricher=Words(refused={"line5"}))


def test_an_article_that_the_filters_leave_out_is_no_call_and_says_why(
    room: Newsroom,
) -> None:
    [second] = room.lake.read(RawArticle, article_id=["a-2"])
    made_by = enricher(NoJson("openai:gpt-5-mini"))
    calls = len(previewed(room.lake, made_by).new)

    room.lake.transact(
        lambda rows: rows.upsert([replace(second, filter_reason="ceremonial")])
    )

    found = previewed(room.lake, made_by)
    assert (len(found.new), found.not_sent["left out by the filters of the desk"]) == (
        calls - 1,
        1,
    )


def test_the_calls_that_are_counted_are_those_that_are_made(room: Newsroom) -> None:
    counted = previewed(room.lake, enricher(NoJson("openai:gpt-5-mini")))
    before = room.lake.snapshot()

    model = NoJson("openai:gpt-5-mini")
    stage = stage_named("enriched_articles")
    enrich_batch(stage, room.lake, DESK, KEYS, lambda: NOW, enricher=enricher(model))

    assert [request for _, request in counted.new] == model.sent
    assert {request.article_id for request in model.sent} == {
        "a-1",
        "a-2",
        "a-3",
        "a-5",
    }
    assert (counted.articles, counted.copies, counted.again) == (5, 1, [])
    assert room.lake.snapshot() > before


def test_a_preview_writes_nothing(room: Newsroom) -> None:
    before = room.lake.snapshot()
    previewed(
        room.lake, enricher(NoJson("openai:gpt-5-mini"), entities="openai:gpt-5-nano")
    )
    assert room.lake.snapshot() == before
    assert (
        room.lake.read(ModelCall)
        == room.lake.read(CachedEnrichment)
        == room.lake.read(EnrichedArticle)
        == []
    )


@pytest.mark.slow  # several runs with a model server
def test_articles_with_a_result_are_counted_apart_because_only_re_enrich_sends_them(
    room: Newsroom,
) -> None:
    room.run_stage("enriched_articles", KEYS)  # by the local enricher

    found = previewed(room.lake, enricher(NoJson("openai:gpt-5-mini")))

    assert {request.article_id for _, request in found.again} == {"a-1", "a-2", "a-3"}
    assert {request.article_id for _, request in found.new} == {"a-5"}  # it failed
    model = NoJson("openai:gpt-5-mini")
    stage = stage_named("enriched_articles")
    enrich_batch(stage, room.lake, DESK, KEYS, lambda: NOW, enricher=enricher(model))
    assert [request.article_id for request in model.sent] == ["a-5"]
    enrich_batch(
        stage,
        room.lake,
        DESK,
        KEYS,
        lambda: NOW,
        enricher=enricher(model),
        re_enrich=True,
    )
    assert {request.article_id for request in model.sent[1:]} >= {"a-1", "a-2", "a-3"}


def test_what_is_not_sent_is_counted_by_its_reason(room: Newsroom) -> None:
    desk = replace(DESK, enrich=EnrichRules(min_chars=10**6))
    found = previewed(room.lake, enricher(NoJson("openai:gpt-5-mini")), desk)
    assert (found.new, found.again) == ([], [])
    assert dict(found.not_sent) == {"the text has characters, fewer than": 4}


def test_entities_are_calls_of_their_own_model(room: Newsroom) -> None:
    found = previewed(
        room.lake, enricher(NoJson("openai:gpt-5-mini"), entities="openai:gpt-5-nano")
    )
    assert sorted((model, request.kind) for model, request in found.new) == [
        *[("openai:gpt-5-mini", "enrich")] * 4,
        *[("openai:gpt-5-nano", "entities")] * 4,
    ]


def test_only_the_first_of_a_chain_is_counted(room: Newsroom) -> None:
    found = previewed(
        room.lake,
        enricher(NoJson("openai:gpt-5-mini"), NoJson("anthropic:claude-haiku-4-5")),
    )
    assert {model for model, _ in found.new} == {"openai:gpt-5-mini"}


def test_the_price_is_that_of_the_mean_tokens_of_earlier_calls(room: Newsroom) -> None:
    calls = previewed(room.lake, enricher(NoJson("openai:gpt-5-mini"))).new[:1] * 4
    known = {
        ("openai:gpt-5-mini", "enrich"): Tokens(
            chars_per_token=calls[0][1].chars / 1_000, output=100, cached_share=0.4
        )
    }
    usd = (600 * 0.25 + 400 * 0.025 + 100 * 2) / 1e6

    direct, batch = (
        estimated(calls, known, NOW, is_batch=lambda _model, on=on: on)
        for on in (False, True)
    )

    assert direct == Sent(4, 4_000, 400, pytest.approx(4 * usd))
    assert batch == Sent(4, 4_000, 400, pytest.approx(2 * usd))
    assert (
        estimated(
            [("openai:mine", request) for _, request in calls],
            {},
            NOW,
            is_batch=lambda _model: False,
        ).usd
        is None
    )
    assert estimated(
        calls, {}, NOW, is_batch=lambda _model: False
    ).input_tokens == 4 * round(calls[0][1].chars / 4)
