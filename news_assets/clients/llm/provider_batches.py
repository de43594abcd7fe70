"""Batches of one model: requests in, answers out, within a day at half the price.

Implements `ports.BatchedModel`. pydantic-ai encodes each request and decodes each
result, so that a batch sends and reads what a direct call does. Which articles are sent,
and what is stored, is decided elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from news_assets.clients.llm.batch_apis import (
    AnthropicBatches,
    BatchApi,
    BedrockBatches,
    GeminiBatches,
    Offline,
    OpenAIBatches,
    Result,
    Sent,
)
from news_assets.clients.llm.calls import (
    answer_of,
    call_settings,
    failed_call,
    message_of,
)
from news_assets.clients.llm.provider_models import check_model, close_model, open_model
from news_assets.errors import (
    BatchError,
    ModelCallError,
    SettingsError,
    without_credentials,
)
from news_assets.ports.services import BatchState, ModelAnswer, ModelRequest
from news_assets.settings import variable_of

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

_T = TypeVar("_T")
# with a key of 16 characters below the 64 that Anthropic allows in an id
_HASH_CHARS: Final = 40
_MAY_PASS: Final = (408, 409, 425, 429)
_MAX_REASON_CHARS: Final = 200
# In place of the request of a result: what was sent makes no difference to how a
# response is read.
_ANY_REQUEST: Final = ModelRequest(
    input_hash="",
    article_id="",
    desk="",
    agency="",
    day=date.min,
    kind="enrich",
    prompt_version="",
    instructions="any",
    text="any",
    schema={
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    },
    max_sentences=1,
    max_tokens=1,
)


class ProviderBatches:
    """The batches of one model.

    `name` is PROVIDER:MODEL, `open_model` opens it for one operation.
    """

    def __init__(
        self, name: str, open_model: "Callable[[], Model]", api: BatchApi
    ) -> None:
        self.name = name
        self.min_requests = api.min_requests
        self.max_requests = api.max_requests
        self._open_model, self._api = open_model, api

    def submit(self, requests: Sequence[ModelRequest], key: str) -> str:
        """Make a batch under this key (16 hexadecimal digits) and return its id.

        Raises:
            BatchError: It was not made; or, if transient, it is not known whether it
                was: look with `find`.
        """

        async def make(model: "Model") -> str:
            offline = Offline()
            encoder = self._api.offline(self._open_model(), offline)
            sent = []
            for request in requests:
                custom_id = _custom_id(key, request.input_hash)
                sent.append(Sent(custom_id, await _body(encoder, offline, request)))
            return await self._api.make(model, sent, key)

        return self._run(make)

    def find(self, key: str, since: datetime, count: int) -> str | None:
        """Return the id of the batch that was made under this key after `since`, if it
        was.

        Raises:
            BatchError: It cannot be known now.
        """
        return self._run(lambda model: self._api.find(model, key, since, count))

    def state(self, batch_id: str) -> BatchState:
        """Return what has become of a batch.

        Raises:
            BatchError: The provider does not say.
        """
        return self._run(lambda model: self._api.state(model, batch_id))

    def collect(
        self, batch_id: str, key: str, input_hashes: Collection[str]
    ) -> Iterator[tuple[str, ModelAnswer | ModelCallError]]:
        """Yield the input hash and the answer of each of these requests that was run.

        Of several results of one request the first counts.

        Raises:
            BatchError: The results could not be read.
        """
        waiting = {
            _custom_id(key, input_hash): input_hash for input_hash in input_hashes
        }
        results = self._run(lambda model: self._api.results(model, batch_id))
        offline = Offline()
        with asyncio.Runner() as runner:
            model = self._api.offline(self._open_model(), offline)
            for result in results:
                if input_hash := waiting.pop(result.custom_id, None):
                    yield input_hash, runner.run(_answer(model, offline, result))

    def _run(self, operation: "Callable[[Model], Awaitable[_T]]") -> _T:
        """Run one operation with a model whose connections end with it."""
        try:
            return asyncio.run(self._entered(operation))
        except BatchError:
            raise
        except Exception as error:
            if not _is_of_library(error):
                raise
            status = _status(error)
            is_transient = status is None or status >= 500 or status in _MAY_PASS
            raise BatchError(
                f"{self.name}: {_line(error)}", is_transient=is_transient
            ) from error

    async def _entered(self, operation: "Callable[[Model], Awaitable[_T]]") -> _T:
        async with self._open_model() as model:
            try:
                return await operation(model)
            finally:
                await close_model(model)


def _custom_id(key: str, input_hash: str) -> str:
    """Return the id of a request in its batch."""
    return key + input_hash[:_HASH_CHARS]


async def _body(model: "Model", offline: Offline, request: ModelRequest) -> bytes:
    """Return the body that a direct call of this request sends."""
    from pydantic_ai.exceptions import ModelHTTPError

    offline.refuse()
    with suppress(ModelHTTPError):
        await _called(model, request)
    return offline.body


async def _answer(
    model: "Model", offline: Offline, result: Result
) -> ModelAnswer | ModelCallError:
    """Return what a direct call would have received."""
    from pydantic_ai.exceptions import AgentRunError

    offline.reply = (result.status, result.body)
    try:
        return answer_of(await _called(model, _ANY_REQUEST), 0)
    except (AgentRunError, IndexError, KeyError, AttributeError, TypeError) as error:
        # pydantic-ai lets the last four out for responses without choices or usage.
        return failed_call(error, 0)


async def _called(model: "Model", request: ModelRequest) -> "ModelResponse":
    from pydantic_ai.direct import model_request

    messages, parameters = message_of(request, model)
    settings = call_settings(request, model)
    return await model_request(
        model, messages, model_settings=settings, model_request_parameters=parameters
    )


def _is_of_library(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in (
        "anthropic",
        "botocore",
        "google",
        "httpx2",
        "openai",
    )


def _status(error: Any) -> int | None:
    """Return the HTTP status of a provider's error, None without a reply."""
    reply = getattr(error, "response", None)
    found = [getattr(error, "status_code", None), getattr(error, "code", None)]
    if isinstance(reply, dict):  # of botocore
        metadata = reply.get("ResponseMetadata", {})
        found.insert(0, metadata.get("HTTPStatusCode"))
    for status in found:
        if status:
            return status if isinstance(status, int) else None
    return None


def _line(error: Exception) -> str:
    """Return an error on one line, without credentials."""
    kind = type(error).__name__
    text = " ".join(without_credentials(str(error)).split())
    if not text:
        return kind
    return f"{kind}: {text[:_MAX_REASON_CHARS]}"


_TIMEOUT_S = 300.0  # an upload of 50 MB over a line of 2 Mbit/s

_APIS: Mapping[str, Callable[[], BatchApi]] = {
    "anthropic": AnthropicBatches,
    "google-gla": GeminiBatches,
    "openai": OpenAIBatches,
}


def has_batches(
    name: str, bedrock_folder: str | None = None, bedrock_role: str | None = None
) -> bool:
    """Whether the provider of PROVIDER:MODEL has batches, and what they need is set.

    A server of OPENAI_BASE_URL is taken to have none: most that speak OpenAI's
    completions do not.
    """
    provider = name.partition(":")[0]
    if provider == "bedrock":
        return bool(bedrock_folder and bedrock_role)
    if provider == "openai" and variable_of("OPENAI_BASE_URL"):
        return False
    return provider in _APIS


def open_batches(
    name: str, bedrock_folder: str | None = None, bedrock_role: str | None = None
) -> ProviderBatches:
    """Return the batches of PROVIDER:MODEL; nothing is sent.

    Raises:
        SettingsError: The provider has no batches, its library is not installed, or its
            key is not set.
    """
    provider = name.partition(":")[0]
    apis: dict[str, Callable[[], BatchApi]] = {
        **_APIS,
        "bedrock": partial(BedrockBatches, bedrock_folder, bedrock_role),
    }
    if provider not in apis:
        raise SettingsError(
            f"{name}: no batches of this provider; there are {', '.join(sorted(apis))}"
        )
    check_model(name)
    return ProviderBatches(
        name, lambda: open_model(name, _TIMEOUT_S, 1), apis[provider]()
    )
