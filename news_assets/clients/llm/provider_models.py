"""Opens the model of a provider by its name: `openai:gpt-5-mini`.

The providers' own libraries read keys and addresses from their own environment
variables. They do not try again by themselves: every request is a row of the ledger.
They follow no redirects, which would carry the key to another host.
"""

from collections.abc import Callable
from importlib.util import find_spec
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NamedTuple

from news_assets.errors import SettingsError
from news_assets.setting_values import MODEL_PROVIDERS
from news_assets.settings import variable_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_OLLAMA_HERE = "http://localhost:11434"


class _Provider(NamedTuple):
    """What a provider needs: modules of its library, and one of these variables.

    It is opened by `open(model, timeout_s, calls)`.
    """

    modules: tuple[str, ...]
    variables: tuple[str, ...]
    open: "Callable[[str, float, int], Model]"


def open_model(name: str, timeout_s: float, calls: int) -> "Model":
    """Return the model of this name, for so many calls at a time; nothing is sent.

    Raises:
        SettingsError: The provider is unknown, its library is not installed, or its key
            is not set.
    """
    provider, _, model = name.partition(":")
    if provider not in MODEL_PROVIDERS:
        raise SettingsError(
            f"{name}: no provider {provider!r}; there are {', '.join(MODEL_PROVIDERS)}"
        )
    check_model(name)
    return _PROVIDERS[provider].open(model, timeout_s, calls)


def check_model(name: str) -> None:
    """Check, without an import, that a provider's library is installed and its key set.

    Raises:
        SettingsError: Says which to install, or which variable to set.
    """
    provider = name.partition(":")[0]
    needed = _PROVIDERS[provider]
    if not all(map(_is_installed, ("pydantic_ai", *needed.modules))):
        extra = MODEL_PROVIDERS[provider]
        raise SettingsError(
            f"{name}: the library is not installed; pip install --editable '.[{extra}]'"
        )
    if needed.variables and not any(
        variable_of(variable) for variable in needed.variables
    ):
        raise SettingsError(f"{name}: no key; set {' or '.join(needed.variables)}")


async def close_model(model: "Model") -> None:
    """Close the connections of a model's client."""
    client: Any = getattr(model, "client", None)
    of_google = getattr(getattr(client, "aio", None), "aclose", None)
    close = (
        of_google or getattr(client, "close", None) or getattr(client, "aclose", None)
    )
    if close is not None and isawaitable(closing := close()):
        await closing
    http_client: Any = getattr(
        getattr(model, "_provider", None), "_own_http_client", None
    )
    if http_client is not None:  # of Google, whose client leaves it open
        await http_client.aclose()


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that the module is in
        return False


def _openai(model: str, timeout_s: float, calls: int) -> "Model":
    """Return a model that speaks chat completions, as vLLM and llama.cpp do too."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    key = variable_of("OPENAI_API_KEY") or "none"  # a server of one's own needs none
    client = AsyncOpenAI(
        api_key=key,
        max_retries=0,
        timeout=timeout_s,
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
    )
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))


def _ollama(model: str, timeout_s: float, calls: int) -> "Model":
    """Return a model of Ollama's own API, or of OpenAI's where the address ends in
    `/v1`.
    """
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    from news_assets.clients.llm.ollama import OllamaChat

    address = variable_of("OLLAMA_BASE_URL") or _OLLAMA_HERE
    key = variable_of("OLLAMA_API_KEY")
    if not address.rstrip("/").endswith("/v1"):
        return OllamaChat(model, address, key, timeout_s)
    client = AsyncOpenAI(
        base_url=address,
        api_key=key or "none",
        max_retries=0,
        timeout=timeout_s,
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
    )
    return OllamaModel(model, provider=OllamaProvider(openai_client=client))


def _anthropic(model: str, timeout_s: float, calls: int) -> "Model":
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        max_retries=0,
        timeout=timeout_s,
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
    )
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client))


def _google(model: str, timeout_s: float, calls: int) -> "Model":
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model, provider=GoogleProvider())


def _bedrock(model: str, timeout_s: float, calls: int) -> "Model":
    import boto3  # type: ignore[import-untyped]
    from botocore.config import Config  # type: ignore[import-untyped]
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    config = Config(
        retries={"total_max_attempts": 1},
        read_timeout=timeout_s,
        max_pool_connections=calls,
    )
    client = boto3.client("bedrock-runtime", config=config)
    return BedrockConverseModel(model, provider=BedrockProvider(bedrock_client=client))


_PROVIDERS: dict[str, _Provider] = {
    "anthropic": _Provider(
        ("anthropic",), ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), _anthropic
    ),
    "bedrock": _Provider(
        ("boto3",), ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"), _bedrock
    ),
    "google-gla": _Provider(
        ("google.genai",), ("GOOGLE_API_KEY", "GEMINI_API_KEY"), _google
    ),
    "ollama": _Provider(("openai",), (), _ollama),
    "openai": _Provider(("openai",), ("OPENAI_API_KEY", "OPENAI_BASE_URL"), _openai),
}
