"""deploy/compose.yaml as a strict reader sees it: Docker refuses a repeated key, of
which PyYAML takes the last.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from news_assets.desks.yaml_nodes import repeated_keys
from news_assets.settings import Settings

DEPLOY = Path(__file__).parents[1] / "deploy"
TEXT = (DEPLOY / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
# of nested ones the inner one
TAKEN = re.compile(r"\$\{([A-Z][A-Z0-9_]*)(?::([-?])([^${}]*))?\}")
KEYS = {
    *(
        "build",
        "command",
        "depends_on",
        "environment",
        "healthcheck",
        "hostname",
        "image",
        "init",
        "ports",
    ),
    *("profiles", "restart", "scale", "stop_grace_period", "user", "volumes"),
}


def taken(text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return name, sign and default or message of each variable, and the text without
    them.
    """
    found: list[tuple[str, str, str]] = []
    while matches := TAKEN.findall(text):
        found += matches
        text = TAKEN.sub("", text)
    return found, text


VARIABLES, REST = taken(TEXT)


def test_no_key_is_repeated() -> None:
    assert list(repeated_keys(yaml.compose(TEXT))) == []


def test_every_variable_that_is_taken_from_outside_is_documented() -> None:
    documented = {f"NEWS_{name.upper()}" for name in Settings.model_fields}
    first_cells = re.findall(
        r"^\| (.*?) \|", (DEPLOY / "README.md").read_text(), re.MULTILINE
    )
    documented |= set(re.findall(r"`([A-Z_]+)`", " ".join(first_cells)))
    assert {name for name, _, _ in VARIABLES} - documented == set()


def test_every_dollar_begins_a_variable() -> None:
    assert "$" not in REST


def test_a_variable_has_one_default() -> None:
    defaults: dict[str, set[str]] = {}
    for name, sign, default in VARIABLES:
        if sign == "-":
            defaults.setdefault(name, set()).add(default)
    assert {name: values for name, values in defaults.items() if len(values) > 1} == {}


def test_every_setting_is_passed_on() -> None:
    passed = COMPOSE["x-news"]["environment"]
    assert [
        name for name in Settings.model_fields if f"NEWS_{name.upper()}" not in passed
    ] == []


def test_every_section_is_one_that_compose_knows() -> None:
    sections = {name for name in COMPOSE if not name.startswith("x-")}
    assert sections == {"name", "services", "volumes"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_keys_that_compose_knows(service: str) -> None:
    assert set(SERVICES[service]) - KEYS == set()


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_a_health_check(service: str) -> None:
    assert SERVICES[service]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_does_not_run_as_root(service: str) -> None:
    assert user_of(SERVICES[service]) not in ("", "root", "0")


def user_of(service: Any) -> str:
    """Return the user of a service, that of the built image where the service names
    none.
    """
    built = (
        re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[-1]
        if "build" in service
        else ""
    )
    return str(service.get("user", built))


@pytest.mark.parametrize("service", SERVICES)
def test_what_a_service_waits_for_is_always_started(service: str) -> None:
    needed = SERVICES[service].get("depends_on", {})
    assert [
        name for name in needed if name not in SERVICES or "profiles" in SERVICES[name]
    ] == []


def test_every_process_is_one_that_the_script_starts() -> None:
    started = TEXT + (DEPLOY / "supervisord.conf").read_text()
    names = re.findall(r"(?:deploy|%\(here\)s)/service (\w+)", started)
    assert (
        set(names)
        - set(re.findall(r"^(\w+)\)", (DEPLOY / "service").read_text(), re.MULTILINE))
        == set()
    )


def test_the_volumes_are_those_that_services_have() -> None:
    mounted = {
        volume.partition(":")[0]
        for one in SERVICES.values()
        for volume in one.get("volumes", ())
    }
    assert {name for name in mounted if not name.startswith(".")} == set(
        COMPOSE["volumes"]
    )


def test_every_mounted_file_of_the_repository_exists() -> None:
    mounted = {
        volume.partition(":")[0]
        for one in SERVICES.values()
        for volume in one.get("volumes", ())
    }
    assert [
        name
        for name in mounted
        if name.startswith(".") and not (DEPLOY / name).exists()
    ] == []


def test_the_image_installs_nothing_without_a_hash() -> None:
    installed = re.findall(r"pip install ((?:.*\\\n)*.*)", DOCKERFILE)
    others = [words for words in installed if "--require-hashes --no-deps" not in words]
    assert [words.split(" && ")[0] for words in others] == [
        "--no-cache-dir --no-deps --no-build-isolation ."
    ]


def test_what_the_image_copies_passes_dockerignore() -> None:
    kept = re.findall(
        r"^!(.*)$", (DEPLOY.parent / ".dockerignore").read_text(), re.MULTILINE
    )
    copied = [
        name
        for line in re.findall(r"^COPY (.*) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    ]
    assert [
        name
        for name in copied
        if not any(Path(name).match(pattern) for pattern in kept)
    ] == []
