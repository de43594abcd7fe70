"""Opens the batches of a model by its name."""

from collections.abc import Callable, Mapping
from functools import partial

from news_assets.clients.llm.batches.anthropic import AnthropicBatches
from news_assets.clients.llm.batches.api import BatchApi
from news_assets.clients.llm.batches.bedrock import BedrockBatches
from news_assets.clients.llm.batches.gemini import GeminiBatches
from news_assets.clients.llm.batches.openai import OpenAIBatches
from news_assets.clients.llm.batches.provider_batches import ProviderBatches
from news_assets.clients.llm.models import check_model, open_model
from news_assets.errors import SettingsError
from news_assets.settings import variable_of

TIMEOUT_S = 300.0  # an upload of 50 MB over a line of 2 Mbit/s

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
    return provider in _APIS and not (
        provider == "openai" and variable_of("OPENAI_BASE_URL")
    )


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
        name, lambda: open_model(name, TIMEOUT_S, 1), apis[provider]()
    )
