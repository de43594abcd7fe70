"""Listings of EBC, Brazil's public broadcaster: one page of Agência Brasil or TV Brasil in, a Listing out.

Addresses: agenciabrasil.ebc.com.br/ultimas and tvbrasil.ebc.com.br/ultimas, both Drupal, which page by `?page=1`
counted from 0; agenciagov.ebc.com.br/noticias has a row as well. No page was at hand when this was written: the markups
follow programs that others published and that read these addresses, the last row what Drupal's Views write.
"""

from dataclasses import replace
from datetime import date
from typing import Final

from news_assets.records import Listing, Page, Source
from news_assets.sources.html.listing import (
    ReadPage,
    Template,
    changed,
    linked_next,
    page_number,
    read_page,
    with_page_number,
)
from news_assets.sources.platforms import DRUPAL, EBC, platform_of

_PAGE: Final = "page"
TEMPLATES: Final[tuple[Template, ...]] = (
    Template(
        name=".ultima-noticia",  # Agência Brasil
        items=".ultima-noticia",
        title="a.titulo-noticia, .titulo-noticia a",
        times=(".data-publicacao .data", ".data-publicacao", ".data", "time"),
        summary=".linha-fina-noticia, .linha-fina, .resumo",
        categories=".editoria",
    ),
    Template(
        name="#view-ultimas-noticias-ajax",  # TV Brasil; its picture's link has the same title as the headline's
        items="#view-ultimas-noticias-ajax .ultima_isotope, #view-ultimas-noticias-ajax .cmpGeneric",
        title="a[title]:not(.imgHeading)",
        times=(".date-display-single", "time", ".data"),
        summary=".field-content p, p",
        categories=".txtNoticias, .editoria",
    ),
    Template(
        name="ul.demais-noticias > li",  # Agência Gov
        items="ul.demais-noticias > li",
        title=".titulo-noticia, .titulo-noticia a",
        times=(".data-noticia", "time"),
        summary=".descricao, .resumo",
    ),
    Template(
        name="h3.heading",  # Agência Brasil before its present design
        items="h3.heading",
        title="a",
    ),
    Template(
        name=".views-row of news",  # other views on these pages show related or most read articles
        items=".view[class*=noticias] .views-row, .view[class*=ultimas] .views-row",
        title=".views-field-title a, h2 a, h3 a, h4 a",
        times=(".date-display-single", ".views-field-created", "time"),
        summary=".views-field-body .field-content, .views-field-field-resumo .field-content",
    ),
)


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the page that continues it.

    Times are read in `source.timezone`. The listing loads on while it is scrolled, so a page with news is taken to be
    continued where no pager says so; a page behind the last one is an empty listing.

    Raises:
        ListingChangedError: A page without any news in it, with what it looks like and the templates that were tried.
        SourceError: Nothing at all.
    """
    read = read_page(page, source, TEMPLATES)
    if read.listing.entries:
        return replace(read.listing, next_urls=(_next_url(read, page),))
    if page_number(page.final_url, _PAGE) and platform_of(page) in (DRUPAL, EBC):
        return read.listing
    raise changed(page, source, TEMPLATES)


def day_url(source: Source, day: date) -> str:
    """Return where the listing of a past day begins: at the first page, since the listing knows no days."""
    return source.url


def _next_url(read: ReadPage, page: Page) -> str:
    number = page_number(page.final_url, _PAGE) + 1
    return linked_next(read, page, _PAGE) or with_page_number(page.final_url, _PAGE, number)
