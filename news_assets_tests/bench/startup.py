"""CPU time to start, as multiples of `import dagster` in the same run; fails if loading
imports a heavy library.

    python -m news_assets_tests.bench.startup [--repeats 5]

The commands run over a small lake, which the first of them creates, with the project's
`dagster.yaml`. Medians of alternating rounds. The last line is Dagster's own cost: an
asset that does nothing, materialized in an instance with Dagster's defaults.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

_HEAVY = "torch, trafilatura, onnxruntime, sentence_transformers"
_LOADED = f"print(*[m for m in '{_HEAVY}'.split(', ') if m in sys.modules])"
_PYTHON = (sys.executable, "-W", "ignore", "-c")
_NEWS = (*_PYTHON, "from news_assets.cli import main; main()")
_REFERENCE = (*_PYTHON, "import dagster")
_LOAD = (*_PYTHON, f"import sys, news_assets.definitions as d; d.defs(); {_LOADED}")
_MATERIALIZE = (
    *(sys.executable, "-W", "ignore", "-m", "dagster", "asset", "materialize"),
    *("-m", "news_assets.definitions", "--select", "key:sample/enriched_articles"),
    *("--partition", f"prefeitura|{datetime.now(UTC).date() - timedelta(days=1)}"),
)

EMPTY_ASSET = """
import dagster as dg

@dg.asset(partitions_def=dg.StaticPartitionsDefinition(["a"]))
def empty() -> None: ...

defs = dg.Definitions([empty])
"""
_MATERIALIZE_EMPTY = (
    *(sys.executable, "-W", "ignore", "-m", "dagster", "asset", "materialize"),
    *("-f", "empty.py", "--select", "empty", "--partition", "a"),
)

GOALS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "news-assets --help": ((*_NEWS, "--help"), 0.4),
    "news-assets status": ((*_NEWS, "status"), 0.4),
    "search by words": ((*_NEWS, "search", "água", "--mode", "keyword"), 0.4),
    "search": ((*_NEWS, "search", "água"), 0.9),
    "import news_assets.definitions": (
        (*_PYTHON, "import news_assets.definitions"),
        1.4,
    ),
    "load the definitions": (_LOAD, 1.4),
    "materialize an unchanged partition": (_MATERIALIZE, 2.5),
}


def cpu_s(command: tuple[str, ...], env: Mapping[str, str]) -> float:
    """Return the CPU seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        env=dict(env),
        cwd=env["DAGSTER_HOME"],
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        shutil.copy(Path(__file__).parents[2] / "dagster.yaml", home)
        env = {
            **os.environ,
            "NEWS_HOME": home,
            "NEWS_DESKS": "sample",
            "DAGSTER_HOME": home,
        }
        # else each process would compile the modules that this one has not
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for command, _ in GOALS.values():  # creates lake, index and model
            cpu_s(command, env)
        stock = Path(home) / "stock"
        stock.mkdir()
        (stock / "dagster.yaml").touch()
        (stock / "empty.py").write_text(EMPTY_ASSET, encoding="utf-8")
        stock_env = {**env, "DAGSTER_HOME": str(stock)}
        cpu_s(_MATERIALIZE_EMPTY, stock_env)  # creates Dagster's files
        rows: dict[str, list[float]] = {name: [] for name in GOALS}
        empty: list[float] = []
        for _ in range(options.repeats):
            reference = cpu_s(_REFERENCE, env)
            empty.append(cpu_s(_MATERIALIZE_EMPTY, stock_env) / reference)
            for name, (command, _) in GOALS.items():
                rows[name].append(cpu_s(command, env) / reference)
        heavy = subprocess.run(
            _LOAD, check=True, capture_output=True, text=True, env=env
        ).stdout.strip()
    print(f"import dagster: {reference:.2f} s of CPU; load {os.getloadavg()[0]:.1f}")
    for name, (_, goal) in GOALS.items():
        print(f"  {name:36}{statistics.median(rows[name]):6.2f}   goal {goal}")
    print(
        f"  {'materialize an empty asset of Dagster':36}{statistics.median(empty):6.2f}"
    )
    print(f"  heavy imports: {heavy or 'none'}")
    sys.exit(bool(heavy))


if __name__ == "__main__":
    main()
