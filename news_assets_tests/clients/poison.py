"""Functions that do what outside input can make a library do. Those with a True only do
it where it is True.
"""

import ctypes
import os
import re
import sys

from news_assets.errors import SourceError
from news_assets.ports.services import PageReader
from news_assets.records.reading import ExtractedArticle, Page


def hang(is_bad: bool = True) -> str:
    """Match an exponential pattern, which holds the GIL for ever."""
    if is_bad:
        re.match(r"(a+)+$", "a" * 64 + "b")
    return "read"


def exit_at_once(is_bad: bool = True) -> str:
    if is_bad:
        os._exit(3)
    return "read"


def crash(is_bad: bool = True) -> str:
    if is_bad:
        ctypes.string_at(0)
    return "read"


def fill_memory(is_bad: bool = True) -> str:
    if is_bad:
        [bytes(1 << 20) for _ in range(1 << 20)]
    return "read"


def raise_bug(is_bad: bool = True) -> str:
    if is_bad:
        raise KeyError("x\n" * 1000)
    return "read"


def recurse(is_bad: bool = True) -> str:
    return recurse() if is_bad else "read"


def refuse(is_bad: bool = True) -> str:
    if is_bad:
        raise SourceError("not a listing")
    return "read"


def unpicklable(is_bad: bool = True) -> object:
    return (lambda: None) if is_bad else "read"


def process_id() -> int:
    return os.getpid()


def print_noise() -> str:
    sys.stdout.write("noise\n")
    return "read"


def read_page_that_hangs(
    page: Page, timezone: str, language: str | None
) -> ExtractedArticle:
    """Hang on pages with the word `poison`; a `PageReader`."""
    hang(b"poison" in page.body)
    return ExtractedArticle(
        url=page.url,
        canonical_url=page.url,
        outcome="ok",
        title="Buses",
        text="Buses run. " * 50,
    )


_: PageReader = read_page_that_hangs
