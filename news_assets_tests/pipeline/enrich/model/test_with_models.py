"""Enrichment by language models: who is asked, what is stored, and what is never paid
twice.
"""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from news_assets.errors import EnrichError, ModelCallError
from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.pipeline.enrich.model.evidence import parse_span
from news_assets.pipeline.stages import articles_without_summary
from news_assets.records.derived import CachedEnrichment, Failure
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.council_room import DyingLake
from news_assets_tests.support.model_enrichment import (
    NOW,
    TEXT,
    ScriptedModel,
    answered,
    desk,
    enrich,
    enricher,
    honest,
    made,
    rows,
)

ENTITIES = {
    "entities": [
        {
            "name": "Ministério da Educação",
            "forms": ["MEC"],
            "kind": "organisation",
            "salience": 0.9,
        },
        {"name": "João Silva", "forms": ["Silva"], "kind": "person", "salience": 0.5},
        {"name": "Maria Inventada", "forms": [], "kind": "person", "salience": 1.0},
    ]
}


def test_an_answer_becomes_a_row_with_verbatim_spans_and_a_call(lake: Lake) -> None:
    upsert(lake, [made(1)])
    assert enrich(lake, enricher(ScriptedModel())) == 1

    row, text = rows(lake)["mec-00001"], made(1).text or ""
    quoted = [
        text[slice(*span)]
        for span in map(parse_span, (*row.summary_spans, *row.key_point_spans))
        if span
    ]
    said = honest(f"\n\n{text}\n")
    assert [" ".join(quote.split()) for quote in quoted] == [
        one["quote"].rstrip(".") for one in said["summary"] + said["key_points"]
    ]
    assert (row.enricher, row.model, row.theme_path, row.local_reason) == (
        "model",
        "openai:made",
        ("education",),
        None,
    )
    assert (row.sentiment, row.article_type, row.language, row.outcome) == (
        "neutral",
        "news",
        "pt-BR",
        "ok",
    )
    [call] = lake.read(ModelCall)
    assert (call.outcome, call.input_tokens, call.input_hash) == (
        "ok",
        100,
        row.input_hash,
    )
    assert json.loads(call.answer_json or "") == said


@pytest.mark.slow  # several runs with a model server
def test_a_second_run_asks_nothing_and_neither_does_a_run_that_makes_all_rows_again(
    lake: Lake,
) -> None:
    upsert(lake, [made(n) for n in range(20)])
    model = ScriptedModel()
    enrich(lake, enricher(model))
    assert enrich(lake, enricher(model)) == 0
    assert enrich(lake, enricher(model), re_enrich=True) == 0
    assert len(model.sent) == 20


def test_a_run_without_anything_due_opens_no_transaction(lake: Lake) -> None:
    upsert(lake, [made(1)])
    by = enricher(ScriptedModel())
    enrich(lake, by)
    assert enrich(cast("Lake", DyingLake(lake, lives=0)), by) == 0


def test_a_copy_reuses_its_original_with_spans_of_its_own_text(lake: Lake) -> None:
    spaced = TEXT.replace("{n}", "1001").replace(". ", ".\n\n")
    copy = made(
        2,
        spaced,
        title="Bolsas",
        duplicate_of="mec-00001",
        duplicate_reason="same text",
    )
    upsert(lake, [made(1), copy])
    model = ScriptedModel()
    enrich(lake, enricher(model))

    row = rows(lake)["mec-00002"]
    span = parse_span(row.summary_spans[0])
    assert (len(model.sent), row.reused_from, row.enricher) == (1, "mec-00001", "model")
    assert span
    assert (
        " ".join(spaced[span.start : span.end].split()) == row.summary.rstrip(".")
        if row.summary
        else ""
    )


def test_articles_with_one_input_are_asked_for_once(lake: Lake) -> None:
    upsert(lake, [made(1), made(2, TEXT.replace("{n}", "1001"))])
    model = ScriptedModel()
    enrich(lake, enricher(model))
    assert len(model.sent) == 1
    assert {row.enricher for row in rows(lake).values()} == {"model"}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"text": "Curto demais."},
            "not sent: the text has 13 characters, fewer than 100",
        ),
        (
            {"title": "Agenda do ministro"},
            "not sent: a text of set form, as its title begins with “agenda”",
        ),
        (
            {"title": "O boletim semanal"},
            "not sent: the title has “boletim”, which the desk file skips",
        ),
    ],
)
def test_what_is_not_sent_has_the_local_result_and_the_reason(
    lake: Lake, given: dict[str, str], reason: str
) -> None:
    upsert(lake, [made(1, **given)])
    model = ScriptedModel()
    enrich(lake, enricher(model), desk(skip_titles=("Boletim",)))
    row = rows(lake)["mec-00001"]
    assert (model.sent, row.enricher, row.local_reason) == ([], "local", reason)
    assert enrich(lake, enricher(model)) == 0  # for good


def test_what_the_filters_of_a_desk_leave_out_has_a_row_without_a_result(
    lake: Lake,
) -> None:
    upsert(lake, [made(1, filter_reason='ceremonial or routine: "proclamation"')])
    model = ScriptedModel()
    # without a model, the local enricher alone
    for asked in (
        enricher(model),
        enricher(),
    ):
        enrich(lake, asked)
        row = rows(lake)["mec-00001"]
        assert (model.sent, row.enricher, row.outcome, row.summary) == (
            [],
            "none",
            "ok",
            None,
        )
        assert row.reason == 'ceremonial or routine: "proclamation"'
    assert articles_without_summary(lake, "govbr").rows == ()


def test_the_local_enricher_answers_what_it_is_sure_of(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel()
    enrich(lake, enricher(model, accepted_error=0.999))
    row = rows(lake)["mec-00001"]
    assert (model.sent, row.enricher) == ([], "local")
    assert (row.local_reason or "").startswith("sure: its theme has a score of 0.")
    assert len(ScriptedModel().sent) == 0
    enrich(lake, enricher(model, accepted_error=0.0), re_enrich=True)
    assert (len(model.sent), rows(lake)["mec-00001"].enricher) == (1, "model")


def unsupported(text: str) -> dict[str, Any]:
    answer = honest(text)
    answer["summary"][0]["quote"] = "isto não está em lugar nenhum do texto"
    return answer


def test_an_article_with_an_unsupported_summary_gets_the_local_one_and_is_asked_for_twice_at_most(
    lake: Lake,
) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel(unsupported)
    for _ in range(4):
        enrich(lake, enricher(model))
    row = rows(lake)["mec-00001"]
    assert (len(model.sent), row.enricher, row.outcome) == (2, "local", "ok")
    assert (row.local_reason or "").startswith(
        "evidence: nothing in the text supports the summary's “O Ministério"
    )
    assert [call.outcome for call in lake.read(ModelCall)] == ["refused", "refused"]
    assert {cache.enricher for cache in lake.read(CachedEnrichment)} == {"local"}
    assert lake.read(Failure) == []  # it is settled


def test_the_local_enricher_fills_in_for_a_model_that_is_down_until_it_is_back(
    lake: Lake,
) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel()
    model.is_down = True
    enrich(lake, enricher(model))
    row, [failure] = rows(lake)["mec-00001"], lake.read(Failure)
    assert (row.enricher, row.local_reason, row.is_provisional) == (
        "local",
        "openai:made is down",
        True,
    )
    assert (failure.reason, failure.version, failure.attempts) == (
        "openai:made is down",
        made(1).content_hash,
        1,
    )
    enrich(lake, enricher(model), now=NOW + timedelta(minutes=6))
    assert [failure.attempts for failure in lake.read(Failure)] == [2]

    model.is_down = False
    enrich(lake, enricher(model), now=NOW + timedelta(hours=1))
    row = rows(lake)["mec-00001"]
    assert (row.enricher, row.content_hash, lake.read(Failure)) == (
        "model",
        made(1).content_hash,
        [],
    )


def test_without_the_fallback_an_unavailable_model_stops_the_stage(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel()
    model.is_down = True
    with pytest.raises(EnrichError, match="openai:made is down"):
        enrich(lake, enricher(model), desk(fallback="none"))
    assert [(row.outcome, row.reason) for row in rows(lake).values()] == [
        ("failed", "openai:made is down")
    ]


def test_the_next_model_of_a_chain_is_asked_for_what_the_first_left_open(
    lake: Lake,
) -> None:
    upsert(lake, [made(1), made(2)])
    first = ScriptedModel(
        lambda text: unsupported(text) if "1001" in text else honest(text),
        "openai:cheap",
    )
    second = ScriptedModel(name="anthropic:dear")
    enrich(lake, enricher(first, second))
    assert {row.article_id: row.model for row in rows(lake).values()} == {
        "mec-00001": "anthropic:dear",
        "mec-00002": "openai:cheap",
    }
    assert (len(first.sent), len(second.sent)) == (2, 1)


def test_the_next_model_of_a_chain_is_requested_for_what_the_first_refuses_for_good(
    lake: Lake,
) -> None:
    upsert(lake, [made(1)])
    first = ScriptedModel(lambda _: replace(answered(""), stop="declined"))
    second = ScriptedModel(name="openai:second")
    enrich(lake, enricher(first, second))
    assert [(row.model, row.is_provisional) for row in rows(lake).values()] == [
        ("openai:second", False)
    ]


def test_a_chain_with_entities_sends_no_answered_article_to_the_next_model(
    lake: Lake,
) -> None:
    upsert(lake, [made(1)])
    first, second = ScriptedModel(), ScriptedModel(name="openai:second")
    names = ScriptedModel(lambda _: {"entities": []}, name="openai:names")
    by = enricher(
        first, second, entities=names.name, open_model={names.name: names}.__getitem__
    )
    enrich(lake, by)
    assert (len(first.sent), len(second.sent), len(names.sent)) == (1, 0, 1)


def test_a_call_that_fails_is_not_cached_and_is_made_again(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel(lambda _: ModelCallError("status 500: simulated", "retry"))
    enrich(lake, enricher(model))
    assert [(call.outcome, call.reason, call.usd) for call in lake.read(ModelCall)] == [
        ("failed", "status 500: simulated", 0.0)
    ] * 4
    model.answer = honest
    enrich(lake, enricher(model))
    assert rows(lake)["mec-00001"].enricher == "model"


def test_entities_are_found_in_the_text_by_us(lake: Lake) -> None:
    upsert(lake, [made(1)])
    finder = ScriptedModel(lambda _: ENTITIES, "openai:finder")
    model = ScriptedModel()
    by = enricher(
        model,
        entities="openai:finder",
        open_model={"openai:finder": finder}.__getitem__,
    )
    enrich(lake, by)
    row, text = rows(lake)["mec-00001"], made(1).text or ""
    found = json.loads(row.entities_json or "")
    assert row.entities == ("Ministério da Educação", "João Silva")
    assert [(one["kind"], one["count"], one["salience"]) for one in found] == [
        ("organisation", 2, 0.9),
        ("person", 1, 0.5),
    ]
    assert {text[start:end] for one in found for start, end in one["spans"]} == {
        "Ministério da Educação",
        "João Silva",
    }
    assert enrich(lake, by, re_enrich=True) == 0
    assert (len(model.sent), len(finder.sent)) == (1, 1)
    assert {call.kind for call in lake.read(ModelCall)} == {"enrich", "entities"}


def test_a_withdrawn_article_leaves_what_its_calls_cost_and_not_what_they_answered(
    lake: Lake,
) -> None:
    upsert(lake, [made(1), made(2)])
    enrich(lake, enricher(ScriptedModel()))
    lake.transact(lambda rows: withdraw(rows, [made(1)], "asked to", NOW))
    assert {
        call.article_id: call.answer_json is None for call in lake.read(ModelCall)
    } == {
        "mec-00001": True,
        "mec-00002": False,
    }
    assert (
        len(
            [
                cache
                for cache in lake.read(CachedEnrichment)
                if cache.enricher == "model"
            ]
        )
        == 1
    )
