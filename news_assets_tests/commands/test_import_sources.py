"""`import` and `export --opml`, called as the command line calls them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from news_assets.desks.desk_files import load_desks
from news_assets_tests.commands.conftest import Call

Run = Callable[..., tuple[int, str, list[str]]]

DESK = """\
desk: mine
timezone: America/Sao_Paulo
language: pt
first_day: 2026-01-01
agencies:
  bee:
    name: The Bee
    sources:
      - kind: feed
        url: https://bee.example.org/rss
"""
LIST = """\
https://example.org/feed A
http://www.bee.example.org/rss/
nonsense
"""


@pytest.fixture
def run(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    (tmp_path / "mine.yaml").write_text(DESK)
    (tmp_path / "list.txt").write_text(LIST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEWS_DESKS", "mine.yaml")

    def called(*words: str) -> tuple[int, str, list[str]]:
        code, out, err = call(*words)
        return code, out, err.splitlines()

    return called


REFUSED = [
    "list.txt:2: http://www.bee.example.org/rss/: already in desk mine, agency bee",
    "list.txt:3: `nonsense` is not a web address",
    "1 new source(s) in 1 agencies, 2 line(s) refused",
]
ADDED = "  a:\n    name: A\n    sources:\n      - kind: feed\n        url: https://example.org/feed\n"


def test_a_desk_file_is_extended_by_new_sources(run: Run, tmp_path: Path) -> None:
    assert run("import", "list.txt", "--into", "mine.yaml") == (
        0,
        "",
        [*REFUSED, "mine.yaml written"],
    )
    assert (tmp_path / "mine.yaml").read_text() == DESK + ADDED
    assert run("import", "list.txt", "--into", "mine.yaml")[2][0] == (
        "list.txt:1: https://example.org/feed: already in desk mine, agency a"
    )
    assert (tmp_path / "mine.yaml").read_text() == DESK + ADDED


def test_a_dry_run_shows_what_would_change(run: Run, tmp_path: Path) -> None:
    code, out, err = run("import", "list.txt", "--into", "mine.yaml", "--dry-run")
    assert (code, err) == (0, [*REFUSED, "nothing written"])
    assert [
        line[1:] for line in out.splitlines() if line.startswith("+ ")
    ] == ADDED.splitlines()
    assert (tmp_path / "mine.yaml").read_text() == DESK
    assert run("import", "list.txt", "--desk", "mine") == (0, out, err), (
        "a desk that is known needs no --into"
    )


def test_without_a_file_to_write_the_new_desk_is_shown(run: Run) -> None:
    code, out, err = run(
        "import", "list.txt", "--timezone", "Europe/Lisbon", "--language", "pt-PT"
    )
    assert (code, err[-1]) == (0, "nothing written; give a file with --into")
    assert out.startswith(
        "desk: list\ntimezone: Europe/Lisbon\nlanguage: pt-PT\nfirst_day: "
    )
    assert out.endswith(f"agencies:\n{ADDED}")


def test_a_new_desk_file_is_written_with_instructions(run: Run) -> None:
    code, out, err = run("import", "list.txt", "--desk", "more", "--into", "more.yaml")
    assert (code, out) == (0, "")
    assert (
        err[-1]
        == "more.yaml written; add it to the configured desks: NEWS_DESKS=...,more.yaml"
    )
    (desk,) = load_desks(["more.yaml"], ("feed",))
    assert (desk.key, [source.url for source in desk.sources]) == (
        "more",
        ["https://example.org/feed"],
    )


def test_a_configured_desk_may_not_exist_yet(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_DESKS", "mine.yaml,more.yaml")
    assert (
        run("import", "list.txt", "--into", "more.yaml")[2][-1] == "more.yaml written"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere.opml",), "nowhere.opml cannot be read: No such file or directory"),
        (
            ("mine.yaml",),
            "no source in this file (line 1: `desk: mine` is not a web address); give OPML,",
        ),
        (
            ("list.txt", "--desk", "other", "--into", "mine.yaml"),
            "mine.yaml is desk `mine`, not `other`",
        ),
        (("list.txt", "--desk", "mine", "--into", "new.yaml"), "desk `mine` exists"),
        (
            ("list.txt", "--desk", "A b", "--into", "new.yaml"),
            "`A b` is not a desk key",
        ),
        (
            ("list.txt", "--desk", "new", "--timezone", "Mars"),
            "new.yaml:2: timezone: `Mars` is not a time zone",
        ),
    ],
)
def test_an_import_error_is_one_line(
    run: Run, arguments: tuple[str, ...], complaint: str
) -> None:
    code, out, err = run("import", *arguments)
    assert (code, out) == (1, "")
    assert complaint in err[-1]


def test_an_export_imports_as_known_sources(run: Run, tmp_path: Path) -> None:
    assert run("export", "--opml", "--output", "mine.opml") == (0, "", [])
    assert (
        run("import", "mine.opml")[2][0]
        == "mine.opml:8: https://bee.example.org/rss: already in desk mine, agency bee"
    )
    assert run("export", "--opml", "--desk", "mine")[1].splitlines()[7] == (
        '    <outline type="rss" text="The Bee" title="The Bee" xmlUrl="https://bee.example.org/rss" language="pt"/>'
    )


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ((), 2, "name one table, or --opml"),
        (("entries", "--opml"), 2, "name one table, or --opml"),
        (("--opml", "--agency", "bee"), 2, "name one table, or --opml"),
        (("--opml", "--desk", "other"), 1, "no desk `other`; known: mine"),
    ],
)
def test_an_export_of_an_unknown_desk_is_an_error(
    run: Run, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    found = run("export", *arguments)
    assert (found[0], found[1]) == (code, "")
    assert complaint in found[2][-1]
