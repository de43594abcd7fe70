"""The command `try-page`, and the listings of `try-source` that selectors read: rules of a
site are tried before they stand in a desk file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from textwrap import indent
from typing import Annotated, Any, Final

import typer
from pydantic import ValidationError

from news_assets.commands.terminal import Json, documents, report, write_line
from news_assets.desks.desk_files import explain, load_desks
from news_assets.desks.desk_spec import BY_SELECTORS
from news_assets.desks.import_plan import (
    ImportRow,
    pasted_text,
    plan_import,
    web_address,
)
from news_assets.desks.source_options import PageRuleSpec, SelectorsSpec
from news_assets.desks.yaml_nodes import one_line, quoted
from news_assets.errors import NewsAssetsError, without_credentials
from news_assets.pipeline.page.extract import rule_on
from news_assets.pipeline.page.readers import read_page, with_document
from news_assets.ports.services import PageRequest, Sandbox
from news_assets.records.desks import Access, Agency, Desk, PageRule, Selectors, Source
from news_assets.records.reading import ExtractedArticle, Listing, Page
from news_assets.settings import Settings
from news_assets.sources.html_listing_kinds import parse_selected
from news_assets.sources.selector_proposal import propose
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.text.urls import is_same_site

# --- try-page -------------------------------------------------------------------------

_SHOWN_FIELDS: Final = (
    "title",
    "subtitle",
    "authors",
    "published_at",
    "published_origin",
    "section",
    "language",
)
# of a site that no desk has
_USUAL: Final = Agency(key="", name="", timezone="UTC", language="en", sources=())


_Url = Annotated[str, typer.Argument(help="address of an article")]
_Content = Annotated[
    str | None, typer.Option(help="CSS selector of what holds the text")
]
_Remove = Annotated[
    str | None, typer.Option(help="CSS selector of what is dropped first")
]
_Date = Annotated[
    str | None, typer.Option(help="CSS selector of the time of publication")
]


def try_page(
    url: _Url,
    content: _Content = None,
    remove: _Remove = None,
    date: _Date = None,
    as_json: Json = False,
) -> None:
    """Read one page as the agency's pages are read, or with the given selectors, and
    show what was found.

    Raises:
        NewsAssetsError: The page cannot be fetched, or holds no article.
    """
    address = web_address(without_credentials(url))
    if address is None:
        raise typer.BadParameter(f"{quoted(url)} is not a web address")
    given = {"content": content, "remove": remove, "date": date}
    stated = _rule(_stated(given))
    agency, access = _agency_of(address)
    found, plain, rule = _read(address, agency, access, stated)
    if as_json:
        about = {
            "address": address,
            "agency": agency.key or None,
            "rule": asdict(rule) if rule else None,
        }
        write_line(about | asdict(found))
    else:
        _show(found, plain, rule, is_stated=stated is not None)
    if found.outcome != "ok":
        raise NewsAssetsError(f"no article on {address}: {found.reason}")


def _rule(given: Mapping[str, str]) -> PageRule | None:
    """Return the rule of these selectors, by the names of their options."""
    try:
        if given:
            return PageRuleSpec.model_validate(given).rule()
        return None
    except ValidationError as error:
        raise _bad_parameter(error) from None


def _bad_parameter(error: ValidationError) -> typer.BadParameter:
    return typer.BadParameter("; ".join(map(explain, error.errors())))


def _agency_of(url: str) -> tuple[Agency, Access]:
    """Return the agency whose source on this site has the longest beginning in common,
    and how that is requested.
    """
    best = _USUAL
    access = Access()
    longest = -1
    for desk in load_desks(Settings.read().desks, ALL_KINDS):
        for agency in desk.agencies:
            for source in agency.sources:
                if not is_same_site(source.url, url):
                    continue
                length = _common_length(source.url, url)
                if length > longest:
                    best = agency
                    access = source.access
                    longest = length
    return best, access


def _common_length(first: str, second: str) -> int:
    for length, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return length
    return min(len(first), len(second))


def _read(
    url: str, agency: Agency, access: Access, stated: PageRule | None
) -> tuple[ExtractedArticle, ExtractedArticle, PageRule | None]:
    """Return the article read with the stated rule or the agency's, without any, and
    that rule.
    """
    from news_assets.clients.factory import open_ports

    with open_ports(Settings.read(), ["fetcher", "sandbox"]) as ports:
        fetched = ports["fetcher"].fetch(
            PageRequest(url, obeys_robots=False, access=access)
        )
        page = with_document(fetched, ports["sandbox"], agency.language)
        plain = _article(page, agency, ports["sandbox"])
        rule = stated
        if rule is None:
            published_at = plain.published_at or datetime.now(UTC)
            rule = rule_on(agency.page_rules, published_at.date())
        found = plain
        if rule is not None:
            found = _article(replace(page, rule=rule), agency, ports["sandbox"])
    return found, plain, rule


def _article(page: Page, agency: Agency, sandbox: Sandbox) -> ExtractedArticle:
    [article] = sandbox.run(read_page, [(page, agency.timezone, agency.language)])
    if isinstance(article, NewsAssetsError):
        raise article
    return article


def _show(
    found: ExtractedArticle,
    plain: ExtractedArticle,
    rule: PageRule | None,
    *,
    is_stated: bool,
) -> None:
    """Write what was found to standard error, and the text, or the block for a desk
    file, to standard output.
    """
    text = found.text or ""
    text_before = plain.text or ""
    for name in _SHOWN_FIELDS:
        value = getattr(found, name)
        if isinstance(value, tuple):
            value = ", ".join(value)
        report(f"  {name:16} {value or '-'}")
    reason = f": {found.reason}" if found.reason else ""
    report(f"  {'outcome':16} {found.outcome}{reason}")
    if rule is not None:
        before, after = len(text_before), len(text)
        change = "the same text" if found.text == plain.text else "another text"
        report(f"  {'text':16} {after} characters; without the rule {before}, {change}")
    report("")
    if rule is not None and is_stated:
        documents.write(_block(rule))
    else:
        documents.write(f"{text}\n")


def _block(rule: PageRule) -> str:
    """Return the lines to paste below an agency of a desk file."""
    import yaml

    text = yaml.safe_dump(
        {"pages": [_stated(asdict(rule))]},
        allow_unicode=True,
        sort_keys=False,
        width=1000,
    )
    return indent(text, " " * 4)


# --- try-source --selectors -----------------------------------------------------------

_SHOWN: Final = 10
_TITLE_CHARS: Final = 70


def try_selectors(
    addresses: Sequence[str],
    stated: Iterable[str],
    desk_key: str | None,
    *,
    as_json: bool,
) -> None:
    """Propose selectors for a page, apply them with the stated ones (`item=css`)
    instead, and show the entries.

    Raises:
        NewsAssetsError: The page cannot be fetched, or has no entries with these
            selectors.
    """
    given = _given(stated)
    address = None
    if len(addresses) == 1:
        address = web_address(without_credentials(addresses[0]))
    if address is None:
        raise typer.BadParameter("--selectors takes one web address")
    desks = load_desks(Settings.read().desks, ALL_KINDS)
    source = _source(address, desks, desk_with_key(desks, desk_key))
    selectors, listing = _read_listing(source, given)
    block = _selectors_block(listing, source, selectors)
    if not as_json:
        _explain(selectors, listing)
        documents.write(block)
        return
    entries = [
        {"url": one.url, "title": one.title, "published_at": one.published_at}
        for one in listing.entries
    ]
    write_line(
        {
            "address": address,
            "selectors": _stated(asdict(selectors)),
            "entries": entries,
            "problems": listing.problems,
            "next_urls": listing.next_urls,
            "block": block,
        }
    )


def desk_with_key(desks: Sequence[Desk], key: str | None) -> Desk | None:
    """Return the desk with this key; None without a key.

    Raises:
        NewsAssetsError: No desk has the key.
    """
    if key is None:
        return None
    by_key = {desk.key: desk for desk in desks}
    if key not in by_key:
        raise NewsAssetsError(f"no desk `{key}`; known: {', '.join(by_key)}")
    return by_key[key]


def _given(stated: Iterable[str]) -> dict[str, str]:
    """Return the selectors of `--select` by name."""
    given = {}
    for one in stated:
        name, _, css = one.partition("=")
        if not all((name, css)):
            raise typer.BadParameter(
                f"--select takes NAME=SELECTOR, such as --select 'item=ul.news > li', not {name!r}"
            )
        given[name.strip()] = css.strip()
    try:
        SelectorsSpec.model_validate({"item": "li", **given})
    except ValidationError as error:
        raise _bad_parameter(error) from None
    return given


def _source(address: str, desks: Sequence[Desk], desk: Desk | None) -> Source:
    """Return a source for the page, requested as a source of a desk with this address
    is.
    """
    for one in desks:
        for agency in one.agencies:
            for known in agency.sources:
                if known.url == address:
                    return replace(known, kind=BY_SELECTORS, selectors=None)
    zone, language = (desk.timezone, desk.language) if desk else ("UTC", "en")
    return Source(
        source_id=address,
        desk="",
        agency="",
        kind=BY_SELECTORS,
        url=address,
        timezone=zone,
        language=language,
    )


def _read_listing(
    source: Source, given: Mapping[str, str]
) -> tuple[Selectors, Listing]:
    from news_assets.clients.factory import open_ports

    with open_ports(Settings.read(), ["fetcher", "sandbox"]) as ports:
        request = PageRequest(source.url, obeys_robots=False, access=source.access)
        page = ports["fetcher"].fetch(request)
        sandbox = ports["sandbox"]
        selectors = _selectors(page, source, given, sandbox)
        of_source = replace(source, selectors=selectors)
        [listing] = sandbox.run(parse_selected, [(page, of_source)])
    if isinstance(listing, NewsAssetsError):
        raise listing
    return selectors, listing


def _selectors(
    page: Page, source: Source, given: Mapping[str, str], sandbox: Sandbox
) -> Selectors:
    """Return the proposed selectors with the given ones in their place; the given ones
    alone if they have an item.
    """
    [proposed] = sandbox.run(propose, [(page, source.timezone)])
    if isinstance(proposed, NewsAssetsError):
        raise proposed
    if "item" in given:
        return replace(Selectors(item=""), **given)
    if proposed is None:
        raise NewsAssetsError(
            f"{source.url}: no repeated headlines with links found; give --select item=SELECTOR"
        )
    return replace(proposed, **given)


def _stated(selectors: Mapping[str, str | None]) -> dict[str, str]:
    """Return the selectors that are not empty."""
    return {name: css for name, css in selectors.items() if css}


def _explain(selectors: Selectors, listing: Listing) -> None:
    for name, css in _stated(asdict(selectors)).items():
        report(f"  {name:8} {css}")
    dated = sum(entry.published_at is not None for entry in listing.entries)
    report(f"{len(listing.entries)} entries, {dated} dated")
    for entry in listing.entries[:_SHOWN]:
        at = f"{entry.published_at:%Y-%m-%d %H:%M}" if entry.published_at else "-"
        title = entry.title or "-"
        report(f"  {at:16}  {title[:_TITLE_CHARS]}  {entry.url}")
    if len(listing.entries) > _SHOWN:
        report(f"  and {len(listing.entries) - _SHOWN} more")
    for problem in listing.problems:
        report(f"  problem: {problem}")
    for url in listing.next_urls:
        report(f"  next: {url}")
    report("")


def _selectors_block(listing: Listing, source: Source, selectors: Selectors) -> str:
    """Return the lines to paste below `agencies:` of a desk file."""
    row = ImportRow(line=1, url=source.url, name=one_line(listing.title), kind="feed")
    additions = plan_import([row], None, (), ALL_KINDS)
    for agency in additions.agencies.values():
        described: dict[str, Any] = {
            "kind": BY_SELECTORS,
            "selectors": _stated(asdict(selectors)),
        }
        agency["sources"] = [one | described for one in agency["sources"]]
    return pasted_text(additions)
