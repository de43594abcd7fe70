"""SECURITY.md matches the code: every promise names tests that exist, and the limits
are those of the code.
"""

import re
from pathlib import Path

from news_assets.clients import document_reader as reader
from news_assets.clients.sandbox import LIMIT_S, MEMORY_MB
from news_assets.clients.web.fetcher import MAX_REDIRECTS, PAGE_CAPS, HttpFetcher
from news_assets.clients.web.origins import MAX_ROBOTS_BYTES
from news_assets.commands.import_sources import MAX_LIST_BYTES
from news_assets.commands.terminal import MAX_FILE_BYTES as MAX_ITEM_BYTES
from news_assets.commands.terminal import MAX_LINE_CHARS
from news_assets.desks.yaml_nodes import MAX_DEPTH as MAX_YAML_DEPTH
from news_assets.desks.yaml_nodes import MAX_FILE_BYTES, MAX_TEXT_CHARS, MAX_VALUES
from news_assets.errors import MAX_MISTAKES
from news_assets.pipeline.page.extract import MAX_ELEMENTS as MAX_PAGE_ELEMENTS
from news_assets.pipeline.page.extract import MAX_HTML_CHARS
from news_assets.pipeline.poll.listings import MAX_PAGES
from news_assets.records.reading import MAX_PAGES as MAX_DOCUMENT_PAGES
from news_assets.sources.xml_documents import MAX_ATTRIBUTES, MAX_DEPTH, MAX_ELEMENTS
from news_assets.text import limits

_COUNTED = ("authors", "categories", "entries")


def _unit(name: str) -> str:
    return "" if name in _COUNTED else "characters"


TESTS = Path(__file__).parent
SECURITY = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
LIMITS = (
    ("page or feed, as sent", PAGE_CAPS.wire_bytes, "bytes"),
    ("page or feed, decompressed; PDF", PAGE_CAPS.body_bytes, "bytes"),
    ("robots.txt; the rest is ignored", MAX_ROBOTS_BYTES, "bytes"),
    (
        "time for one address with its redirects",
        (HttpFetcher.__init__.__kwdefaults__ or {})["total_s"],
        "s",
    ),
    ("redirects of one address", MAX_REDIRECTS, ""),
    ("pages of one listing in a poll", MAX_PAGES, ""),
    ("XML: levels", MAX_DEPTH, ""),
    ("XML: attributes of one tag", MAX_ATTRIBUTES, ""),
    ("XML: elements; the rest is cut", MAX_ELEMENTS, ""),
    ("HTML of an article, without scripts and styles", MAX_HTML_CHARS, "characters"),
    ("HTML of an article: elements", MAX_PAGE_ELEMENTS, ""),
    ("desk or taxonomy file", MAX_FILE_BYTES, "bytes"),
    ("desk or taxonomy file: levels", MAX_YAML_DEPTH, ""),
    ("desk or taxonomy file: keys and values", MAX_VALUES, ""),
    ("desk or taxonomy file: one value", MAX_TEXT_CHARS, "characters"),
    ("desk or taxonomy file: mistakes listed", MAX_MISTAKES, ""),
    ("reading one page, feed or text: time", LIMIT_S, "s"),
    ("reading one page, feed or text: memory", MEMORY_MB * 1_000_000, "bytes"),
    ("reading one document: time", reader.LIMIT_S, "s"),
    ("reading one document: memory", reader.MEMORY_MB * 1_000_000, "bytes"),
    ("recognising the text of one document: time", reader.DOCUMENT_S, "s"),
    ("document: pages", MAX_DOCUMENT_PAGES, ""),
    *(
        (f"one value: {name.replace('_', ' ')}", limit.most, _unit(name))
        for name, limit in limits.LIMITS.items()
    ),
    ("imported OPML, CSV or list", MAX_LIST_BYTES, "bytes"),
    ("line of standard input", MAX_LINE_CHARS, "characters"),
    ("file named in a line, decompressed", MAX_ITEM_BYTES, "bytes"),
)


def limits_table() -> str:
    """Return the table of limits as the code has them."""
    rows = (f"| {what} | {_amount(value, unit)} |" for what, value, unit in LIMITS)
    return "\n".join(("| limit | value |", "|---|---|", *rows))


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1e6:g} MB" if value >= 1e6 else f"{value / 1e3:g} kB"
    return f"{value:,g} {unit}".strip() if value < 1e6 else f"{value:,} {unit}".strip()


def test_the_limits_are_those_of_the_code() -> None:
    assert (
        SECURITY.partition("<!-- limits -->\n")[2].partition("\n<!-- /limits -->")[0]
        == limits_table()
    )


def test_every_promise_names_tests_and_every_test_exists() -> None:
    promises = [
        row
        for row in re.findall(r"^\| (?!promise|limit).+ \|$", SECURITY, re.MULTILINE)
        if "---" not in row
    ]
    named = {
        row: re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        for row in promises
        if row not in limits_table()
    }
    assert [row for row, tests in named.items() if not tests] == []
    missing = [
        (path, test)
        for tests in named.values()
        for path, test in tests
        if not (TESTS / path).is_file()
        or f"\ndef {test}(" not in (TESTS / path).read_text()
    ]
    assert missing == []
