"""Reading and writing JSON lines; a bad item becomes an error line and the others are processed."""

import base64
import gzip
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from news_assets.errors import NewsAssetsError

Item = dict[str, Any]


def write_line(value: object) -> None:
    """Write one JSON line to standard output."""
    sys.stdout.write(json_of(value) + "\n")


def json_of(value: object) -> str:
    """Return one line of JSON; times in ISO 8601 with offset, bytes in base64."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    raise TypeError(f"no JSON form for {type(value).__name__}")


def read_items(*required: str) -> Iterator[Item]:
    """Yield the objects on standard input that have these keys; write an error line for every other line."""
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            item = _item_of(line, required, number)
            if item is not None:
                yield item


def _item_of(line: str, required: Iterable[str], number: int) -> Item | None:
    try:
        item = json.loads(line)
    except ValueError as error:
        write_line({"id": None, "error": f"line {number}: not JSON: {error}"})
        return None
    if not isinstance(item, dict):
        write_line({"id": None, "error": f"line {number}: not a JSON object"})
        return None
    if missing := [key for key in required if key not in item]:
        write_line({"id": item.get("id"), "error": f"line {number}: {', '.join(missing)} missing"})
        return None
    return item


def write_results(items: Iterable[Item], result_of: Callable[[Item], object], label: str) -> None:
    """Write the result of each item, or `{"id", "error"}` if it fails."""
    for item in progress(items, label):
        try:
            write_line(result_of(item))
        except (NewsAssetsError, OSError, EOFError, TypeError, ValueError) as error:
            write_line({"id": item.get("id"), "error": " ".join(str(error).split())})


def progress(items: Iterable[Item], label: str) -> Iterable[Item]:
    """Yield the items, with a progress bar if standard error is a terminal."""
    return track(items, label, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def read_file(path: str) -> bytes:
    """Return a file's bytes, decompressed if its name ends in .gz."""
    data = Path(path).read_bytes()
    return gzip.decompress(data) if path.endswith(".gz") else data
