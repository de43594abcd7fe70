"""One document per behaviour; the expected listing is compared whole where a document
is meant to be complete.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.reading import ListedEntry, Listing
from news_assets.sources import feed
from news_assets_tests.sources.rss_pages import SOURCE, entries, page, rss

FULL_RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
     xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom">
<channel><title>Not&#237;cias</title><link>https://example.org/site/</link><language>pt_br</language><ttl>30</ttl>
<item>
  <title>Educa&amp;ccedil;&amp;atilde;o &lt;b&gt;b&#225;sica&lt;/b&gt;</title>
  <link>/noticias/1</link><guid isPermaLink="false">n-1</guid>
  <description>&lt;p&gt;Resumo.&lt;/p&gt;</description>
  <content:encoded><![CDATA[<p onclick="x()">Texto <img src="/i.png"></p><script>y()</script>]]></content:encoded>
  <dc:creator>Ana</dc:creator><category>Ensino</category><category>Ensino</category><category>Verba</category>
  <media:content url="https://example.org/s.jpg" medium="image" width="100"/>
  <media:content url="https://example.org/l.jpg" medium="image" width="900"/>
  <pubDate>Tue, 08 Sep 2026 14:30:00 -0300</pubDate><atom:updated>2026-09-08T18:00:00Z</atom:updated>
</item></channel></rss>"""

FULL_ENTRY = ListedEntry(
    entry_id="n-1",
    url="https://example.org/noticias/1",
    title="Educação básica",
    summary="Resumo.",
    content_html='<p>Texto <img src="https://example.org/i.png"></p>',
    authors=("Ana",),
    categories=("Ensino", "Verba"),
    image_url="https://example.org/l.jpg",
    published_at=datetime(2026, 9, 8, 17, 30, tzinfo=UTC),
    updated_at=datetime(2026, 9, 8, 18, 0, tzinfo=UTC),
)


def test_an_rss_feed_is_read() -> None:
    expected = Listing(
        entries=(FULL_ENTRY,), title="Notícias", language="pt-BR", ttl_s=1800
    )
    assert feed.parse(page(FULL_RSS), SOURCE) == expected


def test_an_atom_feed_is_read() -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en-us" xml:base="https://example.org/blog/">
    <title>B</title><entry><id>tag:example.org,2026:1</id><title type="html">A &amp;amp; B</title>
    <link rel="self" href="self.xml"/><link rel="alternate" href="one"/><summary>s</summary>
    <content type="html">&lt;p&gt;text&lt;/p&gt;</content><author><name>Ana</name></author>
    <category term="x" label="X"/>
    <published>2026-09-08T10:00:00Z</published><updated>2026-09-08T11:00:00Z</updated></entry></feed>"""
    assert feed.parse(page(atom), SOURCE) == Listing(
        title="B",
        language="en-US",
        entries=(
            ListedEntry(
                entry_id="tag:example.org,2026:1",
                url="https://example.org/blog/one",
                title="A & B",
                summary="s",
                content_html="<p>text</p>",
                authors=("Ana",),
                categories=("X",),
                published_at=datetime(2026, 9, 8, 10, tzinfo=UTC),
                updated_at=datetime(2026, 9, 8, 11, tzinfo=UTC),
            ),
        ),
    )


def test_a_json_feed_is_read() -> None:
    body = """{"version": "https://jsonfeed.org/version/1.1", "title": "J", "language": "en", "items": [{
      "id": 12345678901234567890, "url": "/one", "title": "A &amp; B", "summary": "s",
      "content_html": "<p>t<script>x</script></p>",
      "authors": [{"name": "Ana"}], "author": {"name": "Ana"}, "tags": ["x", 3], "image": "i.png",
      "date_published": "2026-09-08T10:00:00", "date_modified": "2026-09-08T11:00:00Z"}, 7]}"""
    assert feed.parse(page(body, "application/feed+json"), SOURCE) == Listing(
        title="J",
        language="en",
        problems=("1 items are not objects: skipped",),
        entries=(
            ListedEntry(
                entry_id="12345678901234567890",
                url="https://example.org/one",
                title="A & B",
                summary="s",
                content_html="<p>t</p>",
                authors=("Ana",),
                categories=("x",),
                image_url="https://example.org/i.png",
                published_at=datetime(2026, 9, 8, 13, tzinfo=UTC),
                updated_at=datetime(2026, 9, 8, 11, tzinfo=UTC),
            ),
        ),
    )


def test_the_date_of_a_plone_rdf_feed_is_that_of_publication() -> None:
    rdf = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>T</title></channel>
    <item rdf:about="https://example.org/1"><title>a</title><link>https://example.org/1</link>
    <dc:date>2026-09-08T14:30:00</dc:date></item></rdf:RDF>"""
    assert [entry.published_at for entry in entries(rdf)] == [
        datetime(2026, 9, 8, 17, 30, tzinfo=UTC)
    ]


def test_entries_come_newest_first_if_all_have_a_time() -> None:
    old = "<item><link>https://e.org/old</link><pubDate>Mon, 07 Sep 2026 10:00:00 GMT</pubDate></item>"
    new = "<item><link>https://e.org/new</link><pubDate>Tue, 08 Sep 2026 10:00:00 GMT</pubDate></item>"
    none = "<item><link>https://e.org/none</link></item>"
    assert [entry.url for entry in entries(rss(old + new))] == [
        "https://e.org/new",
        "https://e.org/old",
    ]
    assert [entry.url for entry in entries(rss(none + new))] == [
        "https://e.org/none",
        "https://e.org/new",
    ]


def test_the_canonical_url_is_the_fallback_id() -> None:
    listed = entries(rss("<item><link>https://e.org/1?utm_source=rss</link></item>"))
    assert [(entry.entry_id, entry.url) for entry in listed] == [
        ("https://e.org/1", "https://e.org/1?utm_source=rss")
    ]


def test_entries_that_share_an_id_are_all_kept() -> None:
    items = "".join(
        f"<item><link>https://e.org/{n}</link><guid isPermaLink='false'>same</guid></item>"
        for n in (1, 2)
    )
    assert [entry.entry_id for entry in entries(rss(items))] == [
        "https://e.org/1",
        "https://e.org/2",
    ]


def test_the_original_link_precedes_feedburners() -> None:
    body = rss(
        "<item><link>https://feedproxy.example/~r/1</link><f:origLink>https://e.org/1</f:origLink></item>"
    ).replace("<rss", '<rss xmlns:f="http://rssnamespace.org/feedburner/ext/1.0"')
    assert [entry.url for entry in entries(body)] == ["https://e.org/1"]


@pytest.mark.parametrize(
    "link", ["", "<link>javascript:alert(1)</link>", "<link>ftp://e.org/1</link>"]
)
def test_an_entry_without_a_web_address_is_skipped_with_a_problem(link: str) -> None:
    body = rss(
        f"<item><title>a</title>{link}</item><item><title>b</title><link>https://e.org/b</link></item>"
    )
    listing = feed.parse(page(body), SOURCE)
    assert [entry.title for entry in listing.entries] == ["b"]
    assert listing.problems == ("entry 1 has no link: skipped", "no dates")


def test_read_keeps_an_entry_without_a_web_address() -> None:
    listing = feed.read(page(rss("<item><title>a</title></item>")), SOURCE)
    assert [(entry.title, entry.url) for entry in listing.entries] == [("a", "")]


def test_a_password_in_a_link_is_not_kept() -> None:
    assert [
        entry.url
        for entry in entries(rss("<item><link>https://u:p@e.org/1</link></item>"))
    ] == ["https://e.org/1"]


def test_a_feed_without_entries_has_a_problem() -> None:
    assert feed.parse(page(rss("")), SOURCE) == Listing(
        entries=(), title="T", problems=("no entries",)
    )


SY = 'xmlns:x="http://purl.org/rss/1.0/modules/syndication/"'


@pytest.mark.parametrize(
    ("hint", "ttl_s"),
    [
        ("<ttl>\n 60 </ttl>", 3600),
        ("<ttl>1.5</ttl>", 90),
        ("<ttl>0</ttl>", None),
        ("<ttl>-5</ttl>", None),
        ("<ttl>60 min</ttl>", None),
        ("<ttl>" + "9" * 400 + "</ttl>", None),
        ("<ttl>\u0663\u0660</ttl>", 1800),  # 30 in Arabic digits
        ("<x:updatePeriod>hourly</x:updatePeriod>", 3600),
        ("<x:updatePeriod>\n Hourly </x:updatePeriod><x:updateFrequency> 2 </x:updateFrequency>", 1800),
        ("<x:updatePeriod>daily</x:updatePeriod><x:updateFrequency>4</x:updateFrequency>", 21_600),
        ("<x:updatePeriod>weekly</x:updatePeriod>", 604_800),
        ("<x:updatePeriod>monthly</x:updatePeriod>", 2_592_000),
        ("<x:updatePeriod>yearly</x:updatePeriod>", 31_536_000),
        ("<x:updatePeriod>daily</x:updatePeriod><x:updateFrequency>0</x:updateFrequency>", 86_400),
        ("<x:updatePeriod>daily</x:updatePeriod><x:updateFrequency>-1</x:updateFrequency>", 86_400),
        ("<x:updatePeriod>daily</x:updatePeriod><x:updateFrequency>often</x:updateFrequency>", 86_400),
        ("<x:updatePeriod>now and then</x:updatePeriod><x:updateFrequency>2</x:updateFrequency>", None),
        ("<ttl>never</ttl><x:updatePeriod>hourly</x:updatePeriod>", 3600),
        ("<ttl>15</ttl><x:updatePeriod>yearly</x:updatePeriod>", 900),
    ],
)  # fmt: skip
def test_the_update_interval_is_read(hint: str, ttl_s: float | None) -> None:
    assert (
        feed.parse(page(rss("", hint).replace("<rss", f"<rss {SY}")), SOURCE).ttl_s
        == ttl_s
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "<!-- x --><!DOCTYPE html><title>Home</title>",
            'not a feed: an HTML page of no known kind, titled "Home"',
        ),
        (
            "<html><form><input type=password></form></html>",
            "not a feed: looks like a log-in page",
        ),
        (
            '<html><link href="/wp-content/a.css"></html>',
            "not a feed: looks like WordPress: use kind wordpress",
        ),
        ("%PDF-1.7 <</Type/Catalog>>", "not a feed: looks like a PDF"),
        ("just words", "not a feed: plain text of no known kind"),
        (
            "<urlset><url/></urlset>",
            "not a feed: looks like a sitemap: use kind sitemap",
        ),
        ("<note/>", "not a feed: XML with the root <note> of no known kind"),
        ('{"error": "no"}', "JSON but not a feed: no list of items"),
        ("[]", "JSON but not a feed: no list of items"),
        (
            '{"code": "rest_no_route"}',
            "JSON but not a feed: no list of items; looks like WordPress: use kind wordpress",
        ),
        ("[" * 100_000, "JSON nested too deeply"),
    ],
)
def test_any_other_document_is_a_changed_listing_and_named(
    body: str, reason: str
) -> None:
    with pytest.raises(ListingChangedError) as caught:
        feed.parse(page(body), SOURCE)
    assert str(caught.value) == f"{SOURCE.url}: {reason}"


@pytest.mark.parametrize("body", ["", " \n", "\ufeff", '{"items": [', "{"])
def test_an_empty_or_truncated_document_is_an_error(body: str) -> None:
    with pytest.raises(SourceError):
        feed.parse(page(body), SOURCE)


@given(st.binary(max_size=300), st.integers(0, len(FULL_RSS)))
def test_any_bytes_give_a_listing_or_a_source_error(noise: bytes, at: int) -> None:
    body = FULL_RSS.encode()
    for document in (noise, body[:at] + noise + body[at:], body[:at]):
        try:
            assert isinstance(feed.parse(page(document), SOURCE), Listing)
        except NewsAssetsError as error:
            assert SOURCE.url in str(error)  # noqa: PT017 - either outcome is right
