"""Requests, answers and errors as pydantic-ai has them, translated from and to those of `ports`."""

import json
from typing import TYPE_CHECKING, Any, Final

from news_assets.errors import without_credentials
from news_assets.ports.enrichment import ModelAnswer, ModelRequest

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

MAX_REASON_CHARS: Final = 200
_FATAL = (401, 402, 403, 404)  # key, bill, rights, name of the model: other articles fare no better
_AGAIN = (408, 409, 425, 429)
_TOOL = "answer"


class FailedCallError(Exception):
    """A call without an answer.

    `is_again`: another try can help. `is_fatal`: every call would fail so. `wait_s`: how long the provider wants to be
    left alone, in seconds.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_again: bool = False,
        is_fatal: bool = False,
        is_timeout: bool = False,
        wait_s: float | None = None,
    ) -> None:
        self.is_again, self.is_fatal, self.is_timeout, self.wait_s = is_again, is_fatal, is_timeout, wait_s
        super().__init__(" ".join(without_credentials(reason).split())[:MAX_REASON_CHARS])


def asked(request: ModelRequest, model: "Model") -> tuple[list[Any], Any]:
    """Return the messages and the form of the answer: by JSON schema where the model knows that, else by a tool."""
    from pydantic_ai.messages import ModelRequest as Message
    from pydantic_ai.messages import SystemPromptPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    messages = [Message(parts=[SystemPromptPart(request.instructions), UserPromptPart(request.text)])]
    if model.profile.get("supports_json_schema_output") and model.system in ("openai", "ollama", "google"):
        form = OutputObjectDefinition(json_schema=request.schema, name=_TOOL, strict=True)
        return messages, ModelRequestParameters(output_mode="native", output_object=form, allow_text_output=True)
    tool = ToolDefinition(name=_TOOL, parameters_json_schema=request.schema, kind="output")
    return messages, ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def answer_of(response: "ModelResponse", elapsed_ms: int) -> ModelAnswer:
    """Return the answer of a response: the arguments of the tool, else its text."""
    from pydantic_ai.messages import ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    raw = calls[0].args if calls else response.text
    usage = response.usage
    is_stated = usage.input_tokens > 0  # no request has none
    return ModelAnswer(
        raw=raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False) if raw else "",
        input_tokens=usage.input_tokens if is_stated else None,
        output_tokens=usage.output_tokens if is_stated else None,
        cached_tokens=usage.cache_read_tokens if is_stated else None,
        elapsed_ms=elapsed_ms,
        cache_write_tokens=usage.cache_write_tokens if is_stated else None,
    )


def failed_call(error: Exception, timeout_s: float) -> FailedCallError:
    """Return what an error of pydantic-ai means."""
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, ModelTimeoutError, UserError

    if isinstance(error, ModelTimeoutError):
        return timed_out(timeout_s)
    if isinstance(error, ModelHTTPError):
        status = error.status_code
        is_again = status in _AGAIN or status >= 500
        reason = f"status {status}: {_body(error.body)}"
        return FailedCallError(reason, is_again=is_again, is_fatal=status in _FATAL, wait_s=error.retry_after)
    is_again, is_fatal = isinstance(error, ModelAPIError), isinstance(error, UserError)
    return FailedCallError(f"{type(error).__name__}: {error}", is_again=is_again, is_fatal=is_fatal)


def _body(body: object) -> str:
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    return str(body or "no explanation")


def timed_out(timeout_s: float) -> FailedCallError:
    """Return the failure of a call that took too long."""
    return FailedCallError(f"no answer within {timeout_s:g} s", is_again=True, is_timeout=True)
