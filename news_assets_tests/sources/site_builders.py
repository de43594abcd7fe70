"""Documents of a small site, for the tests of finding its sources: feeds, sitemaps and
answers of APIs, by date.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape

from news_assets_tests.sources.page_builders import html

PORTUGUESE = (
    (
        "Prefeitura abre vagas em creches",
        "As famílias podem fazer a inscrição das crianças até o fim do mês.",
    ),
    (
        "Câmara aprova reforma da praça",
        "Os vereadores votaram ontem à noite o projeto que muda o centro da cidade.",
    ),
    (
        "Biblioteca volta a funcionar",
        "Depois de dois anos de obras, o prédio recebe de novo os seus leitores.",
    ),
    (
        "Chuva fecha três estradas",
        "A defesa civil pede que os moradores não saiam de casa durante a madrugada.",
    ),
)
ENGLISH = (
    (
        "Council opens nursery places",
        "Families can register their children until the end of the month.",
    ),
    (
        "Square to be rebuilt next year",
        "Members voted last night for the plan that will change the town centre.",
    ),
    (
        "Library is open once more",
        "After two years of building work the house welcomes its readers again.",
    ),
)
News = Sequence[tuple[str, str]]


def times(newest: datetime, count: int) -> list[datetime]:
    return [newest - timedelta(hours=5 * number) for number in range(count)]


def rss(
    site: str,
    newest: datetime,
    news: News = PORTUGUESE,
    title: str = "Diário da Serra",
    language: str = "",
) -> str:
    items = "".join(
        f"<item><title>{title_}</title><link>{site}/noticia/{number}</link><description>{words}</description>"
        f"<pubDate>{format_datetime(at)}</pubDate></item>"
        for number, ((title_, words), at) in enumerate(
            zip(news, times(newest, len(news)), strict=True)
        )
    )
    stated = f"<language>{language}</language>" if language else ""
    return f'<rss version="2.0"><channel><title>{title}</title>{stated}{items}</channel></rss>'


def sitemap(site: str, newest: datetime | None, count: int = 4) -> str:
    dates = [at.isoformat() for at in times(newest, count)] if newest else [""] * count
    urls = "".join(
        f"<url><loc>{site}/noticia/{number}</loc>"
        + (f"<lastmod>{date}</lastmod>" if date else "")
        + "</url>"
        for number, date in enumerate(dates)
    )
    return (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    )


def sitemap_index(*urls: str) -> str:
    children = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{children}</sitemapindex>'


def posts(site: str, newest: datetime) -> str:
    return json.dumps(
        [
            {
                "link": f"{site}/noticia/{number}",
                "title": {"rendered": title},
                "excerpt": {"rendered": words},
                "content": {"rendered": f"<p>{words * 10}</p>"},
                "date_gmt": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            }
            for number, ((title, words), at) in enumerate(
                zip(PORTUGUESE, times(newest, 4), strict=True)
            )
        ]
    )


def search_answer(site: str, newest: datetime) -> str:
    items = [
        {
            "@id": f"{site}/{number}",
            "@type": "News Item",
            "title": title,
            "description": words,
            "effective": f"{at:%FT%TZ}",
        }
        for number, ((title, words), at) in enumerate(
            zip(PORTUGUESE, times(newest, 4), strict=True)
        )
    ]
    return json.dumps(
        {"@id": f"{site}/@search", "items": items, "items_total": len(items)}
    )


def home(
    *links: str,
    body: str = "<h1>Bem-vindos</h1><p>Uma página sem lista de notícias.</p>",
    title: str = "Serra",
) -> str:
    return html(body, title=title, head="".join(links))


def alternate(href: str, title: str = "", kind: str = "application/rss+xml") -> str:
    return f'<link rel="alternate" type="{kind}" title="{escape(title)}" href="{escape(href)}">'
