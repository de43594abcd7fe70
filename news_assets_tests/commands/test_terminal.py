"""What the command line prints: nothing from outside styles, moves or breaks it, in any
encoding. Items on standard input that are not what a command reads: an error line each,
and the others go on.
"""

import ast
import gzip
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands import terminal
from news_assets.commands.terminal import (
    Terminal,
    read_file,
    read_items,
    write_document,
    write_results,
)
from news_assets.errors import NewsAssetsError
from news_assets.settings import child_environment
from news_assets_tests.support.waiting import HANG_S
from news_assets_tests.test_layers import names_used, offenders
from news_assets_tests.text.test_defuse import obeyed

HOSTILE = (
    "\x1b[31mred [bold]no markup[/bold] :smile: \x9b2J \u202eoder\nnext row\r\t\ud800"
)
PRINTED = "␛[31mred [bold]no markup[/bold] :smile: �2J �oder next row  �"
_WRITERS = {
    "print",
    "typer.echo",
    "typer.secho",
    "typer.style",
    "os.write",
    "sys.__stdout__",
    "sys.__stderr__",
}
_RICH = {
    "Group",
    "Table",
    "Text",
    "box",
    "Progress",
    "BarColumn",
    "MofNCompleteColumn",
    "TextColumn",
    "TimeRemainingColumn",
}


def test_strings_styled_parts_and_cells_are_plain_text_of_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    table = Table(HOSTILE, title=HOSTILE, caption=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Group(HOSTILE, Text.assemble((HOSTILE.replace("\r", " "), "bold"))))
    terminal = Terminal()
    terminal.print(table)
    terminal.print(HOSTILE, style="bold")
    terminal.print_line(HOSTILE)
    terminal.print_line(Text(HOSTILE.replace("\r", " "), style="red"))
    terminal.rule(HOSTILE)
    out = capsys.readouterr().out
    assert obeyed(out.replace("\n", "")) == []
    assert out.count(PRINTED) == 10


def wrong_output(path: Path) -> set[str]:
    """Return what a module uses to write to the terminal without
    `news_assets.commands.terminal`.
    """
    nodes = list(ast.walk(ast.parse(path.read_text())))
    streams = {
        f"sys.{node.value.attr}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and ast.unparse(node.value) in ("sys.stdout", "sys.stderr")
        and node.attr not in ("isatty", "close")
    }
    of_rich = {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] == "rich"
        for alias in node.names
    }
    whole = {node.names[0].name for node in nodes if isinstance(node, ast.Import)} & {
        "rich",
        "click",
    }
    return streams | (names_used(path) & _WRITERS) | (of_rich - _RICH) | whole


def test_only_the_terminal_module_writes_to_the_terminal() -> None:
    assert offenders(wrong_output).keys() == {"commands/terminal.py"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("print(title)", {"print"}),
        ("import sys\nsys.stderr.write(title)", {"sys.stderr.write"}),
        ("import sys\nsys.stdout.buffer.write(title)", {"sys.stdout.buffer"}),
        ("from rich.console import Console\nConsole().print(title)", {"Console"}),
        ("import rich\nrich.print(title)", {"rich"}),
        ("import typer\ntyper.echo(title)", {"typer.echo"}),
        ("from rich.table import Table\nfrom rich import box", set()),
    ],
)
def test_each_kind_of_wrong_output_is_found(
    tmp_path: Path, source: str, found: set[str]
) -> None:
    (tmp_path / "command.py").write_text(source)
    assert wrong_output(tmp_path / "command.py") == found


@pytest.mark.parametrize(
    "encoding",
    [
        "ascii",
        # has more characters than ASCII, and fewer than UTF-8
        pytest.param("cp1252", marks=[pytest.mark.slow, pytest.mark.exhaustive]),
        "utf-8",
    ],
)
def test_output_in_any_encoding_is_complete_and_json_stays_json(encoding: str) -> None:
    items = [
        {
            "id": f"ção 日本 👩 \u2028\x7f{n}",
            "text": "The council keeps the night buses.",
        }
        for n in range(2)
    ]
    lines = "\n".join(map(json.dumps, items))
    command = [sys.executable, "-c", "from news_assets.cli import main; main()"]
    environment = child_environment(PYTHONIOENCODING=encoding)
    found = subprocess.run(
        [*command, "dedupe"], input=lines.encode(), env=environment, capture_output=True
    )
    assert (found.returncode, found.stderr) == (0, b"")
    answers = [json.loads(line) for line in found.stdout.decode(encoding).splitlines()]
    assert [answer["id"] for answer in answers] == [item["id"] for item in items]

    usage = subprocess.run(
        [*command, "status", "--desk", "日本\x1b[2J"],
        env=environment,
        capture_output=True,
    )
    assert usage.returncode == 1
    assert b"Traceback" not in usage.stderr
    assert b"\x1b" not in usage.stderr


def test_a_document_replaces_a_file_at_once_or_says_why_not(tmp_path: Path) -> None:
    output = tmp_path / "calendar.ics"
    output.write_text("the one before")
    write_document(b"new", output)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "calendar.ics": b"new"
    }
    with pytest.raises(
        NewsAssetsError,
        match=r"missing/calendar.ics cannot be written: No such file or directory",
    ):
        write_document(b"new", tmp_path / "missing" / "calendar.ics")


def test_a_document_is_written_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        found = reader.submit(pipe.read_bytes)
        write_document(b"new", pipe)
        assert found.result(HANG_S) == b"new"
    assert pipe.is_fifo()


def test_a_whole_table_is_not_cut_at_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = Table("model", "calls", box=None)
    table.add_row("a model with a long name", "1,234,567")
    Terminal().print_whole(table)
    assert "a model with a long name 1,234,567" in " ".join(
        capsys.readouterr().out.split()
    )


GOOD = {"id": 1, "text": "A text."}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))

    return give


@pytest.mark.parametrize(
    ("line", "identified", "mistake"),
    [
        ("[" * 100_000 + "]" * 100_000, None, "nested too deeply"),
        (
            '{"id": 2, "text": ' + "[" * 5000 + "]" * 5000 + "}",
            None,
            "nested too deeply",
        ),
        (
            json.dumps({"id": 2, "text": "x" * 3000}),
            None,
            "longer than 2,000 characters",
        ),
        ('{"id": 2, "text": "\\ud800"}', 2, "text holds half of a surrogate pair"),
        (
            '{"id": "\\udc00", "text": "x"}',
            "\udc00",
            "id holds half of a surrogate pair",
        ),
        ('{"id": 2, "text": NaN}', None, "NaN is not a JSON value"),
        ('{"id": -Infinity, "text": "x"}', None, "-Infinity is not a JSON value"),
        ('{"id": 1e999, "text": "x"}', None, "id is neither"),
        ('{"id": ["a"], "text": "x"}', None, "id is neither a text nor a whole number"),
        ('{"id": {}, "text": "x"}', None, "id is neither"),
        ('{"id": true, "text": "x"}', None, "id is neither"),
        ('{"id": 2, "text": ["x"]}', 2, "text is not a text"),
        (
            '{"id": 2, "text": "x", "url": {}, "language": 5}',
            2,
            "url, language is not a text",
        ),
        ('{"id": 1, "text": "again"}', 1, "this id is repeated"),
        ('{"id": ' + "9" * 5000 + ', "text": "x"}', None, "longer than"),
        ('"text"', None, "not a JSON object"),
        ("\udcff", None, "not UTF-8"),
    ],
)
def test_a_bad_item_is_an_error_line_and_the_others_go_on(
    given: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    identified: Any,
    mistake: str,
) -> None:
    if "longer" in mistake:
        monkeypatch.setattr(terminal, "MAX_LINE_CHARS", 2000)
    given(json.dumps(GOOD), line, json.dumps(GOOD | {"id": "3"}))
    assert [item["id"] for item in read_items("id", "text")] == [1, "3"]
    (error,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert error["id"] == identified
    assert error["error"].startswith("line 2: ")
    assert mistake in error["error"]


@pytest.mark.parametrize(
    "error",
    [
        RecursionError("deep"),
        KeyError("Nowhere/Zone"),
        ValueError("a\nb"),
        NewsAssetsError("page"),
        OSError(),
    ],
)
def test_an_item_that_fails_is_an_error_line(
    capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(item: dict[str, Any]) -> object:
        if item["id"] == 1:
            raise error
        return item

    write_results([{"id": 1}, {"id": 2}], fail, "")
    failed, fine = map(json.loads, capsys.readouterr().out.splitlines())
    assert (failed["id"], sorted(failed), fine) == (1, ["error", "id"], {"id": 2})


def test_files_are_read_up_to_a_limit(tmp_path: Path) -> None:
    bomb, broken = tmp_path / "bomb.gz", tmp_path / "broken.gz"
    bomb.write_bytes(gzip.compress(bytes(1_000_000)))
    broken.write_bytes(gzip.compress(b"x" * 500)[:-20])
    for path in (str(bomb), "/dev/zero"):
        with pytest.raises(NewsAssetsError, match="larger than"):
            read_file(path, max_bytes=100)
    with pytest.raises(EOFError):
        read_file(str(broken), max_bytes=100)
