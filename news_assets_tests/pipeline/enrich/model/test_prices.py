"""Prices per million tokens are written out as the providers publish them; the
arithmetic here is the test's own.
"""

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from news_assets.pipeline.enrich.model.prices import answer_usd, price_text, price_usd
from news_assets.ports.services import ModelAnswer

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def usd(
    input_tokens: int, output_tokens: int, cached: int, prices: tuple[str, str, str]
) -> float:
    """Return the bill: uncached input, output and cached input at dollars per million
    tokens.
    """
    a_million = Decimal(1_000_000)
    of_input, of_output, of_cached = (Decimal(price) for price in prices)
    return float(
        (
            (input_tokens - cached) * of_input
            + output_tokens * of_output
            + cached * of_cached
        )
        / a_million
    )


DIRECT = {
    "openai:gpt-5-mini": ("0.25", "2", "0.025"),
    "openai-chat:gpt-5-mini": ("0.25", "2", "0.025"),
    "openai-responses:gpt-5-mini-2025-08-07": ("0.25", "2", "0.025"),
    "anthropic:claude-haiku-4-5": ("1", "5", "0.10"),
    "google-gla:gemini-2.5-flash": ("0.30", "2.50", "0.03"),
    "google:gemini-2.5-flash-lite": ("0.10", "0.40", "0.01"),
    "google-vertex:gemini-2.5-flash": ("0.30", "2.50", "0.03"),
    "bedrock:amazon.nova-lite-v1:0": ("0.06", "0.24", "0.015"),
    "bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0": ("1.1", "5.5", "0.11"),
}


@pytest.mark.parametrize("model", DIRECT)
def test_a_direct_call_costs_its_tokens_at_the_published_price(model: str) -> None:
    assert price_usd(model, 3_000, 400, 1_000, AT, is_batch=False) == usd(
        3_000, 400, 1_000, DIRECT[model]
    )


BATCHED = {
    "openai:gpt-5-mini": ("0.125", "1", "0.0125"),
    "anthropic:claude-haiku-4-5": ("0.5", "2.5", "0.05"),
    # Google's batches do not make its cache cheaper
    "google-gla:gemini-2.5-flash": (
        "0.15",
        "1.25",
        "0.03",
    ),
    "bedrock:amazon.nova-lite-v1:0": ("0.03", "0.12", "0.0075"),
}


@pytest.mark.parametrize("model", BATCHED)
def test_a_call_in_a_batch_costs_the_provider_s_batch_price(model: str) -> None:
    assert price_usd(model, 3_000, 400, 1_000, AT, is_batch=True) == usd(
        3_000, 400, 1_000, BATCHED[model]
    )


def test_a_batch_before_its_price_is_on_record_costs_the_documented_half() -> None:
    before = datetime(2026, 3, 1, tzinfo=UTC)
    half = usd(3_000, 400, 0, ("0.125", "1", "0"))
    assert price_usd("openai:gpt-5-mini", 3_000, 400, 0, before, is_batch=True) == half


def test_a_batch_of_a_provider_that_documents_no_half_has_no_known_price() -> None:
    assert (
        price_usd("deepseek:deepseek-chat", 3_000, 400, 0, AT, is_batch=False)
        is not None
    )
    assert price_usd("deepseek:deepseek-chat", 3_000, 400, 0, AT, is_batch=True) is None


@pytest.mark.parametrize(
    "model",
    [
        "openai:my-own-model",
        "nobody:gpt-5-mini",
        "openai",
        "openai:",
        "",
        "google-gla:gemma-3-27b-it",  # listed without a price
        "openai:tts-1",  # priced by characters only
    ],
)
@pytest.mark.parametrize("is_batch", [False, True])
def test_an_unknown_price_is_none_and_never_zero(model: str, is_batch: bool) -> None:
    assert price_usd(model, 3_000, 400, 0, AT, is_batch=is_batch) is None


@pytest.mark.parametrize("tokens", [(100, 10, 101), (-1, 10, 0)])
def test_counts_that_contradict_each_other_have_no_price(
    tokens: tuple[int, int, int],
) -> None:
    assert price_usd("openai:gpt-5-mini", *tokens, AT, is_batch=False) is None


def test_a_model_on_the_user_s_own_machine_costs_nothing() -> None:
    assert price_usd("ollama:llama3.2", 3_000, 400, 0, AT, is_batch=False) == 0.0


@pytest.mark.parametrize("model", ["ollama:gpt-oss:120b-cloud", "ollama:glm-5:cloud"])
def test_a_model_that_ollama_passes_on_is_not_free(model: str) -> None:
    assert price_usd(model, 3_000, 400, 0, AT, is_batch=False) is None


def test_the_price_is_that_of_the_day_of_the_call() -> None:
    # cut by 80 % on 2026-07-30
    before, after = (datetime(2026, month, 1, tzinfo=UTC) for month in (7, 8))
    earlier, later = (
        price_usd("openai:gpt-5.6-luna", 1_000, 100, 0, at, is_batch=False)
        for at in (before, after)
    )
    assert earlier is not None
    assert later == pytest.approx(earlier / 5)


def test_the_prices_are_loaded_by_the_first_question_only() -> None:
    program = (
        "import sys, news_assets.pipeline.enrich.model.prices as prices, datetime as d\n"
        "assert 'genai_prices' not in sys.modules\n"
        "prices.price_usd('ollama:llama3.2', 1, 1, 0, d.datetime(2026, 11, 20, tzinfo=d.UTC), is_batch=False)\n"
        "assert 'genai_prices' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (None, "unknown"),
        (0.0, "0"),
        (0.00001, "0.000010"),
        (0.25, "0.250000"),
        (2.5, "2.5000"),
        (1234.5, "1,234.50"),
    ],
)
def test_a_small_price_is_not_shown_as_zero_and_an_unknown_one_is_named(
    usd: float | None, text: str
) -> None:
    assert price_text(usd) == text


@pytest.mark.parametrize(
    ("model", "is_batch", "prices"),
    [
        ("openai:gpt-5.6-luna", False, ("0.20", "1.20", "0.02", "0.25")),
        ("openai:gpt-5.6-luna", True, ("0.10", "0.60", "0.01", "0.125")),
        ("anthropic:claude-haiku-4-5", False, ("1", "5", "0.10", "1.25")),
        # which takes nothing more for it
        (
            "openai:gpt-5-mini",
            False,
            ("0.25", "2", "0.025", "0.25"),
        ),
    ],
)
def test_input_that_the_provider_stores_in_its_cache_has_its_own_price(
    model: str, is_batch: bool, prices: tuple[str, str, str, str]
) -> None:
    plain, out, read, written = (Decimal(price) for price in prices)
    bill = (500 * plain + 400 * out + 1_000 * read + 1_500 * written) / 1_000_000
    assert price_usd(
        model, 3_000, 400, 1_000, AT, is_batch=is_batch, cache_write_tokens=1_500
    ) == float(bill)
    given = ModelAnswer(
        raw="",
        input_tokens=3_000,
        output_tokens=400,
        cached_tokens=1_000,
        elapsed_ms=1,
        cache_write_tokens=1_500,
    )
    assert answer_usd(model, given, AT, is_batch=is_batch) == float(bill)


def test_an_answer_without_tokens_has_no_price() -> None:
    unsaid = ModelAnswer(
        raw="", input_tokens=None, output_tokens=None, cached_tokens=None, elapsed_ms=1
    )
    assert answer_usd("openai:gpt-5-mini", unsaid, AT) is None
