"""XML that is truncated, not well-formed or hostile."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from news_assets.errors import SourceError
from news_assets.sources import feed
from news_assets_tests.sources.rss_pages import SOURCE, entries, page, rss
from news_assets_tests.support.growth import grows_linearly


def test_a_truncated_feed_yields_its_whole_entries() -> None:
    body = rss(
        "<item><link>https://e.org/1</link></item><item><link>https://e.org/2</link></item>"
    )
    listing = feed.parse(page(body[: body.index("/2</link>") + 1]), SOURCE)
    assert [entry.url for entry in listing.entries] == ["https://e.org/1"]
    assert listing.problems == ("truncated document: 1 entries read", "no dates")


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: "\n\n" + body,
        lambda body: body + "<!-- x --> junk",
        lambda body: body.replace("<title>T", "<title>A &nbsp; T & <br>"),
        lambda body: body.replace("<item>", "<item><dc:creator>x</dc:creator>"),
        lambda body: body.replace("<item>", "<item><title>&#xD800;</title>"),
    ],
)
def test_a_feed_that_is_not_well_formed_is_read(damage: object) -> None:
    assert callable(damage)
    body = damage(rss("<item><link>https://e.org/1</link></item>"))
    assert [entry.url for entry in entries(body)] == ["https://e.org/1"]


def test_a_large_feed_that_is_not_well_formed_is_recovered() -> None:
    items = "".join(
        f"<item><title>caf&eacute; & {n}</title><link>https://e.org/{n}</link></item>"
        for n in range(2000)
    )
    listing = feed.parse(page(rss(items)), SOURCE)
    assert len(listing.entries) == 2000
    assert (listing.entries[7].title or "").startswith("café")
    assert listing.problems[0].startswith("not well-formed")


def test_entities_are_not_expanded() -> None:
    doctype = """<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY a "aaaaaaaaaa">
      <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>"""
    body = rss(
        "<item><title>x &f; &c;</title><link>https://e.org/1</link></item>"
    ).replace("<rss", doctype + "<rss")
    listing = feed.read(page(body), SOURCE)
    assert "root:" not in str(listing)
    assert len(str(listing)) < 2000


@pytest.mark.parametrize(
    "attack",
    [
        lambda size: "<item " + " ".join(f'a{n}="1"' for n in range(size)) + "/>",
        lambda size: "<a>" * size,
        lambda size: "<a " * size,
        lambda size: f"<item><title>{'& ' * size}</title></item>",
    ],
    ids=["attributes", "depth", "open tags", "ampersands"],
)
def test_an_attack_on_the_parser_takes_linear_time(
    attack: Callable[[int], str],
) -> None:
    def read(items: str) -> None:
        with suppress(SourceError):
            feed.parse(page(rss(items)), SOURCE)

    assert grows_linearly(read, attack)


TITLE = "Eleição – “São Paulo”"


@pytest.mark.parametrize(
    ("body_encoding", "declared", "content_type", "problem"),
    [
        ("utf-8", "utf-8", "text/xml", ()),
        ("utf-8", "", "application/xml", ()),
        (
            "utf-8",
            "iso-8859-1",
            "application/xml",
            ("encoding declared iso-8859-1, read as utf-8",),
        ),
        (
            "utf-8",
            "utf-8",
            "text/xml; charset=iso-8859-1",
            ("encoding declared iso-8859-1, read as utf-8",),
        ),
        ("cp1252", "iso-8859-1", "application/xml", ()),
        (
            "cp1252",
            "utf-8",
            "application/xml",
            ("encoding declared utf-8, read as windows-1252",),
        ),
        ("cp1252", "utf-8", "application/xml; charset=windows-1252", ()),
        ("utf-16", "utf-16", "application/xml", ()),
        ("utf-16-be", "", "application/xml", ()),
        ("utf-8-sig", "utf-16", "application/xml", ()),
        (
            "utf-8",
            "x-no-such",
            "application/xml",
            ("encoding declared x-no-such, read as utf-8",),
        ),
    ],
)
def test_a_wrong_charset_gives_no_mojibake(
    body_encoding: str, declared: str, content_type: str, problem: tuple[str, ...]
) -> None:
    body = rss(f"<item><title>{TITLE}</title><link>https://e.org/1</link></item>")
    said = f' encoding="{declared}"' if declared else ""
    document = body.replace('<?xml version="1.0"', f'<?xml version="1.0"{said}').encode(
        body_encoding
    )
    listing = feed.read(page(document, content_type), SOURCE)
    assert ([entry.title for entry in listing.entries], listing.problems) == (
        [TITLE],
        problem,
    )
