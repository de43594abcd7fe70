"""What the command line prints: nothing from outside styles, moves or breaks it, in any
encoding.
"""

import ast
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands.terminal import Terminal, write_document
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
