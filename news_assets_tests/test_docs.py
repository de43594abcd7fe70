"""The README documents every setting, command, dependency and make target, and no others."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from news_assets.cli import app
from news_assets.settings import Settings
from news_assets.sources.kinds import KINDS
from news_assets.store.tables import TABLES, columns

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def settings_table() -> str:
    """Return the table of settings that the README should have."""
    lines = ["| variable | default | takes |", "|---|---|---|"]
    defaults = {
        "home": "./.news",
        "catalog": "NEWS_HOME/catalog.sqlite",
        "data": "NEWS_HOME/data",
        "taxonomy": "built in",
    }
    for name, field in Settings.model_fields.items():
        default = defaults.get(name) or (",".join(field.default) if isinstance(field.default, tuple) else field.default)
        lines.append(f"| `NEWS_{name.upper()}` | {f'`{default}`' if default != '' else ''} | {field.description} |")
    return "\n".join(lines).replace("``", "")


def test_every_setting_is_documented_with_its_default() -> None:
    documented = README.partition("<!-- settings -->\n")[2].partition("\n<!-- /settings -->")[0]
    assert documented == settings_table()


def command_names() -> set[str]:
    """Return the names of all commands as typed: `status`, `failures list`."""
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        names |= {f"{group.name} {command.name}" for command in group.typer_instance.registered_commands}
    return names


def test_every_command_is_documented() -> None:
    documented = re.findall(r"^\| `([a-z-]+(?: [a-z]+)?)[^`]*` \|", README, re.MULTILINE)
    assert command_names() <= set(documented)


def test_every_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in project["dependencies"]}
    table = README.partition("## Dependencies and why")[2].partition("\n## ")[0]
    explained = {name for name in names if name in table or (name.startswith("duckdb-extension-"))}
    assert names - explained == {"sqlalchemy"}, "sqlalchemy is only pinned"


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", README)) - {"and"} <= targets | {"are"}


def test_the_desk_file_of_the_readme_loads(tmp_path: Path) -> None:
    from news_assets.desks.loader import load_desks

    text = next(
        block
        for block in re.findall(r"```yaml\n(.*?)```", README.replace("\n   ", "\n"), re.DOTALL)
        if "desk:" in block
    )
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    (desk,) = load_desks([str(path)], KINDS)
    assert (desk.key, [agency.key for agency in desk.agencies]) == ("mine", ["mec"])


def test_every_news_assets_command_line_of_the_readme_parses() -> None:
    lines = re.findall(r"\.venv/bin/news-assets ([^`\n]+)", README)
    assert lines
    assert {shlex.split(line)[0] for line in lines} <= {name.partition(" ")[0] for name in command_names()}


def test_every_column_has_a_meaning() -> None:
    assert [c for table in TABLES for c in columns(table) if len(c.meaning) < 5] == []


def test_dagster_and_workspace_files_are_yaml() -> None:
    assert yaml.safe_load((ROOT / "dagster.yaml").read_text())["telemetry"] == {"enabled": False}
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"]["working_directory"] == "."


@pytest.mark.parametrize("word", ["\t", "TODO"])
def test_the_readme_is_clean(word: str) -> None:
    assert word not in README
