"""Candidate addresses from a page's head, links and platform, and from usual paths."""

from hypothesis import given
from hypothesis import strategies as st

from news_assets.sources.discovery import (
    CandidateUrl,
    facts_of,
    name_of,
    robots_url,
    usual_feeds,
    usual_sitemaps,
)
from news_assets.sources.platforms import platform_of
from news_assets_tests.sources.page_builders import html, page_of
from news_assets_tests.sources.site_builders import alternate

URL = "https://example.org/cidade"
SITE = "https://example.org"


def in_head(*links: str) -> list[tuple[str, str | None]]:
    """Return address and refusal of each feed found in a head with these links."""
    return [
        (one.url, one.refusal)
        for one in facts_of(page_of(html("<p>x</p>", head="".join(links)), URL)).feeds
    ]


def in_body(*links: str) -> list[str]:
    return [one.url for one in facts_of(page_of(html("".join(links)), URL)).feeds]


def test_every_form_of_an_alternate_link_is_found() -> None:
    assert in_head(
        alternate("/feed/", "Diário » Feed"),
        alternate("//example.org/atom", kind="application/atom+xml"),
        alternate("feed.json", kind="application/feed+json"),
        alternate(
            "https://feeds.example.net/diario?a=1&b=2",
            kind="Application/RSS+XML; charset=utf-8",
        ),
        alternate("/noticias/rss.xml", kind="text/xml"),
        '<link rel="ALTERNATE home" type=application/rdf+xml href=/RSS>',
    ) == [
        (f"{SITE}/feed/", None),
        (f"{SITE}/atom", None),
        (f"{SITE}/feed.json", None),
        ("https://feeds.example.net/diario?a=1&b=2", None),
        (f"{SITE}/noticias/rss.xml", None),
        (f"{SITE}/RSS", None),
    ]


def test_comment_feeds_come_last_and_are_refused() -> None:
    assert in_head(
        alternate("/comments/feed/", "Diário » Comments Feed"),
        alternate("/2026/chuva/feed/", "Diário » Chuva fecha estradas Comments Feed"),
        alternate("/x/feed/", "Feed de comentários para Diário"),
        alternate("/feed/", "Diário » Feed"),
    ) == [
        (f"{SITE}/feed/", None),
        (f"{SITE}/comments/feed/", "a feed of comments"),
        (f"{SITE}/2026/chuva/feed/", "a feed of comments"),
        (f"{SITE}/x/feed/", "a feed of comments"),
    ]


def test_other_alternate_links_are_ignored() -> None:
    assert (
        in_head(
            '<link rel="alternate" hreflang="en" href="/en/">',
            alternate(
                "/wp-json/oembed/1.0/embed?url=x", kind="application/json+oembed"
            ),
            alternate("/oembed?format=xml", kind="text/xml+oembed"),
            alternate("/wp-json/wp/v2/pages/12", kind="application/json"),
            alternate("/agenda.ics", kind="text/calendar"),
            alternate("", "Diário"),
            alternate("javascript:void(0)"),
            '<link rel="stylesheet" type="application/rss+xml" href="/a.css">',
            alternate(URL),
        )
        == []
    )


def test_links_to_feeds_of_the_same_site_are_found() -> None:
    assert in_body(
        '<a href="/noticias/rss">RSS</a>',
        '<a href="/index.rdf">RDF</a>',
        '<a href="/?format=feed&type=rss">Joomla</a>',
        '<a href="feed:https://example.org/rss2.xml">Feed</a>',
        '<a href="/noticias/rss">again</a>',
        '<a href="/ajuda/o-que-e-rss">O que é RSS</a>',
        '<a href="https://example.net/feed">another site</a>',
        '<a href="/feedback">Fale conosco</a>',
        '<a href="http://[::1">broken</a>',
    ) == [
        f"{SITE}/noticias/rss",
        f"{SITE}/index.rdf",
        f"{SITE}/?format=feed&type=rss",
        f"{SITE}/rss2.xml",
    ]


def test_links_are_resolved_against_the_base_element() -> None:
    assert in_head('<base href="https://example.org/outra/">', alternate("rss")) == [
        (f"{SITE}/outra/rss", None)
    ]


def test_the_api_of_the_platform_is_a_candidate() -> None:
    wordpress = html('<img src="/wp-content/uploads/a.png">')
    linking = html(
        "x",
        head='<link rel="https://api.w.org/" href="https://example.org/blog/wp-json/">',
    )
    plone_6 = html(
        "x", head='<meta name="generator" content="Plone 6 - https://plone.org">'
    )
    apis = [
        facts_of(page_of(body, URL)).apis
        for body in (wordpress, linking, plone_6, html("x"))
    ]
    assert apis == [
        (
            CandidateUrl(
                url=f"{SITE}/", kind="wordpress", found_by="looks like WordPress"
            ),
        ),
        (
            CandidateUrl(
                url=f"{SITE}/blog/", kind="wordpress", found_by="looks like WordPress"
            ),
        ),
        (CandidateUrl(url=URL, kind="plone_search", found_by="looks like Plone 6"),),
        (),
    ]


def test_usual_addresses_are_below_the_page_then_at_the_root() -> None:
    page = page_of(html("x"), URL)
    assert [one.url for one in usual_feeds(URL, platform_of(page))][:4] == [
        f"{URL}/feed",
        f"{URL}/rss",
        f"{SITE}/feed",
        f"{SITE}/rss",
    ]
    assert len({one.url for one in usual_feeds(f"{SITE}/", None)}) == 7
    assert usual_sitemaps(URL, platform_of(page))[0].url == f"{SITE}/sitemap.xml"
    assert robots_url(URL, platform_of(page)) == f"{SITE}/robots.txt"


def test_usual_addresses_of_plone_stay_below_the_page() -> None:
    url = "https://www.gov.br/mec/pt-br"
    page = page_of(html("x", attributes='class="portaltype-document"'), url)
    assert [one.url for one in usual_feeds(url, platform_of(page))] == [
        f"{url}/RSS",
        f"{url}/assuntos/noticias",
        f"{url}/noticias",
    ]
    assert [one.url for one in usual_sitemaps(url, platform_of(page))] == [
        f"{url}/sitemap.xml.gz"
    ]
    assert robots_url(url, platform_of(page)) is None


def test_the_likeliest_kind_of_a_document_comes_first() -> None:
    rss = '<rss version="2.0"><channel/></rss>'
    assert facts_of(page_of(rss, URL)).kinds[0] == "feed"
    assert facts_of(page_of(rss, "https://g1.globo.com/rss/g1/")).kinds[:2] == (
        "g1",
        "feed",
    )
    assert facts_of(page_of("<urlset/>", URL)).kinds[0] == "sitemap"
    assert facts_of(
        page_of(html('<div class="feed-post-link">x</div>'), URL)
    ).kinds == (
        "g1",
        "plone_listing",
        "ebc",
    )
    assert (
        "wordpress"
        not in facts_of(page_of(html('<img src="/wp-content/a.png">'), URL)).kinds
    ), "it requests another address"


def test_only_html_pages_are_searched_for_links() -> None:
    assert facts_of(page_of(html("<p>x</p>"), URL)).is_html
    for body in (
        "",
        "{}",
        "<urlset/>",
        '<rss version="2.0"><channel/></rss>',
        "Service unavailable",
        "Erro <rss><channel>",
    ):
        assert not facts_of(page_of(body, URL)).is_html, body


def test_a_site_is_named_by_its_metadata_else_its_title() -> None:
    named = html(
        "x",
        title="Início – Diário da Serra",
        head='<meta property="og:site_name" content="Diário da Serra">',
    )
    assert facts_of(page_of(named, URL)).name == "Diário da Serra"
    assert facts_of(page_of(html("x", title="Início"), URL)).name == "Início"
    assert facts_of(page_of("<urlset/>", URL)).name is None
    assert facts_of(page_of(named, URL)).language == "pt-BR"


def test_a_name_ends_without_the_word_feed_and_is_cut() -> None:
    assert [
        name_of(one)
        for one in (
            "Diário » Feed",
            "Diário RSS",
            "Diário - RSS Feed",
            "Feed",
            "",
            None,
        )
    ] == [
        "Diário",
        "Diário",
        "Diário",
        "Feed",
        None,
        None,
    ]
    assert name_of("palavra " * 30) == ("palavra " * 10).strip()


@given(
    st.binary(max_size=300),
    st.sampled_from(
        ["", "<html><body>", '<link rel=alternate type="application/rss+xml" ']
    ),
)
def test_any_bytes_are_accepted(body: bytes, start: str) -> None:
    page = page_of(start.encode() + body, URL)
    facts = facts_of(page)
    usual = (*usual_feeds(URL, facts.platform), *usual_sitemaps(URL, facts.platform))
    for one in (*facts.feeds, *facts.apis, *usual):
        assert one.url.startswith(("http://", "https://"))
    assert facts.kinds
