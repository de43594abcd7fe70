import subprocess
import sys

import pytest

from news_assets import cli


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("cli", "duckdb, polars, dagster, lxml, news_assets.commands.opening"),
        ("commands.lake_status", "polars, dagster, lxml, yaml, numpy"),
        ("commands.search_articles", "duckdb, polars, dagster, lxml, yaml, numpy"),
    ],
)
def test_a_command_imports_only_what_it_needs(module: str, heavy: str) -> None:
    code = f"import sys, news_assets.{module}; print([name for name in '{heavy}'.split(', ') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_command_stands_under_one_heading_of_the_help() -> None:
    listed = [name for names in cli._PANELS.values() for name in names]
    assert sorted(listed) == sorted(cli._COMMANDS)
