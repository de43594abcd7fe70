"""The documentation matches the code: settings, commands, kinds, tables, checks, links
and examples.
"""

import re
import shlex
import textwrap
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from news_assets.cli import app
from news_assets.desks.desk_files import load_desks
from news_assets.desks.desk_spec import AgencySpec, DeskSpec, SourceSpec
from news_assets.pipeline.stages import all_stages
from news_assets.settings import Settings
from news_assets.sources.source_kinds import KINDS
from news_assets.store.queries.freshness import freshness_checks
from news_assets.store.tables import TABLES, columns
from news_assets_tests.queries_page import queries_page
from news_assets_tests.retries_section import with_retries
from news_assets_tests.tables_page import tables_page

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        *map(
            ROOT.joinpath,
            ("README.md", "CHANGELOG.md", "SECURITY.md", "deploy/README.md"),
        ),
        *sorted((ROOT / "docs").glob("*.md")),
    )
}
README, COMMANDS, OPERATIONS, SETTINGS, SOURCES = (
    PAGES[name]
    for name in (
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("commands", "operations", "settings", "sources")
        ),
    )
)


def code_of(page: str) -> str:
    """Return the code blocks and the inline code of a page, one a line."""
    blocks = re.findall(r"^ *```\w*\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```", "", page, flags=re.MULTILINE | re.DOTALL)
    return "\n".join((*blocks, *re.findall(r"`([^`\n]+)`", text)))


def first_cells(page: str) -> set[str]:
    """Return the first code in each row of the page's tables."""
    return set(re.findall(r"^\| `([^`]+)`", page, re.MULTILINE))


def settings_table() -> str:
    """Return the table of settings as the declaration has it."""
    lines = ["| variable | default | takes |", "|---|---|---|"]
    defaults = {
        "home": "./.news",
        "catalog": "NEWS_HOME/catalog.sqlite",
        "data": "NEWS_HOME/data",
        "prompts": "built in",
        "taxonomy": "built in",
        "model_reasoning": "the model's",
        "model_temperature": "the model's",
    }
    for name, field in Settings.model_fields.items():
        default = defaults.get(name) or (
            ",".join(field.default)
            if isinstance(field.default, tuple)
            else field.default
        )
        lines.append(
            f"| `NEWS_{name.upper()}` | {f'`{default}`' if default != '' else ''} | {field.description} |"
        )
    return "\n".join(lines).replace("``", "")


def test_every_setting_is_documented_with_its_default() -> None:
    documented = SETTINGS.partition("<!-- settings -->\n")[2].partition(
        "\n<!-- /settings -->"
    )[0]
    assert documented == settings_table()


@cache
def commands(command: Any = None, name: str = "") -> dict[str, set[str]]:
    """Return the long options of every command by its name as it is typed: `status`,
    `failures list`.
    """
    command = command or typer.main.get_command(app)
    if names := getattr(command, "commands", None):
        found: dict[str, set[str]] = {}
        for word in names:
            sub = command.resolve_command(typer.Context(command), [word])[1]
            found |= commands(sub, f"{name} {word}".strip())
        return found
    return {
        name: {
            option
            for param in command.params
            for option in param.opts
            if option.startswith("--")
        }
    }


def command_of(words: Sequence[str]) -> str | None:
    """Return the command that a command line names, if there is one."""
    return next(
        (name for name in (" ".join(words[:2]), words[0]) if name in commands()), None
    )


def test_every_command_is_documented_with_its_options() -> None:
    table = COMMANDS.partition("| command | input | output |")[2].partition("\n\n")[0]
    documented: dict[str, set[str]] = {}
    for row in table.splitlines()[2:]:
        words = row.replace("`", "").strip("| ").split()
        options = set(re.findall(r"--[a-z-]+", " ".join(row.split(" | ")[:2])))
        documented.setdefault(command_of(words) or row, set()).update(options)
    assert documented == commands()


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {
        re.split(r"[\[<>=~]", requirement)[0] for requirement in project["dependencies"]
    }
    table = README.partition("## Dependencies")[2].partition("\n## ")[0]
    explained = {
        name
        for name in names
        if name in table or (name.startswith("duckdb-extension-"))
    }
    assert names - explained == {"sqlalchemy"}, (
        "sqlalchemy is only held below a version"
    )


def test_every_kind_of_source_and_every_key_of_a_desk_file_is_documented() -> None:
    keys = {*DeskSpec.model_fields, *AgencySpec.model_fields, *SourceSpec.model_fields}
    assert {*KINDS, *keys} - {"desk"} <= first_cells(SOURCES)
    assert "`desk`" in SOURCES


def test_every_check_and_every_option_of_a_run_is_documented() -> None:
    from news_assets.defs.asset_checks import EXTRACTION_CHECK
    from news_assets.defs.feed_entries import PollConfig

    checks = {
        "ids_are_unique",
        EXTRACTION_CHECK,
        *freshness_checks(),
        *(stage.check[0] for stage in all_stages()),
        *(check.name for stage in all_stages() for check in stage.row_checks),
    }
    assert checks <= first_cells(OPERATIONS)
    options = {
        *PollConfig.model_fields,
        *(option.name for stage in all_stages() for option in stage.options),
    }
    assert {option for option in options if f"`{option}`" not in OPERATIONS} == set()


def test_every_asset_sensor_and_schedule_is_documented() -> None:
    from news_assets_tests.test_definitions import SCHEDULES, SENSORS

    assert {
        "feed_entries",
        *(stage.name for stage in all_stages()),
        *SENSORS,
    } <= first_cells(README)
    assert {
        *SENSORS,
        *(name.replace("sample", "<desk>") for name in SCHEDULES),
    } <= first_cells(OPERATIONS)


@pytest.mark.parametrize(
    ("page", "written"),
    [("docs/tables.md", tables_page), ("docs/queries.md", queries_page)],
)
def test_a_generated_page_is_up_to_date(page: str, written: Callable[[], str]) -> None:
    assert PAGES[page] == written(), "run `make docs`"


def test_the_retries_of_the_documentation_are_up_to_date() -> None:
    page = PAGES["docs/operations.md"]
    assert page == with_retries(page), "run `make docs`"


def test_every_column_says_what_it_means() -> None:
    assert [c for table in TABLES for c in columns(table) if len(c.meaning) < 5] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_relative_link_resolves(name: str) -> None:
    links = [
        link
        for link in re.findall(r"\]\(([^)\s]+)\)", PAGES[name])
        if "://" not in link
    ]
    assert [link for link in links if not resolves(ROOT / name, link)] == []


def resolves(page: Path, link: str) -> bool:
    """Return whether a link leads to a file and, with a fragment, to one of its
    headings.
    """
    target, _, fragment = link.partition("#")
    path = (page.parent / target).resolve() if target else page
    if not path.exists():
        return False
    headings = (
        re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if fragment
        else []
    )
    slugs = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }
    return not fragment or fragment in slugs


def test_every_page_is_linked_from_the_readme() -> None:
    assert [
        name for name in PAGES if name != "README.md" and f"({name})" not in README
    ] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_make_target_exists(name: str) -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    assert (
        set(re.findall(r"^\s*make ([a-z-]+)", code_of(PAGES[name]), re.MULTILINE))
        <= targets
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_command_line_names_a_command_and_its_options(name: str) -> None:
    lines = re.findall(r"(?:^|[\s/])news-assets ([a-z][^\n|#>]*)", code_of(PAGES[name]))
    wrong = []
    for words in map(shlex.split, lines):
        command = command_of(words)
        options = {word for word in words if word.startswith("--")}
        if command is None or not options <= commands()[command]:
            wrong.append(words)
    assert wrong == []


def test_the_desk_files_of_the_pages_are_valid(tmp_path: Path) -> None:
    for page in (README, SOURCES):
        blocks = re.findall(r"^ *```yaml\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
        path = tmp_path / "mine.yaml"
        path.write_text(
            textwrap.dedent(next(block for block in blocks if "desk:" in block))
        )
        (desk,) = load_desks([str(path)], KINDS)
        assert (desk.key, [agency.key for agency in desk.agencies]) == ("mine", ["mec"])


@pytest.mark.parametrize("name", PAGES)
def test_every_python_module_and_file_named_exists(name: str) -> None:
    paths = set(re.findall(r"\bnews_assets(?:_tests)?/[\w/]+\.py\b", PAGES[name]))
    modules = re.findall(r"python -m (news_assets[\w.]+)", PAGES[name])
    paths |= {f"{module.replace('.', '/')}.py" for module in modules}
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []


def test_dagster_and_workspace_files_are_yaml() -> None:
    assert yaml.safe_load((ROOT / "dagster.yaml").read_text())["telemetry"] == {
        "enabled": False
    }
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"]["working_directory"] == "."


@pytest.mark.parametrize("word", ["\t", "TODO"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean(name: str, word: str) -> None:
    assert word not in PAGES[name]


def test_the_newest_changes_are_those_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (newest, *_) = re.findall(r"^## (\S+)", PAGES["CHANGELOG.md"], re.MULTILINE)
    assert newest == project["version"]
    assert Settings.model_fields["user_agent"].default.startswith(
        f"news_assets/{newest.rpartition('.')[0]} "
    )
