"""Small sitemaps, and errors for any other document."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources import sitemap
from news_assets_tests.support.growth import MAX_SIZE, grows_linearly

SOURCE = Source(
    source_id="mec/1",
    desk="sample",
    agency="mec",
    kind="sitemap",
    url="https://example.org/sitemap.xml",
    timezone="America/Sao_Paulo",
    language="pt",
)
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
BASE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

PLAIN = f"""{HEAD}<urlset {BASE} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://example.org/sobre</loc></url>
<url><loc>/noticias/1?a=1&amp;b=2</loc><lastmod>2026-11-03</lastmod><image:image>
  <image:loc>/i/1.jpg</image:loc><image:title>Foto</image:title></image:image><priority>0.5</priority></url>
<url><loc>https://example.org/noticias/2</loc><lastmod>2026-11-04T10:30:00.5+00:00</lastmod></url>
</urlset>"""

NEWS = f"""{HEAD}<urlset {BASE} xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>https://example.org/n/1</loc><lastmod>2026-11-04T12:00:00Z</lastmod><news:news>
  <news:publication><news:name>Jornal da Vila</news:name><news:language>pt</news:language></news:publication>
  <news:publication_date>2026-11-03T08:00:00-03:00</news:publication_date>
  <news:title>Ponte &amp;amp; estrada</news:title><news:keywords>obras, trânsito , obras,</news:keywords>
  </news:news></url>
<url><loc>https://example.org/n/2</loc><news:news>
  <news:publication><news:name>Jornal da Vila</news:name><news:language>pt</news:language></news:publication>
  <news:publication_date>2026-11-04</news:publication_date><news:title><![CDATA[Chuva & sol]]></news:title></news:news>
</url></urlset>"""

INDEX = f"""{HEAD}<sitemapindex {BASE}>
<sitemap><loc>https://example.org/author-sitemap.xml</loc><lastmod>2026-11-05T00:00:00Z</lastmod></sitemap>
<sitemap><loc>https://example.org/old.xml</loc></sitemap>
<sitemap><loc>https://example.org/sitemap-2026-10.xml</loc><lastmod>2026-11-05T00:00:00Z</lastmod></sitemap>
<sitemap><loc>https://example.org/sitemap-2026-11.xml</loc></sitemap>
<sitemap><loc>https://example.org/b.xml</loc><lastmod>2026-09-01</lastmod></sitemap>
<sitemap><loc>https://example.org/sitemap-news.xml</loc></sitemap>
<sitemap><loc>https://example.org/sitemap.xml</loc></sitemap>
</sitemapindex>"""

ROBOTS = """# robots
User-agent: *
Disallow: /admin  # private
Sitemap: https://example.org/a.xml
sitemap : /news.xml
"""

TEXT = "https://example.org/1\r\nhttps://example.org/2\n\nhttps://example.org/1\nnada\n"


def compressed(body: bytes) -> bytes:
    """Return it as gzip, the same bytes at any time: tests are named after them."""
    return gzip.compress(body, mtime=0)


SAMPLES = {"plain": PLAIN, "news": NEWS, "index": INDEX, "robots": ROBOTS, "text": TEXT}


def page(body: bytes | str, url: str = SOURCE.url) -> Page:
    return Page(
        url=url,
        final_url=url.partition("#")[0],
        status=200,
        body=body.encode() if isinstance(body, str) else body,
        fetched_at=datetime(2026, 11, 5, tzinfo=UTC),
    )


def listing(body: bytes | str, url: str = SOURCE.url) -> Listing:
    return sitemap.parse(page(body, url), SOURCE)


def plain_entry(number: int, **stated: object) -> ListedEntry:
    url = f"https://example.org/{number}"
    return replace(ListedEntry(entry_id=url, url=url), **stated)  # type: ignore[arg-type]


def urlset(count: int, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> str:
    items = (
        f"<url><loc>https://example.org/{n}</loc><lastmod>{(start + timedelta(hours=n)).isoformat()}</lastmod></url>"
        for n in range(count)
    )
    return f"{HEAD}<urlset {BASE}>{''.join(items)}</urlset>"


def test_a_plain_sitemap_has_times_of_change_only() -> None:
    assert listing(PLAIN) == Listing(
        entries=(
            ListedEntry(
                entry_id="https://example.org/noticias/2",
                url="https://example.org/noticias/2",
                updated_at=datetime(2026, 11, 4, 10, 30, tzinfo=UTC),
            ),
            ListedEntry(
                entry_id="https://example.org/noticias/1?a=1&b=2",
                url="https://example.org/noticias/1?a=1&b=2",
                image_url="https://example.org/i/1.jpg",
                updated_at=datetime(2026, 11, 3, 3, tzinfo=UTC),
            ),
            ListedEntry(
                entry_id="https://example.org/sobre", url="https://example.org/sobre"
            ),
        )
    )


NEWS_LISTING = Listing(
    title="Jornal da Vila",
    language="pt",
    entries=(
        ListedEntry(
            entry_id="https://example.org/n/2",
            url="https://example.org/n/2",
            title="Chuva & sol",
            published_at=datetime(2026, 11, 4, 3, tzinfo=UTC),
        ),
        ListedEntry(
            entry_id="https://example.org/n/1",
            url="https://example.org/n/1",
            title="Ponte & estrada",
            categories=("obras", "trânsito"),
            published_at=datetime(2026, 11, 3, 11, tzinfo=UTC),
            updated_at=datetime(2026, 11, 4, 12, tzinfo=UTC),
        ),
    ),
)


def test_a_news_sitemap_is_read() -> None:
    assert listing(NEWS) == NEWS_LISTING


@pytest.mark.parametrize(
    "body",
    [
        NEWS.replace("xmlns:news", "xmlns:x").replace("<news:", "<x:").replace("</news:", "</x:"),
        NEWS.replace(' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"', ""),
        NEWS.replace(BASE, 'xmlns="http://www.google.com/schemas/sitemap/0.84"'),
        NEWS.replace("<url>", "<s:url>").replace("</url>", "</s:url>").replace("<loc>", "<s:loc>")
        .replace("</loc>", "</s:loc>").replace("urlset", "s:urlset").replace("xmlns=", "xmlns:s=")
        .replace("lastmod>", "s:lastmod>").replace("</s:lastmod", "</s:lastmod").replace("</lastmod", "</s:lastmod"),
        "\ufeff\n" + NEWS,
        compressed(NEWS.encode()),
        compressed(NEWS[:200].encode()) + compressed(NEWS[200:].encode()),
        NEWS.replace("UTF-8", "UTF-16").encode("utf-16"),
    ],
    ids=["prefix", "undeclared", "namespace", "prefixed", "mark", "gzip", "gzip members", "utf-16"],
)  # fmt: skip
def test_encoding_compression_and_prefixes_do_not_matter(body: bytes | str) -> None:
    assert listing(body).entries == NEWS_LISTING.entries


def test_an_index_is_ordered_by_news_then_date() -> None:
    names = (
        "sitemap-news",
        "sitemap-2026-11",
        "sitemap-2026-10",
        "b",
        "old",
        "author-sitemap",
    )
    assert listing(INDEX) == Listing(
        entries=(), next_urls=tuple(f"https://example.org/{name}.xml" for name in names)
    )


def test_a_past_day_selects_children_and_entries() -> None:
    url = sitemap.day_url(SOURCE, date(2026, 10, 20))
    assert url == "https://example.org/sitemap.xml#day=2026-10-20"
    names = ("sitemap-2026-10", "old", "sitemap-news", "author-sitemap")
    assert listing(INDEX, url).next_urls == tuple(
        f"https://example.org/{name}.xml#day=2026-10-20" for name in names
    )
    of_the_fourth = listing(NEWS, "https://example.org/n.xml#day=2026-11-04")
    assert [entry.title for entry in of_the_fourth.entries] == ["Chuva & sol"]
    assert [
        entry.url[-2:]
        for entry in listing(PLAIN, "https://e.org/s.xml#day=2026-11-04").entries
    ] == ["/2", "re"]


def test_robots_txt_names_its_sitemaps() -> None:
    assert listing(ROBOTS, "https://example.org/robots.txt") == Listing(
        entries=(),
        next_urls=("https://example.org/news.xml", "https://example.org/a.xml"),
    )


def test_a_text_sitemap_has_one_address_a_line() -> None:
    addresses = [plain_entry(1), plain_entry(2)]
    nada = ListedEntry(
        entry_id="https://example.org/nada", url="https://example.org/nada"
    )
    assert listing(TEXT) == Listing(entries=(*addresses, nada))


def test_a_feed_is_a_sitemap_too() -> None:
    rss = "<rss version='2.0'><channel><item><title>A</title><link>https://example.org/1</link></item></channel></rss>"
    assert [entry.title for entry in listing(rss).entries] == ["A"]


def test_the_newest_entries_are_used_and_the_others_counted() -> None:
    found = listing(urlset(10_050))
    assert found.problems == ("10,000 of 10,050 entries are used: 50 skipped",)
    assert (found.entries[0].url, found.entries[-1].url) == (
        "https://example.org/10049",
        "https://example.org/50",
    )
    assert found.is_whole


def test_the_entries_closest_to_a_past_day_are_used() -> None:
    found = listing(urlset(10_050), f"{SOURCE.url}#day=2026-01-01")
    assert found.entries[-1].url == "https://example.org/3"


@pytest.mark.parametrize(
    "end",
    [
        "<url><loc>https://example.org/ot",
        "<url><loc>https://example.org/ot</loc>",
        "<ur",
    ],
)
def test_a_truncated_sitemap_gives_its_whole_entries(end: str) -> None:
    body = f"<urlset {BASE}><url><loc>https://example.org/1</loc></url>{end}"
    problems = ("truncated document: 1 addresses read",)
    assert listing(body) == Listing(
        entries=(plain_entry(1),), is_whole=False, problems=problems
    )


def test_a_truncated_gzip_is_not_whole() -> None:
    found = listing(compressed(PLAIN.encode())[:-60])
    assert (found.is_whole, found.problems[0]) == (False, "truncated gzip")


def test_a_bare_ampersand_is_kept_in_the_address() -> None:
    body = "<urlset><url><loc>https://example.org/?b=1&c=2&amp;d=3</loc></url></urlset>"
    assert [entry.url for entry in listing(body).entries] == [
        "https://example.org/?b=1&c=2&d=3"
    ]
    in_cdata = "<urlset><url><loc><![CDATA[https://example.org/?b=1&c=2]]></loc></url></urlset>"
    assert [entry.url for entry in listing(in_cdata).entries] == [
        "https://example.org/?b=1&c=2"
    ]


def test_an_error_of_form_loses_one_item_only() -> None:
    body = "<urlset><url><loc>https://example.org/1</loc></url><url><loc>a<b</loc></url><url><loc>/2</loc></url></urlset>"
    found = listing(body)
    assert [entry.url for entry in found.entries] == [
        "https://example.org/1",
        "https://example.org/2",
    ]
    assert found.problems == (
        "not well-formed: not well-formed (invalid token): line 1, column 64: 2 addresses read",
    )


def test_an_unusable_address_is_skipped_with_a_problem() -> None:
    locs = ("javascript:alert(1)", "ftp://example.org/1", "/" + "a" * 9000, "/1")
    body = (
        "<urlset>"
        + "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
        + "<url/></urlset>"
    )
    assert listing(body) == Listing(
        entries=(plain_entry(1),), problems=("4 addresses cannot be used: skipped",)
    )


@pytest.mark.parametrize("body", ["<urlset/>", f"{HEAD}<urlset {BASE}>\n</urlset>"])
def test_a_sitemap_without_addresses_is_an_empty_listing(body: str) -> None:
    assert listing(body) == Listing(entries=(), problems=("no entries",))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "<!DOCTYPE html><html><head><title>Início</title></head><body>x</body></html>",
            "an HTML page",
        ),
        (
            "<html><body><form><input type=password></form></body></html>",
            "a log-in page",
        ),
        ("<kml><Document/></kml>", "XML with the root <kml>"),
        (
            '{"version": "https://jsonfeed.org/version/1", "items": []}',
            "a JSON feed: use kind json_feed",
        ),
        ("User-agent: *\nDisallow:", "robots.txt names no sitemap"),
        ("just words", "plain text"),
        ("%PDF-1.7", "a PDF"),
        (compressed(compressed(PLAIN.encode())), "compressed twice"),
    ],
)
def test_any_other_document_is_a_changed_listing_and_named(
    body: bytes | str, reason: str
) -> None:
    with pytest.raises(ListingChangedError) as caught:
        listing(body)
    assert str(caught.value).startswith(f"{SOURCE.url}: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "an empty document"),
        (" \n", "an empty document"),
        (compressed(b""), "an empty document"),
        (b"\x1f\x8bnonsense", "gzip that cannot be read"),
        (
            compressed(b" " * (sitemap.MAX_BYTES + 1)),
            "more than 52,428,800 bytes decompressed",
        ),
        (
            '<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>',
            "XML that declares entities",
        ),
    ],
)
def test_an_empty_broken_or_hostile_document_is_an_error(
    body: bytes | str, reason: str
) -> None:
    with pytest.raises(SourceError, match=reason):
        listing(body)


@pytest.mark.parametrize(
    "attack",
    [
        lambda size: "<urlset>" + "<a " * size,
        lambda size: "<urlset>" + "<url><loc>" * size,
        lambda size: "<urlset " + " ".join(f'a{n}="1"' for n in range(size)) + "/>",
        lambda size: "<urlset>" + "<url>&</url" * size,
        lambda size: "Sitemap: /a.xml\n" * size,
        lambda size: compressed(b"") * size,
    ],
    ids=["open tags", "depth", "attributes", "mistakes", "robots", "members"],
)
def test_an_attack_on_the_parser_takes_linear_time(
    attack: Callable[[int], bytes | str],
) -> None:
    def read(document: bytes | str) -> None:
        with suppress(SourceError):
            listing(document)

    # a copy of megabytes leaves the processor's cache and costs more than in proportion
    is_copied = isinstance(attack(1), bytes)
    assert grows_linearly(read, attack, 40_000 if is_copied else MAX_SIZE)


@given(st.sampled_from(sorted(SAMPLES)), st.binary(max_size=200), st.integers(0, 2000))
def test_any_bytes_give_a_listing_or_a_source_error(
    name: str, noise: bytes, at: int
) -> None:
    body = SAMPLES[name].encode()
    for document in (
        noise,
        body[:at] + noise + body[at:],
        body[:at],
        compressed(body)[:at] + noise,
    ):
        try:
            found = listing(document)
        except NewsAssetsError as error:
            assert SOURCE.url in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert found == listing(document)
            assert len({entry.entry_id for entry in found.entries}) == len(
                found.entries
            )
            assert all(
                entry.url.startswith(("http://", "https://")) and entry.title != ""
                for entry in found.entries
            )
