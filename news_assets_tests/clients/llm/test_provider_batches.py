"""Batches of all four providers, on the simulated server."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from news_assets.clients.llm.provider_batches import ProviderBatches, open_batches
from news_assets.errors import BatchError, EnrichError, SettingsError
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets_tests.support.model_enrichment import served
from news_assets_tests.support.model_server import (
    BatchFault,
    Fault,
    ModelServer,
    model_server,
)

MODELS = (
    "anthropic:claude-haiku-4-5",
    "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "google-gla:gemini-2.5-flash",
    "openai:gpt-5-mini",
)
# each opens clients of four providers, which takes 0.2 s of CPU
SLOW = pytest.mark.slow
KEY = "0123456789abcdef"
EARLIER = datetime.now(UTC) - timedelta(days=100)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        running.answer = lambda text: {"theme": None, "summary": f"«{text}»\u2028"}
        running.min_records = 1
        yield running


def request(n: int) -> ModelRequest:
    schema = {
        "type": "object",
        "properties": {
            "theme": {"type": ["string", "null"]},
            "summary": {"type": "string"},
        },
        "required": ["theme", "summary"],
        "additionalProperties": False,
    }
    return ModelRequest(
        input_hash=f"{n:064x}"[::-1],
        article_id=f"a{n}",
        desk="desk",
        agency="agency",
        day=date(2026, 11, 20),
        kind="enrich",
        prompt_version="1",
        instructions="Read the article.",
        text=f"<article>Notícia {n} <|im_start|>\u2028 fim</article>",
        schema=schema,
        max_sentences=2,
        max_tokens=4000,
    )


REQUESTS = {r.input_hash: r for r in map(request, range(6))}


def batches(model: str) -> ProviderBatches:
    return open_batches(
        model, "s3://bucket/batches", "arn:aws:iam::123456789012:role/batch"
    )


def collected(model: str, batch_id: str) -> dict[str, ModelAnswer | EnrichError]:
    found = batches(model).collect(batch_id, KEY, REQUESTS)
    return {REQUESTS[input_hash].article_id: answer for input_hash, answer in found}


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_sends_and_reads_what_direct_calls_do(
    server: ModelServer, model: str
) -> None:
    direct = served(model, concurrency=1)
    answered = {one.article_id: direct.send(one).result() for one in REQUESTS.values()}
    direct.close()
    bodies = [seen.body for seen in server.seen]
    server.seen.clear()

    batch_id = batches(model).submit(list(REQUESTS.values()), KEY)
    assert batches(model).state(batch_id) == "ended"
    in_batch = collected(model, batch_id)

    assert [seen.body for seen in server.seen] == bodies
    assert {seen.is_batch for seen in server.seen} == {True}
    assert len(in_batch) == len(REQUESTS)
    for article_id, answer in in_batch.items():
        told = answered[article_id]
        assert isinstance(answer, ModelAnswer)
        assert isinstance(told, ModelAnswer)
        assert (
            answer.raw,
            answer.input_tokens,
            answer.output_tokens,
            answer.cached_tokens,
        ) == (
            told.raw,
            told.input_tokens,
            told.output_tokens,
            told.cached_tokens,
        )
        assert f"Notícia {article_id[1:]} " in json.loads(answer.raw)["summary"]


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_runs_before_it_ends(server: ModelServer, model: str) -> None:
    server.batch_polls = 2
    batch_id = batches(model).submit(list(REQUESTS.values()), KEY)
    assert [batches(model).state(batch_id) for _ in range(2)] == ["running", "ended"]


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_whose_reply_was_lost_is_found_by_its_key(
    server: ModelServer, model: str
) -> None:
    assert batches(model).find(KEY, EARLIER, len(REQUESTS)) is None
    server.batch_faults = [BatchFault.LOST_REPLY]
    with pytest.raises(BatchError) as raised:
        batches(model).submit(list(REQUESTS.values()), KEY)
    assert raised.value.is_transient
    found = batches(model).find(KEY, EARLIER, len(REQUESTS))
    assert found == server.jobs[0].id
    assert len(collected(model, found)) == len(REQUESTS)
    assert batches(model).find("f" * 16, EARLIER, len(REQUESTS)) is None
    assert set(server.paid.values()) == {1}


@pytest.mark.parametrize("model", MODELS)
def test_a_refused_batch_was_not_made(server: ModelServer, model: str) -> None:
    server.batch_faults = [BatchFault.REFUSED]
    with pytest.raises(BatchError) as raised:
        batches(model).submit(list(REQUESTS.values()), KEY)
    assert not raised.value.is_transient
    assert model in str(raised.value)
    assert server.jobs == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("fault", "state", "count"),
    [
        pytest.param(BatchFault.EXPIRED, "expired", 0, marks=SLOW),
        (BatchFault.HALF_EXPIRED, "expired", 3),
        pytest.param(BatchFault.FAILED, "failed", 0, marks=SLOW),
        (BatchFault.MISSING_IDS, "ended", 4),
        pytest.param(BatchFault.UNKNOWN_IDS, "ended", 6, marks=SLOW),
    ],
)
def test_what_was_run_is_collected(
    server: ModelServer, model: str, fault: BatchFault, state: str, count: int
) -> None:
    server.batch_faults = [fault]
    batch_id = batches(model).submit(list(REQUESTS.values()), KEY)
    assert batches(model).state(batch_id) in (
        state,
        "ended" if model.startswith("anthropic") else state,
        "expired",
    )
    assert len(collected(model, batch_id)) == count
    assert sum(server.paid.values()) == (6 if state == "ended" else count)


@pytest.mark.parametrize("model", MODELS)
def test_the_first_of_two_results_counts(server: ModelServer, model: str) -> None:
    server.batch_faults = [BatchFault.DUPLICATE_IDS]
    answers = collected(model, batches(model).submit(list(REQUESTS.values()), KEY))
    assert len(answers) == len(REQUESTS)
    assert all(
        isinstance(a, ModelAnswer) and "Notícia" in a.raw for a in answers.values()
    )


@pytest.mark.parametrize("model", MODELS)
def test_a_failed_request_is_an_error_of_its_own(
    server: ModelServer, model: str
) -> None:
    server.fail_next(Fault.SERVER_ERROR, Fault.REFUSAL, Fault.EMPTY)
    answers = collected(model, batches(model).submit(list(REQUESTS.values()), KEY))
    assert isinstance(answers["a0"], EnrichError)
    assert "500" in str(answers["a0"])
    assert isinstance(answers["a2"], EnrichError) or answers["a2"].raw == ""
    assert all(isinstance(answers[f"a{n}"], ModelAnswer) for n in range(3, 6))


def test_a_job_on_bedrock_is_made_once_for_its_key(server: ModelServer) -> None:
    first = batches(MODELS[1]).submit(list(REQUESTS.values()), KEY)
    assert batches(MODELS[1]).submit(list(REQUESTS.values()), KEY) == first
    assert set(server.paid.values()) == {1}


def test_a_batch_of_anthropic_is_not_known_before_it_is_over(
    server: ModelServer,
) -> None:
    server.batch_polls, server.batch_faults = 2, [BatchFault.LOST_REPLY]
    model = batches(MODELS[0])
    with pytest.raises(BatchError):
        model.submit(list(REQUESTS.values()), KEY)
    with pytest.raises(BatchError, match="not over yet") as raised:
        model.find(KEY, EARLIER, len(REQUESTS))
    assert raised.value.is_transient
    assert model.state(server.jobs[0].id) == "ended"
    assert model.find(KEY, EARLIER, len(REQUESTS)) == server.jobs[0].id


@pytest.mark.parametrize("model", MODELS)
def test_no_connection_is_a_failure_that_may_pass(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server() as running:
        environment = running.environment
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BatchError) as raised:
        batches(model).find(KEY, EARLIER, 1)
    assert raised.value.is_transient


def test_a_provider_without_batches_is_a_mistake_of_the_settings(
    server: ModelServer,
) -> None:
    with pytest.raises(SettingsError, match="no batches of this provider"):
        open_batches("ollama:qwen3")
    with pytest.raises(SettingsError, match="NEWS_BEDROCK_BATCH_FOLDER"):
        open_batches(MODELS[1])
