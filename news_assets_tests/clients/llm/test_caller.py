"""Calls of language models, against a simulated server: limits, retries, and when a model is given up."""

import time
from collections.abc import Iterator

import pytest

from news_assets.clients.llm.caller import ConcurrentModel
from news_assets.errors import EnrichError
from news_assets.ports.enrichment import ModelAnswer, ModelRequest
from news_assets_tests.support.model_enrichment import enricher, honest, local, made, served
from news_assets_tests.support.model_server import Fault, ModelServer, Usage, model_server

PROVIDERS = (
    "openai:gpt-5-mini",
    "ollama:qwen3:8b",
    "anthropic:claude-haiku-4-5",
    "google-gla:gemini-2.5-flash",
    "bedrock:us.amazon.nova-lite-v1:0",
)
NAME = "openai:gpt-5-mini"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        running.answer = honest
        running.usage = lambda _asked, _raw: Usage(100, 20, 40)
        yield running


def requests(count: int, name: str = NAME) -> list[ModelRequest]:
    by = enricher()
    articles = [made(n) for n in range(count)]
    return [by.request(one, local().enrich(one.title or "", one.text or "", "pt"), name, by.prompt) for one in articles]


def answers(model: ConcurrentModel, asked: list[ModelRequest]) -> dict[str, ModelAnswer | str]:
    try:
        groups = list(model.answer_all(asked))
    finally:
        model.close()
    return {r.article_id: a if isinstance(a, ModelAnswer) else str(a) for group in groups for r, a in group}


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_answers_with_its_tokens(server: ModelServer, name: str) -> None:
    found = answers(served(name), requests(2, name))
    tokens = {(a.input_tokens, a.output_tokens) for a in found.values() if isinstance(a, ModelAnswer)}
    assert len(found) == 2
    assert tokens == {(100, 20)}


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.SERVER_ERROR])
def test_every_provider_is_asked_again_after_a_passing_fault(server: ModelServer, name: str, fault: Fault) -> None:
    server.fail_next(fault)
    [found] = answers(served(name), requests(1, name)).values()
    assert isinstance(found, ModelAnswer)
    assert len(server.seen) == 2


def test_retry_after_holds_back_all_calls(server: ModelServer) -> None:
    server.retry_after_s = 1
    server.fail_next(Fault.RATE_LIMITED)
    begun = time.monotonic()
    found = answers(served(NAME, concurrency=1), requests(3))
    assert time.monotonic() - begun >= 1
    assert (len(found), len(server.seen)) == (3, 4)


def test_calls_in_flight_are_bounded(server: ModelServer) -> None:
    server.latency_s = 0.05
    assert len(answers(served(NAME, concurrency=3), requests(12))) == 12
    assert server.most_in_flight == 3


def test_a_rate_is_kept(server: ModelServer) -> None:
    model = served(NAME, per_minute=4)
    assert model._rate_wait_s() == 0.0
    assert [model._rate_wait_s() == 0.0 for _ in range(4)] == [True, True, True, False]
    assert 59 < model._rate_wait_s() <= 60


def test_a_call_that_hangs_ends_at_its_limit(server: ModelServer) -> None:
    server.fault = lambda _text, _earlier: Fault.HANG
    assert list(answers(served(NAME, timeout_s=0.2), requests(1)).values()) == ["no answer within 0.2 s"]
    assert len(server.seen) == 2


def test_unstated_usage_is_unknown_and_not_zero(server: ModelServer) -> None:
    server.fail_next(Fault.NO_USAGE)
    [found] = answers(served(NAME), requests(1)).values()
    assert isinstance(found, ModelAnswer)
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (None, None, None)


@pytest.mark.parametrize("fault", [Fault.REFUSAL, Fault.EMPTY, Fault.CUT_JSON])
def test_a_useless_answer_costs_only_itself(server: ModelServer, fault: Fault) -> None:
    server.fail_next(fault)
    found = answers(served(NAME, concurrency=1), requests(2))
    assert len(found) == 2
    assert len(server.seen) == 2


def test_a_wrong_key_stops_at_once_with_one_reason_and_is_not_tried_again(server: ModelServer) -> None:
    server.fault = lambda _text, _earlier: Fault.UNAUTHORIZED
    model = served(NAME, concurrency=1)
    for _ in range(2):
        with pytest.raises(EnrichError, match=r"^openai:gpt-5-mini cannot be used: status 401: simulated 401$"):
            list(model.answer_all(requests(9)))
    model.close()
    assert len(server.seen) == 1


def test_a_model_is_given_up_after_failures_in_a_row(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("news_assets.clients.llm.caller.MAX_TRIES", 1)
    server.fault = lambda _text, _earlier: Fault.OVERLOADED
    model = served(NAME, concurrency=1, max_failures=3)
    seen: list[str] = []
    with pytest.raises(EnrichError, match=r"given up after 3 failures in a row, the last one: status 529"):
        seen.extend(str(answer) for group in model.answer_all(requests(9)) for _, answer in group)
    model.close()
    assert (len(seen), len(server.seen)) == (3, 3)
