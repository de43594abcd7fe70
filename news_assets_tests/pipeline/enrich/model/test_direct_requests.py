"""Requests to language models, one row of the ledger for each: claims, retries, closed
inputs, ceilings, rests.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from news_assets.errors import CallFailure, ModelCallError
from news_assets.pipeline.enrich.model.ledger import Budget, Ledger
from news_assets.pipeline.enrich.model.prices import most_usd
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import EnrichRules
from news_assets.records.model_calls import Ceilings, ModelCall, ModelState
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import spent
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import (
    LATER,
    NOW,
    ScriptedModel,
    answered,
    desk,
    enrich,
    enricher,
    honest,
    made,
    rows,
)

PRICED = "openai:gpt-5-mini"


def failing(kind: CallFailure, times: int, **given: Any) -> Callable[[str], Any]:
    """Fail so many times with each text, and then answer."""
    seen: dict[str, int] = {}

    def answer(text: str) -> Any:
        seen[text] = seen.get(text, 0) + 1
        return (
            ModelCallError(f"simulated {kind}", kind, **given)
            if seen[text] <= times
            else honest(text)
        )

    return answer


def outcomes(lake: Lake) -> list[str]:
    return [
        call.outcome
        for call in sorted(lake.read(ModelCall), key=lambda call: call.call_id)
    ]


def test_each_request_has_a_row_of_its_own_with_a_price(lake: Lake) -> None:
    upsert(lake, [made(1)])
    enrich(lake, enricher(ScriptedModel(failing("unanswered", 1), PRICED)))
    first, second = sorted(lake.read(ModelCall), key=lambda call: call.outcome)
    assert (first.outcome, first.usd is not None, first.reserved_usd is not None) == (
        "failed",
        True,
        True,
    )
    assert (second.outcome, second.reserved_usd, second.claimed_until) == (
        "ok",
        None,
        None,
    )


def test_a_status_costs_nothing_and_is_retried_after_pauses(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel(failing("retry", 2), PRICED)
    enrich(lake, enricher(model))
    assert (sorted(outcomes(lake)), model.paused_s) == (["failed", "failed", "ok"], 3.0)
    assert [call.usd for call in lake.read(ModelCall) if call.outcome == "failed"] == [
        0.0,
        0.0,
    ]


@pytest.mark.parametrize("kind", ["rejected", "too_long"])
def test_rejected_articles_are_closed_after_two_responses_and_stop_nothing(
    lake: Lake, kind: CallFailure
) -> None:
    bad = {f"Título {n}" for n in range(8)}
    upsert(lake, [made(n, title=f"Título {n}") for n in range(12)])

    def answer(text: str) -> Any:
        is_bad = text.splitlines()[1].removeprefix("Title: ") in bad
        return ModelCallError("simulated 400", kind) if is_bad else honest(text)

    model = ScriptedModel(answer, concurrency=8)
    for now in (NOW, LATER, LATER + timedelta(hours=1)):
        enrich(lake, enricher(model), now=now)
    assert [row.enricher for _, row in sorted(rows(lake).items())] == ["local"] * 8 + [
        "model"
    ] * 4
    assert len(model.sent) == 2 * 8 + 4
    assert {row.is_provisional for row in rows(lake).values()} == {False}


def test_a_text_that_is_too_long_is_cut_to_the_window_that_the_error_states(
    lake: Lake,
) -> None:
    upsert(
        lake,
        [
            made(1, (made(1).text or "") + " palavra" * 5000),
            made(2, (made(2).text or "") + " termo" * 5000),
        ],
    )
    by = enricher(ScriptedModel(name="openai:made"))
    whole = by.request(
        made(1, "x" * 20_000), "openai:made", by.prompt, None, EnrichRules()
    )
    limit = whole.chars - 8_000

    def answer(request_text: str) -> Any:
        sent = whole.chars - len(whole.text) + len(request_text)
        error = ModelCallError(
            "too long", "too_long", window_tokens=round(limit / 2.5) + 4000
        )
        return error if sent > limit else honest(request_text)

    model = ScriptedModel(answer)
    enrich(lake, enricher(model))
    assert {row.enricher for row in rows(lake).values()} == {"model"}
    assert len(model.sent) == 3  # the second article is cut before it is sent
    assert len(lake.read(ModelState)) == 1


def test_what_failed_before_is_sent_last(lake: Lake) -> None:
    upsert(lake, [made(n) for n in range(3)])
    model = ScriptedModel(failing("unanswered", 2))
    enrich(lake, enricher(model), only={"mec-00000"})
    model.sent.clear()
    enrich(lake, enricher(model), now=LATER)
    assert [
        request.article_id
        for request in model.sent
        if request.article_id == "mec-00000"
    ]
    assert (
        model.sent[-1].article_id == "mec-00000"
        or model.sent[0].article_id != "mec-00000"
    )


def test_a_refusal_closes_an_input_at_once_and_says_so(lake: Lake) -> None:
    upsert(lake, [made(1)])
    refusal = replace(answered(""), stop="declined")
    model = ScriptedModel(lambda _: refusal)
    for now in (NOW, LATER):
        enrich(lake, enricher(model), now=now)
    assert (len(model.sent), outcomes(lake)) == (1, ["declined"])
    assert (rows(lake)["mec-00001"].local_reason or "").startswith(
        "declined: the model or a content filter"
    )


def test_a_cut_answer_is_requested_once_more_with_twice_the_limit(lake: Lake) -> None:
    upsert(lake, [made(1)])
    cut = replace(answered('{"theme": "educ'), stop="cut")
    model = ScriptedModel(lambda _: cut)
    for now in (NOW, LATER):
        enrich(
            lake,
            enricher(model, answer_rules=desk_rules()),
            desk(max_tokens=700),
            now=now,
        )
    assert [request.max_tokens for request in model.sent] == [700, 1400]
    assert (
        rows(lake)["mec-00001"].local_reason
        == "cut: the answer ended at the limit of 1400 tokens"
    )


def desk_rules() -> Any:
    return enricher().answer_rules


@pytest.mark.slow  # several runs wait for each other
def test_a_claim_of_another_run_is_waited_for_and_its_answer_taken(lake: Lake) -> None:
    upsert(lake, [made(1)])
    by = enricher(ScriptedModel())
    request = by.request(made(1), "openai:made", by.prompt, None, EnrichRules())
    other = Ledger(lake, Budget(), lambda: NOW)
    claims = other.claim("openai:made", [request], 60)
    waiting = ScriptedModel()
    enrich(lake, enricher(waiting))
    assert (waiting.sent, rows(lake)["mec-00001"].local_reason) == (
        [],
        "another run has requested it",
    )
    assert waiting.paused_s > 60
    # the other run was killed
    enrich(lake, enricher(waiting), now=NOW + timedelta(seconds=61))
    assert (len(waiting.sent), len(claims.calls)) == (1, 1)
    assert sorted(outcomes(lake)) == ["ok", "sent"]


@pytest.mark.parametrize("runs", [1, 4])
def test_runs_together_keep_a_ceiling(lake: Lake, runs: int) -> None:
    upsert(lake, [made(n) for n in range(20)])
    most = ModelAnswer(
        raw="?", input_tokens=2000, output_tokens=4000, cached_tokens=0, elapsed_ms=1
    )
    ceiling = 0.03
    for _ in range(runs):
        budget = Budget(Ceilings(day=ceiling), spent)
        enrich(
            lake,
            enricher(
                ScriptedModel(lambda _: most, PRICED, concurrency=8), budget=budget
            ),
        )
    paid = sum(call.usd or 0.0 for call in lake.read(ModelCall))
    assert 0.5 * ceiling < paid <= ceiling
    assert any(
        "NEWS_MAX_USD_PER_DAY is reached" in (row.local_reason or "")
        for row in rows(lake).values()
    )


def test_what_is_reserved_for_a_call_in_flight_counts_in_other_runs(lake: Lake) -> None:
    by = enricher(ScriptedModel(name=PRICED))
    first, second = (
        by.request(made(n), PRICED, by.prompt, None, EnrichRules()) for n in (1, 2)
    )
    most = most_usd(PRICED, first, NOW, is_batch=False) or 0.0
    claim = [
        Ledger(lake, Budget(Ceilings(month=1.5 * most), spent), lambda: NOW).claim
        for _ in range(2)
    ]
    assert len(claim[0](PRICED, [first], 60).calls) == 1
    refused = claim[1](PRICED, [second], 60)
    assert (
        refused.calls,
        refused.refusal.startswith("NEWS_MAX_USD_PER_MONTH is reached"),
    ) == ({}, True)


@pytest.mark.slow  # several runs wait for each other
def test_a_long_retry_after_is_a_rest_for_all_runs(lake: Lake) -> None:
    upsert(lake, [made(1), made(2)])
    model = ScriptedModel(lambda _: ModelCallError("slow down", "rest", wait_s=600))
    enrich(lake, enricher(model))
    enrich(lake, enricher(ScriptedModel()), now=NOW + timedelta(seconds=599))
    assert (len(model.sent), {row.enricher for row in rows(lake).values()}) == (
        1,
        {"local"},
    )
    after = ScriptedModel()
    enrich(lake, enricher(after), now=NOW + timedelta(seconds=601))
    assert (len(after.sent), {row.enricher for row in rows(lake).values()}) == (
        2,
        {"model"},
    )


def test_an_exhausted_account_is_found_out_with_one_request(lake: Lake) -> None:
    upsert(lake, [made(n) for n in range(5)])
    model = ScriptedModel(lambda _: ModelCallError("insufficient_quota", "fatal"))
    for _ in range(3):
        enrich(lake, enricher(model))
    assert len(model.sent) == 1


def test_a_model_is_given_up_after_inputs_in_a_row_without_an_answer(
    lake: Lake,
) -> None:
    upsert(lake, [made(n) for n in range(20)])
    model = ScriptedModel(lambda _: ModelCallError("status 529", "retry"))
    enrich(lake, enricher(model, max_failures=3))
    assert len(model.sent) <= 3 + 1
    reasons = {row.local_reason for row in rows(lake).values()}
    assert any(
        "given up after 3 failures in a row, the last one: status 529" in (one or "")
        for one in reasons
    )


def test_the_local_row_is_stored_before_the_first_request(lake: Lake) -> None:
    upsert(lake, [made(1)])
    seen: list[EnrichedArticle] = []

    def answer(text: str) -> Any:
        seen.extend(lake.read(EnrichedArticle))
        return honest(text)

    enrich(lake, enricher(ScriptedModel(answer)))
    assert [(row.enricher, row.is_provisional) for row in seen] == [("local", True)]
    assert rows(lake)["mec-00001"].enricher == "model"


def test_local_only_leaves_the_models_to_another_run(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel()
    enrich(lake, enricher(model), local_only=True)
    assert (model.sent, rows(lake)["mec-00001"].enricher) == ([], "local")
    enrich(lake, enricher(model))
    assert rows(lake)["mec-00001"].enricher == "model"


def test_settings_of_a_desk_go_before_those_of_the_environment(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = ScriptedModel()
    enrich(
        lake, enricher(model), desk(reasoning="low", temperature=0.0, max_tokens=900)
    )
    sent: ModelRequest = model.sent[0]
    assert (sent.reasoning, sent.temperature, sent.max_tokens) == ("low", 0.0, 900)


def test_time_of_a_call_orders_its_id(lake: Lake) -> None:
    upsert(lake, [made(1)])
    enrich(lake, enricher(ScriptedModel()))
    [call] = lake.read(ModelCall)
    assert datetime.fromtimestamp(int(call.call_id[:12], 16) / 1000, NOW.tzinfo) == NOW
