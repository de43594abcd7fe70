"""The ledger of language models: one row for each request, stored before the request is
sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Final, Literal, NamedTuple

from news_assets.records.content import KEPT, stays_when_withdrawn

Kind = Literal["theme", "enrich", "entities"]
DIRECT: Final = "direct"
BATCH: Final = "batch"


@stays_when_withdrawn(loses_content=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a language model for one input: what it cost and what was
    answered.

    The row is stored before the request is sent, with the outcome `sent`: it claims the
    input until `claimed_until` and reserves the most that the call can cost. The answer
    replaces it. The row of a run that was killed stays.
    """

    call_id: Annotated[
        str,
        "id of the call: milliseconds since 1970 in hexadecimal, and a random part",
        KEPT,
    ]
    input_hash: Annotated[
        str,
        "SHA-256 of title, text, enricher, model, prompt version and taxonomy version",
        KEPT,
    ]
    kind: Annotated[str, "what was requested: theme, enrich or entities", KEPT]
    desk: Annotated[
        str, "key of the desk of the article that the call was made for", KEPT
    ]
    agency: Annotated[str, "key of its agency", KEPT]
    day: Annotated[date, "its partition day", KEPT]
    article_id: Annotated[str, "its id", KEPT]
    model: Annotated[str, "PROVIDER:MODEL, as NEWS_ENRICHER names it", KEPT]
    prompt_version: Annotated[str, "version of the prompt", KEPT]
    called_at: Annotated[datetime, "time of the call", KEPT]
    via: Annotated[str, "direct or batch", KEPT]
    batch_id: Annotated[
        str | None, "id of the provider's batch; none of a direct call", KEPT
    ]
    input_tokens: Annotated[
        int | None, "tokens of the request; none if the provider did not say", KEPT
    ]
    output_tokens: Annotated[
        int | None, "tokens of the answer; none if the provider did not say", KEPT
    ]
    cached_tokens: Annotated[
        int | None,
        "those tokens of the request that the provider had cached; none if it did not say",
        KEPT,
    ]
    cache_write_tokens: Annotated[
        int | None,
        "those tokens of the request that the provider stored in its cache, which some bill at"
        " more",
        KEPT,
    ] = None
    usd: Annotated[
        float | None,
        "price in US dollars, an estimate where no answer states the tokens; none if it is unknown",
        KEPT,
    ]
    reserved_usd: Annotated[
        float | None,
        "the most that the call can cost, which counts for the ceilings until an answer states the"
        " tokens",
        KEPT,
    ] = None
    claimed_until: Annotated[
        datetime | None,
        "until when no other run sends this input; none after the call",
        KEPT,
    ] = None
    claimed_by: Annotated[
        str | None,
        "machine and number of the process that waits for the answer; none after the call, and in a"
        " batch",
        KEPT,
    ] = None
    sent_chars: Annotated[
        int | None, "characters of instructions, article and schema", KEPT
    ] = None
    elapsed_ms: Annotated[int, "duration of the call in milliseconds", KEPT]
    outcome: Annotated[
        str,
        "sent (in flight, or of a run that was killed), ok, refused (the answer failed a check),"
        " declined (the model or a filter refuses the content), rejected (the provider refuses the"
        " request) or failed (no answer)",
        KEPT,
    ]
    reason: Annotated[str | None, "reason for an outcome other than ok"]
    answer_json: Annotated[
        str | None, "the model's answer as it came; dropped after a while"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """What all runs know of a language model."""

    model: Annotated[str, "PROVIDER:MODEL, as NEWS_ENRICHER names it"]
    rests_until: Annotated[
        datetime | None,
        "no request is sent before (Retry-After, or after failures in a row)",
    ]
    reason: Annotated[str | None, "reason of the rest"]
    window_tokens: Annotated[
        int | None,
        "context window that the provider stated in an error; none: not known",
    ]


# `submitting`: perhaps made; `running`; `collected`; `failed`: refused, nothing was
# run; `lost`: it was never made.
_BatchProgress = Literal["submitting", "running", "collected", "failed", "lost"]
OPEN: Final[tuple[_BatchProgress, ...]] = ("submitting", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichmentBatch:
    """A batch of requests at a provider of language models; stored before it is sent."""

    batch_key: Annotated[
        str,
        "id under which the provider knows who made the batch (16 hexadecimal digits)",
        KEPT,
    ]
    batch_id: Annotated[
        str | None, "the provider's id; none while it is not known", KEPT
    ]
    model: Annotated[str, "PROVIDER:MODEL, as NEWS_ENRICHER names it", KEPT]
    kind: Annotated[str, "what was requested: enrich or entities", KEPT]
    desk: Annotated[str, "key of the desk of the articles", KEPT]
    prompt_version: Annotated[str, "version of the prompt", KEPT]
    submitted_at: Annotated[datetime, "time when it was sent", KEPT]
    progress: Annotated[
        str, "submitting, running, collected, failed or lost (was never made)", KEPT
    ]
    reason: Annotated[str | None, "reason for `failed` and `lost`"]
    request_count: Annotated[int, "number of requests", KEPT]
    answer_count: Annotated[int, "number of requests with a result", KEPT]
    inputs_json: Annotated[
        str, "input hash and article id of each request, as JSON", KEPT
    ]
    reserved_usd: Annotated[
        float | None, "upper estimate of the price; none: price unknown", KEPT
    ] = None


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most that language models may cost, in US dollars; 0 for no limit. Days and
    months are in UTC.
    """

    run: float = 0.0
    day: float = 0.0
    month: float = 0.0

    def __bool__(self) -> bool:
        return any((self.run, self.day, self.month))


@dataclass(frozen=True, slots=True)
class Spent:
    """What the ledger says was spent on this day and in this month, in US dollars, with
    the calls of other runs.
    """

    day: float = 0.0
    month: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The calls of one UTC day, desk and model, directly or in batches.

    `usd` is the sum of the known prices, None if none is known. `unpriced` counts the
    calls without one, of a model whose price is not known or for which the provider
    stated no tokens: they may have cost something.
    """

    called_on: date
    desk: str
    model: str
    via: str
    calls: int
    answered: int
    refused: int
    failed: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: float | None
    unpriced: int


class Tokens(NamedTuple):
    """What answered calls took: characters for each token of the request, mean tokens
    of the answer.

    `cached_share` is the share of the tokens of the request that the provider had
    cached.
    """

    chars_per_token: float
    output: float
    cached_share: float


def total_usd(prices: Iterable[float | None]) -> float | None:
    """Return the exact sum of the known prices; None if none is known."""
    known: list[Decimal] = []
    for usd in prices:
        if usd is not None:
            known.append(Decimal(repr(usd)))
    return float(sum(known)) if known else None
