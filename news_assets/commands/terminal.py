"""Output of the command line: every text for a terminal, a pipe or standard output goes
through this module.

A string is one line of plain text from anywhere: it has no markup, and its controls are
shown instead of obeyed. Styles and cells of several lines are made with rich's
renderables: `Text.assemble`, `Group`, `Table`. The options that several commands have are
here too.
"""

import codecs
import io
import sys
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.progress import track
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from news_assets.errors import NewsAssetsError
from news_assets.text.defuse import escape_unencodable, terminal_line

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
