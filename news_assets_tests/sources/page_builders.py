"""Pages and sources for the tests of listings: valid by default, with what the test is
about.
"""

from datetime import UTC, datetime

from news_assets.records.desks import Selectors, Source
from news_assets.records.reading import Page

SELECTORS = Selectors(
    item="ul.news > li",
    title="h3 a",
    date=".date",
    summary="p",
    next=".pager a[href*=page]",
)


def source_of(kind: str, url: str) -> Source:
    return Source(
        source_id="mec/1",
        desk="sample",
        agency="mec",
        kind=kind,
        url=url,
        timezone="America/Sao_Paulo",
        language="pt",
        selectors=SELECTORS if kind == "html_listing" else None,
    )


def page_of(body: bytes | str, url: str, encoding: str | None = None) -> Page:
    return Page(
        url=url,
        final_url=url,
        status=200,
        body=body.encode() if isinstance(body, str) else body,
        encoding=encoding,
        fetched_at=datetime(2026, 9, 9, tzinfo=UTC),
    )


def html(
    body: str, title: str = "Notícias", head: str = "", attributes: str = ""
) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="pt-br"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
        f"<body {attributes}>{body}</body></html>"
    )


# Documents served instead of a listing, and a part of the error message that names
# each.
INSTEAD = (
    (
        html("x", head='<meta name="generator" content="Plone 6 - https://plone.org">'),
        "looks like Plone 6",
    ),
    (
        html("<form><input name=u><input type=password name=p></form>", title="Acesso"),
        "looks like a log-in page",
    ),
    (
        html('<script src="/cdn-cgi/challenge-platform/h/b/x.js"></script>'),
        "an anti-bot page (Cloudflare)",
    ),
    (
        html('<div id="root"></div><script src="/main.js"></script>'),
        "an empty page that needs JavaScript",
    ),
    (html('<link href="/wp-content/themes/a.css"><p>Olá</p>'), "looks like WordPress"),
    (
        html("<h1>Manutenção</h1>", title="Voltamos já"),
        'an HTML page of no known kind, titled "Voltamos já"',
    ),
    ('<rss version="2.0"><channel/></rss>', "looks like an RSS feed: use kind feed"),
    ('<?xml version="1.0"?><urlset/>', "looks like a sitemap: use kind sitemap"),
    ("<note/>", "XML with the root <note> of no known kind"),
    ('{"erro": 1}', "JSON of no known kind"),
    ("Service unavailable", "plain text of no known kind"),
    (b"%PDF-1.7\n\x00\xff", "looks like a PDF"),
)
