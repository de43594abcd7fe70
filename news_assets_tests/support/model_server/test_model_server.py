"""The server, called by the real clients of every provider."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    NativeOutput,
    PromptedOutput,
    ToolOutput,
    UnexpectedModelBehavior,
)
from pydantic_ai.exceptions import ModelHTTPError

from news_assets_tests.support.model_server import (
    Fault,
    ModelServer,
    Usage,
    model_server,
)

MODELS = (
    "openai:gpt-5-mini",
    "openai-chat:gpt-5-mini",
    "anthropic:claude-haiku-4-5",
    "google:gemini-2.5-flash",
    "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "ollama:qwen3",
)
OUTPUTS = {"tool": ToolOutput, "schema": NativeOutput, "prompted": PromptedOutput}


class Read(BaseModel):
    theme: str
    summary: str


ANSWER = {"theme": "04.01", "summary": "A ministra abriu a escola."}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        running.answer = lambda _text: ANSWER
        yield running


def ask(model: str, output: Any = ToolOutput, text: str = "O texto.") -> Any:
    # Without a limit of tokens the clients stream the answers of models that may answer
    # at length.
    agent = Agent(
        model,
        output_type=output(Read),
        instructions="Read it.",
        retries=0,
        model_settings={"max_tokens": 2000},
    )

    async def run() -> Any:
        async with agent:
            return await agent.run(text)

    return asyncio.run(run())


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize("model", MODELS)
def test_every_client_reads_a_structured_answer(
    server: ModelServer, model: str, output: Any
) -> None:
    server.usage = lambda _asked, _raw: Usage(100, 20, cached=30)
    result = ask(model, output)
    assert result.output == Read(**ANSWER)
    assert (
        result.usage.input_tokens,
        result.usage.output_tokens,
        result.usage.cache_read_tokens,
    ) == (100, 20, 30)
    (seen,) = server.seen
    assert (seen.asked.model, seen.asked.text) == (model.split(":", 1)[1], "O texto.")
    assert seen.asked.instructions.startswith("Read it.")
    assert (seen.asked.tool is not None) == (output is ToolOutput)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", [Fault.CUT_JSON, Fault.REFUSAL, Fault.EMPTY])
def test_a_useless_answer_is_an_error_of_every_client(
    server: ModelServer, model: str, fault: Fault
) -> None:
    server.fail_next(fault)
    # pydantic-ai reads the first choice of a chat completion without looking whether
    # there is one.
    with pytest.raises((UnexpectedModelBehavior, IndexError)):
        ask(model)
    assert server.paid["O texto."] == 1


@pytest.mark.parametrize("model", MODELS)
def test_a_wrong_key_is_an_error_of_every_client(
    server: ModelServer, model: str
) -> None:
    server.fail_next(Fault.UNAUTHORIZED)
    with pytest.raises(ModelHTTPError) as raised:
        ask(model)
    assert raised.value.status_code == 401
    assert server.paid["O texto."] == 0


@pytest.mark.parametrize(
    "fault", [Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.SERVER_ERROR]
)
def test_a_client_retries_what_passes(server: ModelServer, fault: Fault) -> None:
    server.fail_next(fault)
    assert ask("anthropic:claude-haiku-4-5").output == Read(**ANSWER)
    assert server.calls["O texto."] == 2
    assert server.paid["O texto."] == 1


@pytest.mark.parametrize(
    "model", [name for name in MODELS if not name.startswith(("anthropic", "bedrock"))]
)
def test_a_missing_usage_is_no_error(server: ModelServer, model: str) -> None:
    server.fail_next(Fault.NO_USAGE)
    assert ask(model).output == Read(**ANSWER)


@pytest.mark.parametrize(
    "model", [name for name in MODELS if name.startswith(("anthropic", "bedrock"))]
)
def test_a_missing_usage_breaks_clients_whose_api_always_states_it(
    server: ModelServer, model: str
) -> None:
    server.fail_next(Fault.NO_USAGE)
    with pytest.raises((AttributeError, KeyError)):
        ask(model)


def test_wrong_codes_and_another_language_stand_in_the_answer(
    server: ModelServer,
) -> None:
    server.fail_next(Fault.WRONG_CODES, Fault.OTHER_LANGUAGE)
    wrong, german = ask("openai:gpt-5-mini").output, ask("openai:gpt-5-mini").output
    assert (wrong.theme, wrong.summary) == ("no-such-code", ANSWER["summary"])
    assert german.theme == ANSWER["theme"]
    assert "Regierung" in german.summary


def test_a_raw_string_is_sent_as_it_is(server: ModelServer) -> None:
    server.answer = lambda text: json.dumps(ANSWER | {"summary": text})
    assert ask("openai:gpt-5-mini", PromptedOutput).output.summary == "O texto."
