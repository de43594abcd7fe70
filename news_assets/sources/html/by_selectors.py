"""Listing pages that no other kind knows, read with the CSS selectors of the desk file
(kind `html_listing`).

An item needs a link; title, time and summary are optional. Sites with a kind of their
own are not read here.
"""

from dataclasses import replace
from typing import Final

from lxml.html import HtmlElement

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Selectors, Source
from news_assets.records.reading import Listing, Page
from news_assets.sources.html.document import select
from news_assets.sources.html.listing import ReadPage, Template, read_page, stated_next
from news_assets.sources.platforms import found_instead
from news_assets.sources.storable_entries import problem_if

_ANY_LINK: Final = "a[href]"


def parse(page: Page, source: Source) -> Listing:
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
