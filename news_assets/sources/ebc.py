"""Listings of EBC, Brazil's public broadcaster: Agência Brasil, TV Brasil and Agência
Gov.

Addresses: agenciabrasil.ebc.com.br/ultimas and tvbrasil.ebc.com.br/ultimas, both
Drupal, paged by `?page=1` counted from 0; agenciagov.ebc.com.br/noticias. Written
without saved pages: the templates follow published scrapers of these addresses, the
last one the default markup of Drupal's Views.
"""

from dataclasses import replace
from typing import Final

from news_assets.records.desks import Source
from news_assets.records.reading import Listing, Page
from news_assets.sources.html.listing import (
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
        # TV Brasil; the picture's link carries the headline as its title too
        name="#view-ultimas-noticias-ajax",
        items=(
            "#view-ultimas-noticias-ajax .ultima_isotope, #view-ultimas-noticias-ajax .cmpGeneric"
        ),
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
        # other views on these pages show related or most read articles
        name=".views-row of news",
        items=".view[class*=noticias] .views-row, .view[class*=ultimas] .views-row",
        title=".views-field-title a, h2 a, h3 a, h4 a",
        times=(".date-display-single", ".views-field-created", "time"),
        summary=".views-field-body .field-content, .views-field-field-resumo .field-content",
    ),
)


def parse(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the next page.

    Times are read in `source.timezone`. The listing scrolls endlessly, so a page with
    entries and without a pager is assumed to have a next page; a page after the last
    one gives an empty listing.

    Raises:
        ListingChangedError: No template finds an entry; the message says what the page
            is and which were tried.
        SourceError: The document is empty.
    """
    read = read_page(page, source, TEMPLATES)
    number = page_number(page.final_url, _PAGE)
    if read.listing.entries:
        following = with_page_number(page.final_url, _PAGE, number + 1)
        next_url = linked_next(read, page, _PAGE) or following
        return replace(read.listing, next_urls=(next_url,))
    if number and platform_of(page) in (DRUPAL, EBC):
        return read.listing
    raise changed(page, source, TEMPLATES)
