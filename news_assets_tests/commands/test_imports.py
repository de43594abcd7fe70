import subprocess
import sys

from news_assets import cli


def test_the_command_line_imports_a_command_only_when_it_runs() -> None:
    heavy = "duckdb, polars, dagster, lxml, news_assets.commands.opening"
    code = f"import sys, news_assets.cli; print([name for name in '{heavy}'.split(', ') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_command_stands_under_one_heading_of_the_help() -> None:
    listed = [name for names in cli._PANELS.values() for name in names]
    assert sorted(listed) == sorted(cli._COMMANDS)
