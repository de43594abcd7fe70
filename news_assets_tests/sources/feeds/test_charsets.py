import pytest

from news_assets.sources.feeds import feed
from news_assets_tests.sources.feeds.rss_pages import SOURCE, page, rss

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
