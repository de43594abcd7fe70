"""News listings of classic Plone, as on most gov.br sites:
www.gov.br/mec/pt-br/assuntos/noticias.

The listing is paged by `?b_start:int=30`, counted in items, and cannot be queried by
day, so a past day is reached page by page. The markups are rows of TEMPLATES; sites on
Plone 6 are read by `search_api.py`.

The order of the templates matters: later rows match more than news. They were written
without saved pages. The rows of gov.br follow published scrapers of www.gov.br/{anac,
aneel,anatel,anvisa,cade,compras,defesa,inep,iphan,mre,receitafederal,turismo}; the
others follow Plone's own templates (plone.app.contenttypes, `listing.pt` and
`listing_summary.pt`).
"""

from dataclasses import replace
from typing import Final

from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page
from news_assets.sources.html.document import select, words_of
from news_assets.sources.html.listing import (
    ReadPage,
    Template,
    changed,
    linked_next,
    page_number,
    read_page,
    with_page_number,
)
from news_assets.sources.platforms import PLONE, platform_of

_STARTS: Final = ("b_start:int", "b_start")  # Zope accepts both
_PAGER = ".listingBar, .paginacao, .pagination"
_NEXT_WORDS = ("próxim", "next")


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the next page.

    Times are read in `source.timezone`; a time of change is never used as time of
    publication. Many sites list no time or only the day. A page after the last one
    gives an empty listing.

    Raises:
        ListingChangedError: No template finds an entry; the message says what the page
            is and which were tried.
        SourceError: The document is empty.
    """
    read = read_page(page, source, TEMPLATES)
    if read.listing.entries:
        return _continued(read, page)
    if _start_of(page) and platform_of(page) == PLONE:
        return read.listing
    raise changed(page, source, TEMPLATES)


def _start_of(page: Page) -> int:
    return max(page_number(page.final_url, name) for name in _STARTS)


def _continued(read: ReadPage, page: Page) -> Listing:
    urls = [linked_next(read, page, name) for name in _STARTS]
    if not any(urls) and _has_next_label(read):
        following = _start_of(page) + read.item_count
        urls.append(with_page_number(page.final_url, _STARTS[0], following))
    return replace(read.listing, next_urls=tuple(filter(None, urls))[:1])


def _has_next_label(read: ReadPage) -> bool:
    """Return whether the pager is labelled "next", for pagers whose links cannot be
    read.
    """
    for pager in select(read.tree, _PAGER):
        label = words_of(pager).lower()
        if any(word in label for word in _NEXT_WORDS):
            return True
    return False


# --- templates ------------------------------------------------------------------------

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
