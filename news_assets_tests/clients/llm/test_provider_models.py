import subprocess
import sys

import pytest

from news_assets.clients.llm import provider_models
from news_assets.clients.llm.provider_models import check_model, open_model
from news_assets.errors import SettingsError


def test_an_unknown_provider_is_one_line() -> None:
    with pytest.raises(
        SettingsError,
        match=r"^mistral:x: no provider 'mistral'; there are anthropic, bedrock",
    ):
        open_model("mistral:x", 1, 1)


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("openai:x", "OPENAI_API_KEY or OPENAI_BASE_URL"),
        ("anthropic:x", "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"),
        ("google-gla:x", "GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("bedrock:x", "AWS_DEFAULT_REGION or AWS_REGION or AWS_PROFILE"),
    ],
)
def test_a_missing_key_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, variables: str
) -> None:
    for variable in variables.split(" or "):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(SettingsError) as caught:
        check_model(name)
    assert str(caught.value) == f"{name}: no key; set {variables}"


def test_a_missing_library_names_the_group_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needed = provider_models._PROVIDERS["bedrock"]._replace(
        modules=("no_such_package.part",)
    )
    monkeypatch.setitem(provider_models._PROVIDERS, "bedrock", needed)
    with pytest.raises(SettingsError, match=r"pip install --editable '\.\[bedrock\]'"):
        check_model("bedrock:x")


def test_no_library_of_a_provider_is_imported_before_a_model_is_used() -> None:
    code = (
        "import sys, news_assets.definitions, news_assets.cli, news_assets.clients.llm.calls; "
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic', 'google.genai', 'genai_prices') "
        "if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "[]"
