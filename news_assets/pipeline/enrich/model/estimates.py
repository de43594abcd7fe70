"""What a request to a language model is expected to cost, and the most that it can
cost.
"""

import json
from datetime import datetime

from news_assets.pipeline.enrich.model.prices import price_usd
from news_assets.ports.services import ModelRequest
from news_assets.records.model_calls import Kind, Tokens

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
    """Return the tokens of the request, of the answer, and those read from the
    provider's cache.

    `known` are those of earlier calls of the same model, kind and prompt.
    """
    if known:
        sent = round(request.chars / known.chars_per_token)
        return sent, round(known.output), round(sent * known.cached_share)
    in_text = len(request.text) / CHARS_PER_TOKEN
    answered = min(
        OUTPUT_TOKENS[request.kind], round(_FORM_TOKENS + _OUTPUT_SHARE * in_text)
    )
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
