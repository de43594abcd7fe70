"""Calls a language model for several articles at a time, within the limits of its
provider.

Requests, answers and errors of `ports` are translated to and from the types of
pydantic-ai.
"""

import asyncio
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from news_assets.clients.llm.provider_models import close_model
from news_assets.errors import CallFailure, ModelCallError
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.retry_table import REST_OF_MODEL

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

_CLOSE_S: Final = 10.0
_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Calls in flight, calls a minute (0: no limit), and the seconds that a call may
    take.
    """

    concurrency: int = 8
    per_minute: int = 300
    timeout_s: float = 60.0


class ConcurrentModel:
    """One model of one provider; implements `ports.LanguageModel`.

    Its calls run in a thread of their own.
    """

    def __init__(
        self, name: str, open_model: "Callable[[], Model]", limits: Limits
    ) -> None:
        self.name = name
        self.timeout_s = limits.timeout_s
        self._open_model = open_model
        self._limits = limits
        self._model: Model | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running = 0
        self._begun: deque[float] = deque()  # when the calls of the last minute began
        self._lock = threading.Lock()

    def slots(self) -> int:
        """Return how many requests may be sent now.

        Raises:
            SettingsError: The provider's library is not installed, or its key is not
                set.
        """
        self._started()
        with self._lock:
            now = time.monotonic()
            while self._begun and self._begun[0] <= now - _MINUTE_S:
                self._begun.popleft()
            free = self._limits.concurrency - self._running
            if self._limits.per_minute:
                free = min(free, self._limits.per_minute - len(self._begun))
            return max(0, free)

    def send(self, request: ModelRequest) -> Future[ModelAnswer]:
        """Send one request, once; the future has the answer, or raises ModelCallError."""
        loop = self._started()
        with self._lock:
            self._running += 1
            if self._limits.per_minute:
                self._begun.append(time.monotonic())
        call = asyncio.run_coroutine_threadsafe(self._call(request), loop)
        call.add_done_callback(self._ended)
        return call

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """End the thread; calls in flight are cancelled, and connections closed."""
        loop = self._loop
        thread = self._thread
        self._loop = None
        self._thread = None
        if loop and thread:
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSE_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSE_S)

    def _ended(self, _call: Future[ModelAnswer]) -> None:
        with self._lock:
            self._running -= 1

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._model is not None:
            await close_model(self._model)
            self._model = None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._model = self._open_model()
                self._loop = asyncio.new_event_loop()
                name = f"calls of {self.name}"
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name=name, daemon=True
                )
                self._thread.start()
            return self._loop

    async def _call(self, request: ModelRequest) -> ModelAnswer:
        from pydantic_ai.direct import model_request

        assert self._model is not None
        messages, parameters = message_of(request, self._model)
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                response = await model_request(
                    self._model,
                    messages,
                    model_settings=call_settings(request, self._model),
                    model_request_parameters=parameters,
                )
            return answer_of(response, round((time.monotonic() - begun) * 1000))
        except Exception as error:  # also of a provider's library: each call has an end
            raise failed_call(error, self._limits.timeout_s) from error


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


_TOOL = "answer"

# Instructions, themes and schema are the same for many articles; the article comes
# after them.
_CACHED: Final[dict[str, dict[str, bool]]] = {
    "anthropic": {
        "anthropic_cache_instructions": True,
        "anthropic_cache_tool_definitions": True,
    },
    "bedrock": {
        "bedrock_cache_instructions": True,
        "bedrock_cache_tool_definitions": True,
    },
}
# Key, bill, rights, name of the model: other articles fare no better.
_FATAL: Final = (401, 402, 403, 404)
_REJECTED: Final = (400, 422)
_MAY_PASS: Final = (408, 409, 425)
_UNSENT: Final = ("pool", "connect")  # phases of a connection before anything is sent
# systems whose answers a schema can constrain
_BY_SCHEMA: Final = ("openai", "ollama", "google")
_QUOTA: Final = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
# A 400 that names a setting, the key or the account: every request fails, whatever its
# article.
_OF_ALL_REQUESTS: Final = re.compile(
    r"unsupported[_ ](?:parameter|value)|(?:unknown|unrecognized) (?:parameter|request argument)"
    r"|model_not_found|api[_ ]key|model identifier|on-demand throughput"
    r"|location is not supported|extra inputs are not permitted"
    r"|\b(?:max_tokens|max_completion_tokens|maxOutputTokens|temperature|reasoning_effort|thinking|budget_tokens"
    r"|tool_choice|response_format|json_schema|cache_control)\b",
    re.IGNORECASE,
)
_DECLINED: Final = re.compile(
    r"content[_ ](?:filter|management|policy)|safety", re.IGNORECASE
)
_OVER_WINDOW: Final = re.compile(
    r"context[_ ](?:length|window|size)|input token count", re.IGNORECASE
)
_TOO_LONG: Final = re.compile(
    r"too long|too large|maximum (?:number of )?(?:input )?tokens|exceeds? the (?:maximum|limit)",
    re.IGNORECASE,
)
_WINDOW: Final = re.compile(
    r"> (\d{3,7}) maximum|(?:maximum|limit|length|window|context size)\D{0,60}?(\d{3,7})(?!\d)",
    re.IGNORECASE,
)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3})")


def message_of(request: ModelRequest, model: "Model") -> tuple[list[Any], Any]:
    """Return the messages and the form of the answer.

    It is given by a JSON schema where the model knows that, else by a tool.
    """
    from pydantic_ai.messages import ModelRequest as Message
    from pydantic_ai.messages import SystemPromptPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    messages = [
        Message(
            parts=[SystemPromptPart(request.instructions), UserPromptPart(request.text)]
        )
    ]
    if model.profile.get("supports_json_schema_output") and model.system in _BY_SCHEMA:
        form = OutputObjectDefinition(
            json_schema=request.schema, name=_TOOL, strict=True
        )
        return messages, ModelRequestParameters(
            output_mode="native", output_object=form, allow_text_output=True
        )
    tool = ToolDefinition(
        name=_TOOL, parameters_json_schema=request.schema, kind="output"
    )
    return messages, ModelRequestParameters(
        output_mode="tool", output_tools=[tool], allow_text_output=False
    )


def call_settings(request: ModelRequest, model: "Model") -> Any:
    """Return the settings of a call: limits of the answer, and what the provider is to
    cache.
    """
    settings: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        **_CACHED.get(model.system, {}),
    }
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.reasoning == "none":
        settings["thinking"] = False
    elif request.reasoning is not None:
        settings["thinking"] = request.reasoning
    return settings


def answer_of(response: "ModelResponse", elapsed_ms: int) -> ModelAnswer:
    """Return the answer of a response: the arguments of the tool, else its text."""
    from pydantic_ai.messages import ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    raw = calls[0].args if calls else response.text
    if raw and not isinstance(raw, str):
        raw = json.dumps(raw, ensure_ascii=False)
    usage = response.usage
    answer = ModelAnswer(
        raw=str(raw or ""),
        input_tokens=None,
        output_tokens=None,
        cached_tokens=None,
        elapsed_ms=elapsed_ms,
        stop=_stop_of(response),
    )
    if usage.input_tokens == 0:  # not stated: no request has none
        return answer
    return replace(
        answer,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )


def _stop_of(response: "ModelResponse") -> Literal["", "cut", "declined"]:
    reason = response.finish_reason
    if reason == "content_filter":  # also where the model refuses
        return "declined"
    if reason == "length":
        return "cut"
    return ""


def failed_call(error: Exception, timeout_s: float) -> ModelCallError:
    """Return what an error of a call means."""
    from pydantic_ai.exceptions import (
        ModelConnectionError,
        ModelHTTPError,
        ModelTimeoutError,
        UserError,
    )

    if isinstance(error, ModelHTTPError):
        return _refused_request(error)
    if isinstance(error, ModelConnectionError) and error.phase in _UNSENT:
        return ModelCallError(f"no connection: {error}", "retry")
    if isinstance(error, TimeoutError | ModelTimeoutError):
        return ModelCallError(f"no answer within {timeout_s:g} s", "unanswered")
    if _is_of_no_model(error):
        return ModelCallError(f"no answer of a model: {error}", "retry")
    if isinstance(error, UserError):
        return ModelCallError(str(error), "fatal")
    # of pydantic-ai
    if isinstance(error, IndexError | KeyError | AttributeError | TypeError):
        return ModelCallError(
            "the response lacks a part that the provider documents", "unanswered"
        )
    return ModelCallError(f"{type(error).__name__}: {error}", "unanswered")


def _is_of_no_model(error: Exception) -> bool:
    """Return whether the response is a page or a redirect."""
    from pydantic_ai.exceptions import (
        ModelAPIError,
        ModelConnectionError,
        UnexpectedModelBehavior,
    )

    if isinstance(error, UnexpectedModelBehavior):
        return "expected JSON data" in str(error)
    if isinstance(error, ModelConnectionError):
        return False
    return isinstance(error, ModelAPIError)


def _refused_request(error: Any) -> ModelCallError:
    """Return what a response with a status of 4xx or 5xx means."""
    message = str(_message(error.body))
    reason = f"status {error.status_code}: {message}"
    codes = (
        f"{error.provider_error_code} {error.provider_error_type} {_codes(error.body)}"
    )
    kind = _kind_of(error, f"{codes} {message}")
    wait_s = error.retry_after
    if wait_s is not None:
        wait_s = min(wait_s, REST_OF_MODEL.longest_s)
    window_tokens = _window(message) if kind == "too_long" else None
    return ModelCallError(reason, kind, wait_s=wait_s, window_tokens=window_tokens)


def _kind_of(error: Any, explanation: str) -> CallFailure:
    """Return what a refusal means for other requests, by its status and explanation."""
    from pydantic_ai.exceptions import (
        ModelContextWindowExceededError,
        ModelQuotaExceededError,
    )

    status = error.status_code
    if isinstance(error, ModelQuotaExceededError) or status in _FATAL:
        return "fatal"
    if status == 429 and _QUOTA.search(explanation):
        return "fatal"
    if isinstance(error, ModelContextWindowExceededError) or status == 413:
        return "too_long"
    if status in _REJECTED:
        return _kind_of_rejection(explanation)
    if error.retry_after is not None or status == 429:
        return "rest"
    if status in _MAY_PASS or status >= 500:
        return "retry"
    return "rejected"


def _kind_of_rejection(explanation: str) -> CallFailure:
    if _OVER_WINDOW.search(explanation):
        return "too_long"
    if _QUOTA.search(explanation):
        return "fatal"
    if _OF_ALL_REQUESTS.search(explanation):
        return "fatal"
    if _DECLINED.search(explanation):
        return "declined"
    if _TOO_LONG.search(explanation):
        return "too_long"
    return "rejected"


def _window(message: str) -> int | None:
    """Return the tokens of the context window that a refusal states."""
    found = _WINDOW.search(_THOUSANDS.sub("", message))
    if found is None:
        return None
    return int(found[1] or found[2])


def _message(body: object) -> object:
    """Return the explanation of a refusal."""
    if not isinstance(body, dict):
        return body or "no explanation"
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return inner
    return inner.get("message", inner)


def _codes(body: object) -> str:
    """Return the codes of a refusal, separated by spaces."""
    if not isinstance(body, dict):
        return ""
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return ""
    codes = []
    for name in ("type", "code", "status", "param"):
        code = inner.get(name)
        if code is not None:
            codes.append(str(code))
    return " ".join(codes)
