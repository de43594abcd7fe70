"""Calls of language models, against a simulated server: answers, limits, and what each
failure means.
"""

import json
import socket
from collections.abc import Iterator

import pytest

from news_assets.clients.llm.calls import ConcurrentModel, failed_call
from news_assets.errors import ModelCallError
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.records.desks import EnrichRules
from news_assets_tests.support.model_enrichment import enricher, honest, made, served
from news_assets_tests.support.model_server import (
    Fault,
    ModelServer,
    Usage,
    model_server,
)

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
    return [
        by.request(made(n), name, by.prompt, None, EnrichRules()) for n in range(count)
    ]


def answers(
    model: ConcurrentModel, sent: list[ModelRequest]
) -> list[ModelAnswer | ModelCallError]:
    calls = [model.send(request) for request in sent]
    try:
        return [received(call.exception(), call) for call in calls]
    finally:
        model.close()


def received(error: BaseException | None, call: object) -> ModelAnswer | ModelCallError:
    if error is None:
        return call.result()  # type: ignore[attr-defined, no-any-return]
    assert isinstance(error, ModelCallError)
    return error


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_answers_with_its_tokens(server: ModelServer, name: str) -> None:
    found = answers(served(name), requests(2, name))
    assert {
        (a.input_tokens, a.output_tokens) for a in found if isinstance(a, ModelAnswer)
    } == {(100, 20)}
    assert len(found) == 2


def test_ollamas_own_api_gets_a_window_for_the_whole_request(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "ollama:qwen3:8b"
    monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
    [request] = requests(1, name)
    [found] = answers(served(name), [request])
    body = server.seen[0].body
    assert isinstance(found, ModelAnswer)
    assert json.loads(found.raw)["theme"] == "education"
    assert (found.input_tokens, found.output_tokens, found.stop) == (100, 20, "")
    assert body["format"] == request.schema
    assert body["options"]["num_ctx"] * 2.5 > request.chars + 2.5 * request.max_tokens


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        *(
            (Fault.RATE_LIMITED, "rest"),
            (Fault.SERVER_ERROR, "retry"),
            (Fault.UNAUTHORIZED, "fatal"),
        ),
        *((Fault.PAGE, "retry"), (Fault.REDIRECT, "retry")),
    ],
)
def test_failures_of_ollamas_own_api_have_the_same_kinds(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, fault: Fault, kind: str
) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
    server.fail_next(fault)
    [found] = answers(served("ollama:qwen3:8b"), requests(1, "ollama:qwen3:8b"))
    assert isinstance(found, ModelCallError)
    assert (found.kind, len(server.seen)) == (kind, 1)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMITED, "rest"),
        (Fault.SERVER_ERROR, "retry"),
        (Fault.UNAUTHORIZED, "fatal"),
    ],
)
def test_every_provider_is_sent_each_request_once(
    server: ModelServer, name: str, fault: Fault, kind: str
) -> None:
    server.fail_next(fault)
    [found] = answers(served(name), requests(1, name))
    assert isinstance(found, ModelCallError)
    assert (found.kind, len(server.seen)) == (kind, 1)


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "google-gla:gemini-2.5-flash"],
)
@pytest.mark.parametrize("fault", [Fault.REDIRECT, Fault.PAGE])
def test_what_no_model_answered_is_not_followed_and_costs_nothing(
    server: ModelServer, name: str, fault: Fault
) -> None:
    server.fail_next(fault)
    [found] = answers(served(name), requests(1, name))
    assert isinstance(found, ModelCallError)
    assert (found.kind, len(server.seen)) == ("retry", 1)


def test_a_server_that_is_away_was_sent_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as taken:  # bound, and never listening
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv(
            "OPENAI_BASE_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        )
        [found] = answers(served(NAME), requests(1))
    assert isinstance(found, ModelCallError)
    assert found.kind == "retry"


def test_a_senseless_retry_after_is_a_day() -> None:
    from pydantic_ai.exceptions import ModelHTTPError

    headers = {"retry-after": "9" * 30}
    assert (
        failed_call(
            ModelHTTPError(429, "made", {"message": "slow"}, headers=headers), 60
        ).wait_s
        == 86_400
    )


def test_slots_are_bounded_by_calls_in_flight_and_by_calls_a_minute(
    server: ModelServer,
) -> None:
    server.latency_s = 0.2
    model = served(NAME, concurrency=3, per_minute=5)
    assert model.slots() == 3
    calls = [model.send(request) for request in requests(3)]
    assert model.slots() == 0
    for call in calls:
        call.result()
    model.send(requests(1)[0]).result()
    assert model.slots() == 1
    model.close()


def test_a_call_that_hangs_ends_at_its_limit_and_was_perhaps_billed(
    server: ModelServer,
) -> None:
    server.fault = lambda _text, _earlier: Fault.HANG
    [found] = answers(served(NAME, timeout_s=0.2), requests(1))
    assert isinstance(found, ModelCallError)
    assert (str(found), found.kind) == ("no answer within 0.2 s", "unanswered")


def test_unstated_usage_is_unknown_and_not_zero(server: ModelServer) -> None:
    server.fail_next(Fault.NO_USAGE)
    [found] = answers(served(NAME), requests(1))
    assert isinstance(found, ModelAnswer)
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == (
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "google-gla:gemini-2.5-flash"],
)
@pytest.mark.parametrize(
    ("fault", "stop"), [(Fault.REFUSAL, "declined"), (Fault.CUT_JSON, "cut")]
)
def test_a_refusal_and_a_cut_answer_are_known_as_such(
    server: ModelServer, name: str, fault: Fault, stop: str
) -> None:
    server.fail_next(fault)
    [found] = answers(served(name), requests(1, name))
    assert isinstance(found, ModelAnswer)
    assert found.stop == stop


@pytest.mark.parametrize(
    ("status", "message", "kind", "window"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000", "too_long", 8192),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "too_long", 200_000),
        (400, "input token count (1100000) exceeds the maximum number of tokens (1,048,576)", "too_long", 1_048_576),
        (413, "Request too large", "too_long", None),
        (422, "Unprocessable", "rejected", None),
        (400, "Your credit balance is too low to access the API", "fatal", None),
        (400, "The response was filtered due to content management policy", "declined", None),
        (429, "You exceeded your current quota (insufficient_quota)", "fatal", None),
        (429, "Rate limit reached", "rest", None),
        (529, "Overloaded", "retry", None),
        (404, "The model does not exist", "fatal", None),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model.", "fatal", None),
        (400, "max_tokens: 8000 > 4096, the maximum allowed number of output tokens", "fatal", None),
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", "fatal", None),
        (400, "API key not valid. Please pass a valid API key.", "fatal", None),
        (400, "max_tokens is too large: the model's maximum context length is 4096 tokens", "too_long", 4096),
    ],
)  # fmt: skip
def test_what_a_status_means(
    status: int, message: str, kind: str, window: int | None
) -> None:
    from pydantic_ai.exceptions import ModelHTTPError

    error = failed_call(ModelHTTPError(status, "made", {"message": message}), 60)
    assert (error.kind, error.window_tokens) == (kind, window)


def test_instructions_and_schema_are_marked_for_the_cache(server: ModelServer) -> None:
    answers(
        served("anthropic:claude-haiku-4-5"), requests(1, "anthropic:claude-haiku-4-5")
    )
    body = server.seen[0].body
    assert body["system"][-1]["cache_control"]["type"] == "ephemeral"
    assert body["tools"][-1]["cache_control"]["type"] == "ephemeral"
