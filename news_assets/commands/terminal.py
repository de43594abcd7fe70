"""Input and output of the command line: every text for a terminal, a pipe or standard
output goes through this module, and so do JSON lines. The options that several commands
have are here too.

A string is one line of plain text from anywhere: it has no markup, and its controls are
shown instead of obeyed. Styles and cells of several lines are made with rich's
renderables: `Text.assemble`, `Group`, `Table`. Of JSON lines, a bad item becomes an
error line, and the others are processed.
"""

import codecs
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.progress import track
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from news_assets.errors import NewsAssetsError
from news_assets.text.defuse import escape_unencodable, json_of, terminal_line

Desk = Annotated[str | None, typer.Option(help="only this desk")]
Agency = Annotated[str | None, typer.Option(help="only this agency")]
From = Annotated[
    datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="first day")
]
To = Annotated[
    datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="last day")
]
Json = Annotated[bool, typer.Option("--json", help="JSON output")]

Days = tuple[date | None, date | None]  # the first and the last; None for no limit


def day_of(at: datetime | None) -> date | None:
    """Return the day of an option that states one."""
    return None if at is None else at.date()


def days_between(first: datetime | None, last: datetime | None) -> Days:
    """Return the days of `--from` and `--to`."""
    return day_of(first), day_of(last)


_WIDEST = 2000  # characters of a line
_U_ESCAPES = "news_assets.u_escapes"

_Thing = TypeVar("_Thing")


class Terminal(Console):
    """A rich console for text from outside."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as one line of text."""
        return super().render_str(terminal_line(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render anything; a `Text`, which styles its parts, is one line like a string."""
        if isinstance(renderable, Text):
            styled = renderable
            renderable = styled.copy()
            # as long as before, so that the styles fit
            renderable.plain = terminal_line(styled.plain)
        return super().render(renderable, options)

    def print_line(self, text: str | Text, style: str = "") -> None:
        """Print one line that is not wrapped at the width of the terminal."""
        self.print(text, style=style, soft_wrap=True)

    def print_whole(self, table: Table) -> None:
        """Print a table as wide as its longest lines; a narrower terminal breaks them,
        and a pipe gets them whole.
        """
        wide = Terminal(stderr=self.stderr)
        wide.width = _WIDEST
        wide.width = Measurement.get(wide, wide.options, table).maximum
        wide.print(table, crop=False)


def in_backquotes(names: Iterable[str]) -> str:
    """Return names as a message quotes them: `one`, `two`."""
    return ", ".join(map("`{}`".format, names))


def report(line: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"{terminal_line(line)}\n")


def progress(items: Iterable[_Thing], label: str) -> Iterable[_Thing]:
    """Yield the items, with a progress bar if standard error is a terminal."""
    return track(
        items,
        label,
        console=Terminal(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


class _Documents:
    """Standard output as a text file: exact in a file or pipe, one defused line after
    the other on a terminal.
    """

    def write(self, text: str) -> int:
        """Write text of any number of lines."""
        if sys.stdout.isatty():
            text = "\n".join(map(terminal_line, text.split("\n")))
        return sys.stdout.write(text)

    def write_bytes(self, data: bytes) -> None:
        """Write a binary file, or a text in UTF-8 with its own declaration of that."""
        if sys.stdout.isatty():
            self.write(data.decode(errors="replace"))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)


documents = _Documents()


def write_document(data: bytes, output: Path | None) -> None:
    """Write a whole document to a file, which is replaced at once or not at all, or to
    standard output.

    Raises:
        NewsAssetsError: The file cannot be written.
    """
    if output is None:
        documents.write_bytes(data)
        return
    try:
        # a device or pipe, which stays what it is
        if output.exists() and not output.is_file():
            output.write_bytes(data)
            return
        draft = output.with_name(f"{output.name}.part")
        draft.write_bytes(data)
        draft.replace(output)
    except OSError as error:
        raise NewsAssetsError(
            f"{output} cannot be written: {error.strerror}"
        ) from error


def accept_any_text() -> None:
    r"""Write what the encoding of standard output and error lacks as `\u` escapes, and
    read input of any bytes.

    Standard input is UTF-8, as JSON is (RFC 8259); other bytes are read as lone
    surrogates.
    """
    codecs.register_error(_U_ESCAPES, escape_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_U_ESCAPES)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")


# --- JSON lines -----------------------------------------------------------------------


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
