"""Templates of Plone's news listings, for `html/listing.py`. The order matters: later
rows match more than news.

Written without saved pages. The rows of gov.br follow published scrapers of
www.gov.br/{anac,aneel,anatel,anvisa,cade,compras,defesa,inep,iphan,mre,receitafederal,turismo};
the others follow Plone's own templates (plone.app.contenttypes, `listing.pt` and
`listing_summary.pt`).
"""

from typing import Final

from news_assets.sources.html.listing import Template

_BYLINES = (
    "time",
    ".documentPublished, .documentModified",
    ".documentByLine",
    ".documentAuthor",
)

TEMPLATES: Final[tuple[Template, ...]] = (
    Template(
        # collective.nitf's tiles: date, hour and content type each follow an icon
        name="tileItem",
        items="article.tileItem, div.tileItem, li.tileItem",
        title=".tileHeadline a, a.summary.url",
        times=(".summary-view-icon", *_BYLINES),
        summary=".tileBody .description, .tileBody, .description",
        categories=".subtitle, .keywords a",
        image="img.tileImage, .tileImage img",
    ),
    Template(
        # "listagem-noticias-com-foto", the most common one on gov.br
        name="ul.noticias > li",
        items="ul.noticias > li",
        title=".titulo a, h2 a, h3 a",
        times=(".data", *_BYLINES),
        summary=".descricao, .description",
        categories=".subtitulo-noticia, .categoria-noticia, .keywords a, .tags a",
    ),
    Template(
        name=".noticias-listagem",
        items=(
            ".noticias-listagem li, .noticias-listagem article, .noticias-listagem .item,"
            " li.item-noticia"
        ),
        title=".titulo a, h2 a, h3 a, .title a",
        times=(".data", ".data-noticia", *_BYLINES),
        summary=".descricao, .description, .resumo",
        categories=".subtitulo-noticia, .categoria, .keywords a, .tags a",
    ),
    Template(
        # Plone 5 (article.entry) and Plone 6 without Volto (article.row)
        name="div.entries > article",
        items="div.entries article, #content-core article.entry",
        title=".summary a, a.summary, a.url",
        times=_BYLINES,
        summary=".description, p.discreet, p.me-3",
        categories=".keywords a, .subject a",
    ),
    Template(
        name="#content-core div.item",
        items="#content-core div.item",
        title=".headline a, h2 a, h3 a, a.summary, a.url",
        times=(".documentPublished, .documentModified", *_BYLINES),
        summary=".description, .item-description, .tileBody",
        categories=".subtitle, .keywords a",
    ),
    Template(
        name=".collection-item",  # collective.cover's tile of a collection
        items=".collection-item",
        title=".titulo-noticia a, .titulo a, h2 a, h3 a",
        times=(".data-noticia", ".data", *_BYLINES),
        summary=".descricao, .description",
        categories=".subtitulo-noticia, .subtitle, .keywords a",
    ),
    Template(
        name="#content-core dt",  # folder_listing of Plone 3 and 4
        items="#content-core dl > dt",
        title=".summary a, a.summary, a.url",
        times=_BYLINES,
    ),
    Template(
        name="#content-core article",
        items="#content-core article",
        title=".summary a, a.summary, a.url, h2 a, h3 a",
        times=(".summary-view-icon", *_BYLINES),
        summary=".description",
        categories=".subtitle, .keywords a",
    ),
    Template(
        name="#content-core span.summary",
        items="#content-core li, #content-core .vevent, #content-core .listing-item",
        title="span.summary a, a.summary",
        times=_BYLINES,
        summary=".description",
    ),
)
