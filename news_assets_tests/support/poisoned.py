"""Makes marked texts hang with the GIL held: `sitecustomize` imports this module in the
processes of a profile.

A page with `READER_POISON` hangs the reader in the sandbox's process; a text with
`WORKER_POISON` hangs the embedding model in the worker itself, whose watchdog then ends
it after `WATCHDOG_S`.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

READER_POISON, WORKER_POISON = "venenodoleitor", "venenodotrabalhador"
WATCHDOG_S = 5.0


def hang() -> None:
    """Match an exponential pattern, which never ends."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def poison_reader() -> None:
    """Make `read_page` hang."""
    from news_assets.pipeline.page import readers

    read_page: Callable[..., Any] = readers.read_page

    def hanging(page: Any, *arguments: Any) -> Any:
        if READER_POISON.encode() in page.body:
            hang()
        return read_page(page, *arguments)

    readers.read_page = hanging


def poison_worker() -> None:
    """Make the embedding model hang, and shorten the watchdog's limit."""
    from news_assets.clients.embedding.embedder import OnnxEmbedder
    from news_assets.defs.instance.run_guards import Watchdog

    embed: Callable[..., Any] = OnnxEmbedder.embed

    def hanging(self: Any, texts: Any) -> Any:
        if any(WORKER_POISON in text for text in texts):
            hang()
        return embed(self, texts)

    OnnxEmbedder.embed = hanging  # type: ignore[method-assign]
    Watchdog.__init__.__defaults__ = (WATCHDOG_S,)


if "news_assets.clients.sandbox_child" in sys.orig_argv:
    poison_reader()
elif "news_assets.defs.instance.worker" in sys.orig_argv:
    poison_worker()
