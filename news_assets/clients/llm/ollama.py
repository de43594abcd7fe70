"""Ollama's own chat API: answers by JSON schema, in a context window that holds the
whole request.

Its form of OpenAI's API drops what does not fit into the window that the server is set
to, often 4,096 tokens. https://docs.ollama.com/api/chat
"""

from typing import Any, Final

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

_CHARS_PER_TOKEN: Final = 2.5  # fewer than texts have, so that nothing is dropped
_WINDOW_STEP: Final = 2_048  # another window loads the model again
_FINISH: Final[dict[str, FinishReason]] = {"stop": "stop", "length": "length"}


class OllamaChat(Model):
    """One model of a server of Ollama at `address`, without a path."""

    def __init__(
        self, name: str, address: str, key: str | None, timeout_s: float
    ) -> None:
        super().__init__(profile=ModelProfile(supports_json_schema_output=True))
        self._name = name
        self._address = address.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.client = httpx2.AsyncClient(timeout=timeout_s, headers=headers)

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self._name

    @property
    def system(self) -> str:
        """The name of the provider."""
        return "ollama"

    @property
    def base_url(self) -> str:
        """The address of the server."""
        return self._address

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the answer to one request, which is sent once.

        Raises:
            ModelHTTPError: A status of 4xx or 5xx; ModelAPIError: another one than 200.
            ModelConnectionError: No connection, or a response that was cut off.
            UnexpectedModelBehavior: A response in another form.
        """
        settings, parameters = self.prepare_request(
            model_settings, model_request_parameters
        )
        body = _body(self._name, messages, dict(settings or {}), parameters)
        try:
            reply = await self.client.post(f"{self._address}/api/chat", json=body)
        except httpx2.TimeoutException as error:
            raise ModelTimeoutError(
                self._name, str(error), phase=_phase(error)
            ) from error
        except httpx2.TransportError as error:
            raise ModelConnectionError(
                self._name, str(error), phase=_phase(error)
            ) from error
        if 200 < reply.status_code < 400:
            raise ModelAPIError(
                self._name, f"status {reply.status_code}, which is not followed"
            )
        if reply.status_code != 200:
            raise ModelHTTPError(
                reply.status_code, self._name, reply.text, headers=reply.headers
            )
        return _response(self._name, reply)


def _phase(error: httpx2.TransportError) -> Any:
    is_unsent = isinstance(
        error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout
    )
    return "connect" if is_unsent else "read"


def _body(
    name: str,
    messages: list[ModelMessage],
    settings: dict[str, Any],
    parameters: ModelRequestParameters,
) -> dict[str, Any]:
    sent: list[dict[str, str]] = []
    for message in messages:
        sent += filter(None, map(_message, message.parts))
    chars = sum(len(one["content"]) for one in sent)
    tokens = chars / _CHARS_PER_TOKEN + settings["max_tokens"]
    options = {
        "num_predict": settings["max_tokens"],
        "num_ctx": _WINDOW_STEP * (1 + int(tokens / _WINDOW_STEP)),
        "temperature": settings.get("temperature"),
    }
    body = {
        "model": name,
        "messages": sent,
        "stream": False,
        "format": parameters.output_object.json_schema
        if parameters.output_object
        else None,
        "options": {key: value for key, value in options.items() if value is not None},
        "think": settings.get("thinking"),
    }
    return {key: value for key, value in body.items() if value is not None}


def _message(part: Any) -> dict[str, str] | None:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        return {"role": "user", "content": str(part.content)}
    return None


def _response(name: str, reply: httpx2.Response) -> ModelResponse:
    try:
        said = reply.json()
        text = said["message"]["content"]
        reason = said.get("done_reason", "stop")
    except (ValueError, KeyError, TypeError) as error:
        raise UnexpectedModelBehavior(
            "Invalid response from Ollama, expected JSON data"
        ) from error
    usage = RequestUsage(
        input_tokens=said.get("prompt_eval_count") or 0,
        output_tokens=said.get("eval_count") or 0,
    )
    return ModelResponse(
        parts=[TextPart(text or "")],
        usage=usage,
        model_name=name,
        finish_reason=_FINISH.get(reason),
        provider_name="ollama",
    )
