"""Reading and writing JSON lines; a bad item becomes an error line and the others are
processed.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from news_assets.commands.terminal import documents, progress
from news_assets.errors import NewsAssetsError
from news_assets.text.defuse import json_of

# of standard input; the longest articles have a tenth of that
MAX_LINE_CHARS = 10_000_000
MAX_FILE_BYTES = 50_000_000  # of a page or feed, decompressed
# agenda packets have 25 MB on average; the reading process holds two copies
MAX_DOCUMENT_BYTES = 100_000_000

_TEXTS = (
    "path",
    "url",
    "title",
    "text",
    "language",
    "timezone",
    "content_type",
    "encoding",
)

Item = dict[str, Any]


def write_line(value: object) -> None:
    """Write one JSON line to standard output."""
    documents.write(json_of(value) + "\n")


# --- reading --------------------------------------------------------------------------


def input_lines() -> Iterator[str]:
    """Yield the lines of standard input, those longer than MAX_LINE_CHARS cut to one
    character more.
    """
    while line := sys.stdin.readline(MAX_LINE_CHARS + 1):
        yield line
        while line and not line.endswith("\n"):
            line = sys.stdin.readline(MAX_LINE_CHARS)


def read_items(*required: str) -> Iterator[Item]:
    """Yield the objects on standard input that have these keys; write an error line for
    every other line.
    """
    seen: set[str | int] = set()
    for number, line in enumerate(input_lines(), start=1):
        if not line.strip():
            continue
        item, mistake = _item_of(line)
        if mistake is None:
            mistake = _mistake(item, required, seen)
        if mistake is not None:
            write_line({"id": _id_of(item), "error": f"line {number}: {mistake}"})
            continue
        if (given := item.get("id")) is not None:
            seen.add(given)
        yield item


def text_in(item: Item, key: str, default: str = "") -> str:
    """Return a text of an item; `default` where it has none or an empty one."""
    return str(item.get(key) or default)


def _item_of(line: str) -> tuple[Item, str | None]:
    """Return the object of a line, else why it has none."""
    if len(line) > MAX_LINE_CHARS:
        return {}, f"longer than {MAX_LINE_CHARS:,} characters"
    if not _is_unicode(line):
        return {}, "not UTF-8"
    try:
        item = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        return {}, "not JSON that can be read: nested too deeply"
    except ValueError as error:
        return {}, f"not JSON: {error}"
    if isinstance(item, dict):
        return (item, None)
    return ({}, "not a JSON object")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _mistake(item: Item, required: Iterable[str], seen: set[str | int]) -> str | None:
    """Return what is wrong with an object, and how to correct it."""
    if missing := [key for key in required if key not in item]:
        return f"{', '.join(missing)} missing"
    given = item.get("id")
    if given != _id_of(item):
        return "id is neither a text nor a whole number"
    if given in seen:
        return "this id is repeated; give every item its own"
    return _mistake_in_texts(item)


def _mistake_in_texts(item: Item) -> str | None:
    wrong, broken = [], []
    for key in _TEXTS:
        value = item.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            wrong.append(key)
        elif not _is_unicode(value):
            broken.append(key)
    if wrong:
        return f"{', '.join(wrong)} is not a text"
    if not _is_unicode(str(item.get("id"))):
        broken.append("id")
    if broken:
        return f"{', '.join(broken)} holds half of a surrogate pair, which is not a character"
    return None


def _id_of(item: Item) -> str | int | None:
    """Return the id if it can be repeated in an answer, else None."""
    given = item.get("id")
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return given


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- results --------------------------------------------------------------------------


def write_results(
    items: Iterable[Item], result_of: Callable[[Item], object], label: str
) -> None:
    """Write the result of each item, or `{"id", "error"}` if it fails."""
    for item in progress(items, label):
        try:
            write_line(result_of(item))
        except (
            NewsAssetsError,
            OSError,
            EOFError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
            zlib.error,
        ) as error:
            write_line({"id": item.get("id"), "error": " ".join(str(error).split())})


def read_file(path: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's bytes, decompressed if its name ends in .gz. Raises
    NewsAssetsError if it is too large.
    """
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
        data: bytes = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise NewsAssetsError(f"{path}: larger than {max_bytes // 1_000_000} MB")
    return data
