import subprocess
import sys


def test_the_command_line_imports_a_command_only_when_it_runs() -> None:
    heavy = "duckdb, polars, dagster, lxml, news_assets.commands.opening"
    code = f"import sys, news_assets.cli; print([name for name in '{heavy}'.split(', ') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
