"""An article of the sample site that the checks of the scale-out profile follow, and
how they print their steps.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from news_assets_tests.support.waiting import wait_for

FOUND_S = 600.0  # on a busy machine; 40 on an idle one
EDITED = "vacinacao-gripe-escolas"
# in its first version; only in its second
WORDS, NEW_WORDS = (
    "vacinacao nas escolas",
    "horario foi ampliado",
)
console = Console(highlight=False)


def wait_for_title(
    search: Callable[[str], Sequence[dict[str, Any]]], words: str, log: Path
) -> str:
    """Search until something is found and return the title of the first hit.

    Raises:
        AssertionError: Nothing was found in time.
    """
    return str(
        wait_for(lambda: search(words), pause_s=0.5, limit_s=FOUND_S, log=log)[0][
            "title"
        ]
    )


def print_step(started: float, text: str) -> None:
    """Print what was done since `started`, a value of time.monotonic(), and the seconds
    that it took.
    """
    console.print(
        f"[dim]{time.monotonic() - started:6.1f} s[/dim]  {text}", soft_wrap=True
    )
