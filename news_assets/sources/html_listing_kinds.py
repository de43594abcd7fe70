"""The kinds of source that are HTML listings read by `html_listing.py`: `plone_listing`,
`ebc`, and `html_listing` with the CSS selectors of the desk file.

A markup is a row in a table of templates. Their order matters: later rows match more
than news. They were written without saved pages.

`plone_listing` reads news listings of classic Plone, as on most gov.br sites:
www.gov.br/mec/pt-br/assuntos/noticias. The listing is paged by `?b_start:int=30`,
counted in items, and cannot be queried by day, so a past day is reached page by page.
The rows of gov.br follow published scrapers of www.gov.br/{anac,aneel,anatel,anvisa,
cade,compras,defesa,inep,iphan,mre,receitafederal,turismo}; the others follow Plone's
own templates (plone.app.contenttypes, `listing.pt` and `listing_summary.pt`). Sites on
Plone 6 are read by `plone_search.py`.

`ebc` reads listings of Brazil's public broadcaster: agenciabrasil.ebc.com.br/ultimas
and tvbrasil.ebc.com.br/ultimas, both Drupal, paged by `?page=1` counted from 0;
agenciagov.ebc.com.br/noticias. The templates follow published scrapers of these
addresses, the last one the default markup of Drupal's Views.
"""

from dataclasses import replace
from typing import Final

from lxml.html import HtmlElement

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Selectors, Source
from news_assets.records.reading import Listing, Page
from news_assets.sources.html_document import select, words_of
from news_assets.sources.html_listing import (
    ReadPage,
    Template,
    linked_next,
    listing_changed,
    page_number,
    read_page,
    stated_next,
    with_page_number,
)
from news_assets.sources.platforms import DRUPAL, EBC, PLONE, found_instead, platform_of
from news_assets.sources.storable_entries import problem_if

# --- classic Plone --------------------------------------------------------------------


_STARTS: Final = ("b_start:int", "b_start")  # Zope accepts both
_PAGER = ".listingBar, .paginacao, .pagination"
_NEXT_WORDS = ("próxim", "next")


def parse_plone(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the next page.

    Times are read in `source.timezone`; a time of change is never used as time of
    publication. Many sites list no time or only the day. A page after the last one
    gives an empty listing.

    Raises:
        ListingChangedError: No template finds an entry; the message says what the page
            is and which were tried.
        SourceError: The document is empty.
    """
    read = read_page(page, source, PLONE_TEMPLATES)
    if read.listing.entries:
        return _continued(read, page)
    if _start_of(page) and platform_of(page) == PLONE:
        return read.listing
    raise listing_changed(page, source, PLONE_TEMPLATES)


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

PLONE_TEMPLATES: Final[tuple[Template, ...]] = (
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


# --- EBC ------------------------------------------------------------------------------


_PAGE: Final = "page"
EBC_TEMPLATES: Final[tuple[Template, ...]] = (
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


def parse_ebc(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the next page.

    Times are read in `source.timezone`. The listing scrolls endlessly, so a page with
    entries and without a pager is assumed to have a next page; a page after the last
    one gives an empty listing.

    Raises:
        ListingChangedError: No template finds an entry; the message says what the page
            is and which were tried.
        SourceError: The document is empty.
    """
    read = read_page(page, source, EBC_TEMPLATES)
    number = page_number(page.final_url, _PAGE)
    if read.listing.entries:
        following = with_page_number(page.final_url, _PAGE, number + 1)
        next_url = linked_next(read, page, _PAGE) or following
        return replace(read.listing, next_urls=(next_url,))
    if number and platform_of(page) in (DRUPAL, EBC):
        return read.listing
    raise listing_changed(page, source, EBC_TEMPLATES)


# --- the selectors of a desk file -----------------------------------------------------


_ANY_LINK: Final = "a[href]"


def parse_selected(page: Page, source: Source) -> Listing:
    """Return the entries of one listing page, newest first, and the next page where
    `next` finds one.

    The title is the text that `title` matches, else that of the link. The address is
    that of `link`, else of the title, else the first one of the item. Times are read in
    `source.timezone`, from the attribute `datetime` or the text.

    Raises:
        ListingChangedError: No item, or none with a link, unless `empty` matches.
        SourceError: The document is empty, or the source has no selectors.
    """
    selectors = source.selectors
    if selectors is None:
        raise SourceError(f"{page.url}: a source of kind {source.kind} needs selectors")
    read = read_page(page, source, [_template(selectors)])
    if read.listing.entries:
        return _complete(read, page, selectors)
    if selectors.empty and select(read.tree, selectors.empty):
        return Listing(entries=(), states_empty=True)
    raise _changed(page, source, selectors, read.tree)


def _template(selectors: Selectors) -> Template:
    links = [selectors.link]
    if not selectors.link:
        links = [selectors.title, _ANY_LINK]
    return Template(
        name="selectors",
        items=selectors.item,
        title=selectors.title or selectors.link or _ANY_LINK,
        links=tuple(filter(None, links)),
        times=tuple(filter(None, [selectors.date])),
        summary=selectors.summary,
    )


def _complete(read: ReadPage, page: Page, selectors: Selectors) -> Listing:
    listing = read.listing
    untitled = sum(entry.title is None for entry in listing.entries)
    problem = f"{untitled} of {len(listing.entries)} entries have no title"
    listing = replace(
        listing, problems=(*listing.problems, *problem_if(untitled, problem))
    )
    url = stated_next(read, page, selectors.next) if selectors.next else None
    if url is None:
        return listing
    return replace(listing, next_urls=(url,))


def _changed(
    page: Page, source: Source, selectors: Selectors, tree: HtmlElement
) -> ListingChangedError:
    count = len(select(tree, selectors.item))
    what = f"no item matches `{selectors.item}`"
    if count:
        what = f"none of {count} items has a link"
    found = found_instead(page, source.kind)
    return ListingChangedError(f"{page.url}: {what}: {found}")
