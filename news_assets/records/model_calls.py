"""The ledger of calls of language models: one row for each call, also for those that failed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Final, Literal, NamedTuple

from news_assets.records.content import KEPT, stays_when_withdrawn

Kind = Literal["enrich", "entities"]
DIRECT: Final = "direct"
BATCH: Final = "batch"


@stays_when_withdrawn(loses_content=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of a language model for one input: what it cost and what it answered."""

    call_id: Annotated[str, "id of the call (UUID)", KEPT]
    input_hash: Annotated[str, "SHA-256 of title, text, enricher, model, prompt version and taxonomy version", KEPT]
    kind: Annotated[str, "what was asked for: enrich or entities", KEPT]
    desk: Annotated[str, "key of the desk of the article that the call was made for", KEPT]
    agency: Annotated[str, "key of its agency", KEPT]
    day: Annotated[date, "its partition day", KEPT]
    article_id: Annotated[str, "its id", KEPT]
    model: Annotated[str, "PROVIDER:MODEL, as NEWS_ENRICHER names it", KEPT]
    prompt_version: Annotated[str, "version of the prompt", KEPT]
    called_at: Annotated[datetime, "time of the call", KEPT]
    via: Annotated[str, "direct or batch", KEPT]
    batch_id: Annotated[str | None, "id of the provider's batch; none of a direct call", KEPT]
    input_tokens: Annotated[int | None, "tokens of the request; none if the provider did not say", KEPT]
    output_tokens: Annotated[int | None, "tokens of the answer; none if the provider did not say", KEPT]
    cached_tokens: Annotated[
        int | None, "those tokens of the request that the provider had cached; none if it did not say", KEPT
    ]
    cache_write_tokens: Annotated[
        int | None, "those tokens of the request that the provider stored in its cache, which some bill at more", KEPT
    ] = None
    usd: Annotated[float | None, "price in US dollars; none if it is unknown", KEPT]
    elapsed_ms: Annotated[int, "duration of the call in milliseconds", KEPT]
    outcome: Annotated[str, "ok, refused (the answer failed a check) or failed (no answer)", KEPT]
    reason: Annotated[str | None, "reason for an outcome other than ok"]
    answer_json: Annotated[str | None, "the model's answer as it came; dropped after a while"]


# `submitting`: perhaps made; `running`; `collected`; `failed`: refused, nothing was run; `lost`: it was never made.
BatchProgress = Literal["submitting", "running", "collected", "failed", "lost"]
OPEN: Final[tuple[BatchProgress, ...]] = ("submitting", "running")
CLOSED: Final[tuple[BatchProgress, ...]] = ("collected", "failed", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichmentBatch:
    """A batch of requests at a provider of language models; stored before it is sent."""

    batch_key: Annotated[str, "id under which the provider knows who made the batch (16 hexadecimal digits)"]
    batch_id: Annotated[str | None, "the provider's id; none while it is not known"]
    model: Annotated[str, "PROVIDER:MODEL, as NEWS_ENRICHER names it"]
    kind: Annotated[str, "what was asked for: enrich or entities"]
    desk: Annotated[str, "key of the desk of the articles"]
    prompt_version: Annotated[str, "version of the prompt"]
    submitted_at: Annotated[datetime, "time when it was sent"]
    progress: Annotated[str, "submitting, running, collected, failed or lost (was never made)"]
    reason: Annotated[str | None, "reason for `failed` and `lost`"]
    request_count: Annotated[int, "number of requests"]
    answer_count: Annotated[int, "number of requests with a result"]
    inputs_json: Annotated[str, "input hash and article id of each request, as JSON"]
    reserved_usd: Annotated[
        float | None, "upper estimate of the price, which counts as spent while the batch is open; none: price unknown"
    ] = None


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most that language models may cost, in US dollars; 0 for no limit. Days and months are those of UTC."""

    run: float = 0.0
    day: float = 0.0
    month: float = 0.0

    def __bool__(self) -> bool:
        return any((self.run, self.day, self.month))


@dataclass(frozen=True, slots=True)
class Spent:
    """What the ledger says was spent on this day and in this month, in US dollars, with the calls of other runs."""

    day: float = 0.0
    month: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The calls of one UTC day, desk and model, directly or in batches.

    `usd` is the sum of the known prices, None if none is known. `unpriced` counts the calls without one, of a model
    whose price is not known or for which the provider stated no tokens: they may have cost something.
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
    """The mean tokens of some calls; `cached` are a part of `input`."""

    input: int
    output: int
    cached: int


def total_usd(prices: Iterable[float | None]) -> float | None:
    """Return the exact sum of the known prices; None if none is known."""
    known = [Decimal(repr(usd)) for usd in prices if usd is not None]
    return float(sum(known)) if known else None
