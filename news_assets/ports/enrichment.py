"""Ports of enrichers, language models and their batches."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from news_assets.errors import ModelCallError
from news_assets.records.desks import ReasoningEffort
from news_assets.records.model_calls import Kind
from news_assets.records.reading import Enrichment

if TYPE_CHECKING:
    from concurrent.futures import Future


class Enricher(Protocol):
    """Determines theme, summary and keywords of a text. The four attributes are part of
    the cache key.
    """

    name: str
    model: str
    prompt_version: str
    taxonomy_version: str

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What is sent to a language model for one article, directly or in a batch.

    `instructions` are the same for many articles; `text` holds the article as data.
    `schema` is the JSON schema of the answer, an object, whose summary has at most
    `max_sentences` sentences. The answer has at most `max_tokens` tokens, reasoning
    included; `reasoning` (effort) and `temperature` are those of the model where they
    are None.
    """

    input_hash: str
    article_id: str
    desk: str
    agency: str
    day: date
    kind: Kind
    prompt_version: str
    instructions: str
    text: str
    schema: dict[str, Any]
    max_sentences: int
    max_tokens: int
    reasoning: ReasoningEffort | None = None
    temperature: float | None = None

    @property
    def chars(self) -> int:
        """Return how many characters are sent: instructions, article and schema."""
        return len(self.instructions) + len(self.text) + len(json.dumps(self.schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The answer of a language model as it came: `raw` is JSON, unless the model erred.

    Token counts are None where the provider did not state them. `stop` is `cut` where
    the answer ended at the limit of tokens, and `declined` where the model or a filter
    refused the content.
    """

    raw: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    elapsed_ms: int
    cache_write_tokens: int | None = None
    stop: Literal["", "cut", "declined"] = ""


class LanguageModel(Protocol):
    """A language model, called for many articles at a time. `name` is PROVIDER:MODEL.

    A call ends within `timeout_s` seconds.
    """

    name: str
    timeout_s: float

    def slots(self) -> int:
        """Return how many requests may be sent now, by the limits of the provider.

        Raises SettingsError: the model cannot be used.
        """
        ...

    def send(self, request: ModelRequest) -> "Future[ModelAnswer]":
        """Send one request, once; the future has the answer, or raises ModelCallError."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait."""
        ...


# What has become of a batch: what was run of an expired one has results, of a failed
# one nothing was run.
BatchState = Literal["running", "ended", "expired", "failed"]


class BatchedModel(Protocol):
    """A language model that answers batches of requests within a day. `name` is
    PROVIDER:MODEL.

    A batch has from `min_requests` to `max_requests` requests with different input
    hashes.
    """

    name: str
    min_requests: int
    max_requests: int

    def submit(self, requests: Sequence[ModelRequest], key: str) -> str:
        """Make a batch under this key (16 hexadecimal digits) and return the provider's
        id of it.

        Raises BatchError: it was not made; or, if transient, it is not known whether it
        was: look with `find`.
        """
        ...

    def find(self, key: str, since: datetime, count: int) -> str | None:
        """Return the id of the batch of `count` requests made under this key after
        `since`, None if there is none.

        Raises BatchError if that cannot be known now.
        """
        ...

    def state(self, batch_id: str) -> BatchState:
        """Return what has become of a batch. Raises BatchError if the provider does not
        say.
        """
        ...

    def collect(
        self, batch_id: str, key: str, input_hashes: Collection[str]
    ) -> Iterator[tuple[str, ModelAnswer | ModelCallError]]:
        """Yield the input hashes of requests that were run, of these, with their
        answers, in any order.

        Raises BatchError if the results could not be read.
        """
        ...
