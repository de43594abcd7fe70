"""A process that runs `dagster` commands one after the other, and so imports Dagster
and the graph once.

It reads the arguments of a command as a JSON list from a line of stdin, and answers
with a line that has its exit code. What the command prints goes to stderr.
"""

import json
import runpy
import sys
from contextlib import redirect_stdout

from news_assets.commands.terminal import Terminal


def _main() -> None:
    """Run the commands of stdin until it ends."""
    for line in sys.stdin:
        with redirect_stdout(sys.stderr):
            code = _run(json.loads(line))
        Terminal().print_line(str(code))


def _run(arguments: list[str]) -> int:
    sys.argv = ["dagster", *arguments]
    try:
        runpy.run_module("dagster", run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, int):
            return ended.code
        return int(ended.code is not None)
    return 0


if __name__ == "__main__":
    _main()
