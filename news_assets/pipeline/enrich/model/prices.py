"""Prices of calls of language models: what an answer cost, and what a request is expected
to cost and can cost at most.

They come from the package genai-prices. Nothing is fetched: a price is as old as the
installed package. A price that is not known is None and never 0; the only price of 0 is
that of a model that runs on the user's own machine.
"""

import json
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.records.model_calls import Kind, Tokens

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

# runs on the user's own machine: its calls have no price
_LOCAL = frozenset({"ollama"})
# Models that Ollama passes on to its own servers; they are not free.
_HOSTED_SUFFIXES = ("-cloud", ":cloud")

# Names of providers as pydantic-ai writes them, with the ids of genai-prices where
# these differ.
_PROVIDER_IDS = {
    "bedrock": "aws",
    "google-cloud": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "openai-chat": "openai",
    "openai-responses": "openai",
}

# Providers that document half the price for batches of every model. It applies where
# genai-prices does not state a model's batch price: to all of Bedrock, and elsewhere to
# old models and to calls before 2026-10-14.
_HALF_IN_BATCHES = frozenset({"anthropic", "aws", "google", "openai"})
_BATCH = {"processing": "batch"}


def price_usd(
    model: str,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int,
    at: datetime,
    *,
    is_batch: bool,
    cache_write_tokens: int = 0,
) -> float | None:
    """Return what a call costs in US dollars; None if the price is not known.

    Args:
        model: Provider and model as NEWS_ENRICHER names them, for example
            `openai:gpt-5-mini`.
        input_tokens: Tokens of the request, with those that were read from the
            provider's cache or stored in it.
        output_tokens: Tokens of the answer, with those that were spent on reasoning.
        cached_tokens: How many of the input tokens were read from the provider's cache.
        at: When the call was made; prices change.
        is_batch: Whether it was part of a batch, which most providers bill at half the
            price.
        cache_write_tokens: How many of the input tokens the provider stored in its
            cache; some bill these at more.
    """
    provider, _, name = model.partition(":")
    if provider in _LOCAL:
        return None if name.endswith(_HOSTED_SUFFIXES) else 0.0
    tokens = (input_tokens, output_tokens, cached_tokens, cache_write_tokens)
    found = _calculate(
        _PROVIDER_IDS.get(provider, provider), name, tokens, at, is_batch=is_batch
    )
    if found is None:
        return None
    if not _prices_tokens(found):
        return None
    if not is_batch or _has_batch_price(found, at):
        return float(found.total_price)
    if found.provider.id in _HALF_IN_BATCHES:
        return float(found.total_price / Decimal(2))
    return None


def answer_usd(
    model: str, answer: ModelAnswer, at: datetime, *, is_batch: bool = False
) -> float | None:
    """Return what an answer costs.

    None if the price is not known, or the provider did not state the tokens.
    """
    if answer.input_tokens is None:
        return None
    if answer.output_tokens is None:
        return None
    tokens = answer.input_tokens, answer.output_tokens, answer.cached_tokens or 0
    written = answer.cache_write_tokens or 0
    return price_usd(model, *tokens, at, is_batch=is_batch, cache_write_tokens=written)


def context_window(model: str) -> int | None:
    """Return the context window of a model in tokens; None if it is not known."""
    from genai_prices.data_snapshot import get_snapshot

    provider, _, name = model.partition(":")
    try:
        _, found = get_snapshot().find_provider_model(
            name, None, _PROVIDER_IDS.get(provider, provider), None
        )
    except LookupError:
        return None
    return found.context_window


def price_text(usd: float | None) -> str:
    """Return a price for people: small ones with more digits, and an unknown one as
    such.
    """
    if usd is None:
        return "unknown"
    if usd == 0:
        return "0"
    if usd >= 100:
        return f"{usd:,.2f}"
    if usd >= 1:
        return f"{usd:.4f}"
    return f"{usd:.6f}"


def _calculate(
    provider_id: str,
    name: str,
    tokens: tuple[int, int, int, int],
    at: datetime,
    *,
    is_batch: bool,
) -> "PriceCalculation | None":
    from genai_prices import Usage, calc_price

    input_tokens, output_tokens, read, written = tokens
    try:
        return calc_price(
            Usage(
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cache_read_tokens=read,
                cache_write_tokens=written,
            ),
            name,
            provider_id=provider_id,
            genai_request_timestamp=at,
            price_context=_BATCH if is_batch else None,
        )
    except (
        LookupError,
        ValueError,
    ):  # an unknown model; counts that contradict each other
        return None


def _prices_tokens(found: "PriceCalculation") -> bool:
    """Return whether the price of text in both directions is stated.

    Without it the sum of the others would be 0.
    """
    price = found.model_price
    return None not in (price.input_mtok, price.output_mtok)


def _has_batch_price(found: "PriceCalculation", at: datetime) -> bool:
    # A model that another provider offers has no batch price of its own there, and is
    # not in that provider's list.
    if not any(found.model is model for model in found.provider.models):
        return False
    for variant in found.model.price_variants or ():
        if variant.when != _BATCH:
            continue
        if variant.constraint is None:
            return True
        if variant.constraint.active(at):
            return True
    return False


CHARS_PER_TOKEN = (
    # of news in Portuguese and English, with the instructions and the schema around it
    4.0
)
OUTPUT_TOKENS: dict[Kind, int] = {"theme": 15, "enrich": 450, "entities": 300}
_OUTPUT_SHARE = (
    # most tokens of an answer for each token of a short article, which has less to
    # quote
    1.2
)
_FORM_TOKENS = 90  # the fields and brackets of an answer

_LEAST_BYTES_PER_TOKEN = 2.5  # in UTF-8; fewer than texts of any script have
# at more than other tokens of the request
_BILLS_CACHE_WRITES = ("anthropic", "bedrock")


def expected_tokens(
    request: ModelRequest, known: Tokens | None = None
) -> tuple[int, int, int]:
    """Return the expected tokens: sent, answered, and read from the provider's cache.

    `known` has the tokens of earlier calls of the same model, kind and prompt.
    """
    if known:
        sent = round(request.chars / known.chars_per_token)
        return sent, round(known.output), round(sent * known.cached_share)
    in_text = len(request.text) / CHARS_PER_TOKEN
    of_short_text = round(_FORM_TOKENS + _OUTPUT_SHARE * in_text)
    answered = min(OUTPUT_TOKENS[request.kind], of_short_text)
    return round(request.chars / CHARS_PER_TOKEN), answered, 0


def expected_usd(
    model: str,
    request: ModelRequest,
    at: datetime,
    known: Tokens | None = None,
    *,
    is_batch: bool,
) -> float | None:
    """Return the price that a call is expected to have, in US dollars.

    None if the model's price is not known.
    """
    return price_usd(model, *expected_tokens(request, known), at, is_batch=is_batch)


def most_usd(
    model: str, request: ModelRequest, at: datetime, *, is_batch: bool
) -> float | None:
    """Return the most that a call can cost, in US dollars.

    None if the model's price is not known.
    """
    sent = f"{request.instructions}{request.text}{json.dumps(request.schema)}"
    tokens = round(len(sent.encode("utf-8", "surrogatepass")) / _LEAST_BYTES_PER_TOKEN)
    written = tokens if model.startswith(_BILLS_CACHE_WRITES) else 0
    return price_usd(
        model,
        tokens,
        request.max_tokens,
        0,
        at,
        is_batch=is_batch,
        cache_write_tokens=written,
    )
