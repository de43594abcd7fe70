"""The commands that read JSON lines, run in a process of their own."""

import gzip
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.pdfs import GREY, bomb, pdf_of, scan_of

PAGE = """<html lang="en"><head><title>Council keeps the night buses</title>
<link rel="canonical" href="https://example.org/buses"></head><body><nav><a href="/">Home</a></nav><article>
<h1>Council keeps the night buses</h1>
<p>The city council voted on Tuesday to keep the night buses running for another year, after four hours of debate.</p>
<p>The three lines carry nurses, bakers and factory workers between midnight and five in the morning, every day.</p>
<p>Under the compromise, the subsidy falls by a fifth and the last departures on Sundays are dropped until spring.</p>
</article></body></html>"""

FEED = """<rss version="2.0"><channel><title>Gazeta</title><language>pt-BR</language>
<item><title>Eleições</title><link>https://example.org/eleicoes</link><guid>1</guid>
<pubDate>Thu, 19 Nov 2026 08:00:00 -0300</pubDate></item></channel></rss>"""


def run(*arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        "from news_assets.cli import main; main()",
        *arguments,
    ]
    return subprocess.run(command, input=lines, capture_output=True, text=True)


def results(command: str, *items: Any) -> list[Any]:
    """Return what a command writes for these items; strings are sent as they are."""
    lines = "\n".join(
        item if isinstance(item, str) else json.dumps(item) for item in items
    )
    done = run(command, lines=lines)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_extract_writes_an_article_or_an_error_per_line(tmp_path: Path) -> None:
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    (tmp_path / "b.html").write_bytes(b"")
    found, empty, missing, broken, incomplete = results(
        "extract",
        {
            "id": 1,
            "path": str(tmp_path / "a.html.gz"),
            "url": "https://example.org/buses?utm_source=x",
        },
        {"id": 2, "path": str(tmp_path / "b.html"), "url": "https://example.org/b"},
        {"id": 3, "path": str(tmp_path / "c.html"), "url": "https://example.org/c"},
        "{not json",
        {"id": 5},
    )
    assert (found["id"], found["outcome"], found["canonical_url"]) == (
        1,
        "ok",
        "https://example.org/buses",
    )
    assert found["title"] == "Council keeps the night buses"
    assert "four hours of debate" in found["text"]
    assert "Home" not in found["text"]
    assert (empty["id"], empty["text"], bool(empty["reason"])) == (2, None, True)
    assert missing["id"] == 3
    assert "No such file" in missing["error"]
    assert broken["error"].startswith("line 4: not JSON")
    assert incomplete == {"id": 5, "error": "line 5: path missing"}


def test_read_document_writes_what_each_file_holds(tmp_path: Path) -> None:
    (tmp_path / "agenda.html").write_bytes(pdf_of("Agenda\nCall to order", "Votes"))
    (tmp_path / "bomb.pdf").write_bytes(bomb())
    (tmp_path / "public comments.pdf").write_bytes(pdf_of("I object."))
    (tmp_path / "scan.pdf").write_bytes(scan_of((128, 80, GREY)))
    (tmp_path / "notice.txt").write_text("The council meets on Tuesday.")
    names = (
        "agenda.html",
        "bomb.pdf",
        "public comments.pdf",
        "scan.pdf",
        "notice.txt",
        "missing.pdf",
    )
    items = [
        {"id": name, "path": str(tmp_path / name), "content_type": "text/plain"}
        for name in names
    ]
    agenda, bombed, comments, scan, notice, missing = results("read-document", *items)
    assert agenda == {
        "id": "agenda.html",
        "kind": "pdf",
        "pages": 2,
        "text": "Agenda\nCall to order\n\nVotes",
        "is_scanned": False,
        "outcome": "ok",
        "reason": None,
    }
    assert (bombed["kind"], bombed["outcome"], bombed["reason"].partition(":")[0]) == (
        "pdf",
        "failed",
        "not read",
    )
    assert (comments["outcome"], comments["reason"]) == (
        "skipped",
        "public comments, by its name",
    )
    assert (scan["outcome"], scan["is_scanned"], scan["text"]) == ("skipped", True, "")
    assert (notice["kind"], notice["pages"], notice["text"]) == (
        "text",
        None,
        "The council meets on Tuesday.",
    )
    assert "No such file" in missing["error"]


def test_parse_feed_writes_the_entries(tmp_path: Path) -> None:
    (tmp_path / "feed.xml").write_text(FEED)
    (tmp_path / "page.html").write_text(PAGE)
    feed, page = results(
        "parse-feed",
        {
            "id": "f",
            "path": str(tmp_path / "feed.xml"),
            "url": "https://example.org/feed.xml",
        },
        {
            "id": "p",
            "path": str(tmp_path / "page.html"),
            "url": "https://example.org/feed.xml",
        },
    )
    assert feed == {
        "id": "f",
        "title": "Gazeta",
        "language": "pt-BR",
        "entries": [
            {
                "entry_id": "1",
                "url": "https://example.org/eleicoes",
                "title": "Eleições",
                "published_at": "2026-11-19T11:00:00+00:00",
                "updated_at": None,
                "authors": [],
                "summary": None,
                "categories": [],
            }
        ],
        "problems": [],
    }
    assert page["id"] == "p"
    assert page["error"]


def test_canonical_url_writes_one_url_per_line() -> None:
    done = run(
        "canonical-url",
        lines="https://Example.org/a?utm_source=x&b=1#top\nno address\n",
    )
    assert done.stdout.splitlines() == ["https://example.org/a?b=1", "no address"]


def test_dedupe_finds_the_duplicate_only() -> None:
    text = "The three lines carry nurses, bakers and factory workers between midnight and five, every day of the year."
    other = "Reservoir levels recover after the wettest October in twelve years, the water company said on Friday."
    first, copy, neighbour = results(
        "dedupe",
        {
            "id": "a",
            "url": "https://one.example/a",
            "title": "Buses",
            "text": text,
            "language": "en",
        },
        {
            "id": "b",
            "url": "https://two.example/b",
            "title": "Buses",
            "text": text.upper(),
            "language": "en",
        },
        {
            "id": "c",
            "url": "https://two.example/c",
            "title": "Water",
            "text": other,
            "language": "en",
        },
    )
    assert (first["duplicate_of"], copy["duplicate_of"], neighbour["duplicate_of"]) == (
        None,
        "a",
        None,
    )


def test_classify_writes_a_theme_or_abstains() -> None:
    vaccine, nothing = results(
        "classify",
        {
            "id": 1,
            "title": "Vacinação contra a gripe",
            "text": "A vacina chega aos postos de saúde.",
            "language": "pt",
        },
        {"id": 2, "title": "", "text": "xyzzy", "language": "en"},
    )
    assert vaccine["theme_path"][0] == "health"
    assert vaccine["enricher"] == "local"
    assert (nothing["theme_code"], nothing["theme_path"]) == (None, [])
    assert (vaccine["theme_reason"], nothing["theme_reason"]) == (
        None,
        "the text has no words of a theme",
    )


@pytest.mark.slow  # starts processes
def test_the_example_of_the_readme_gets_the_theme_that_it_is_about() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    line = next(
        line
        for line in readme.splitlines()
        if line.endswith(".venv/bin/news-assets classify")
    )
    (found,) = results("classify", json.loads(shlex.split(line)[1]))
    assert found["theme_labels"][-1] == "Juros e banco central"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "x", "--mode", "guess"), "guess"),
        (("search", "x", "--limit", "0"), "--limit"),
        (("nonsense",), "nonsense"),
        (("search",), "query"),
        (("export", "raw_articles", "--format", "xml"), "xml"),
        (("export", "raw_articles", "--from", "yesterday"), "yesterday"),
    ],
)
def test_bad_usage_exits_2_with_one_line(
    call: Call, arguments: tuple[str, ...], message: str
) -> None:
    code, _, error = call(*arguments)
    assert code == 2
    (line,) = error.splitlines()
    assert line.startswith("news-assets: ")
    assert message in line
