"""`try-source --selectors`: the selectors of one listing page, what they yield now, and
a block for a desk file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import typer
from pydantic import ValidationError

from news_assets.commands.jsonlines import write_line
from news_assets.commands.terminal import documents, report
from news_assets.desks.desk_files import explain, load_desks
from news_assets.desks.desk_spec import BY_SELECTORS
from news_assets.desks.import_plan import plan_import
from news_assets.desks.import_rows import ImportRow, one_line, web_address
from news_assets.desks.source_options import SelectorsSpec
from news_assets.desks.yaml_edit import pasted_text
from news_assets.errors import NewsAssetsError, without_credentials
from news_assets.ports.services import PageRequest, Sandbox
from news_assets.records.desks import Desk, Selectors, Source
from news_assets.records.reading import Listing, Page
from news_assets.settings import Settings
from news_assets.sources.html.listing_kinds import parse_selected
from news_assets.sources.html.proposal import propose
from news_assets.sources.source_kinds import ALL_KINDS

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
    desk = next((one for one in desks if one.key == desk_key), None)
    if desk_key is not None and desk is None:
        raise NewsAssetsError(
            f"no desk `{desk_key}`; known: {', '.join(one.key for one in desks)}"
        )
    source = _source(address, desks, desk)
    selectors, listing = _read(source, given)
    block = _block(listing, source, selectors)
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
            "selectors": _stated(selectors),
            "entries": entries,
            "problems": listing.problems,
            "next_urls": listing.next_urls,
            "block": block,
        }
    )


def _given(stated: Iterable[str]) -> dict[str, str]:
    """Return the selectors of `--select` by name."""
    given = {}
    for one in stated:
        name, _, css = one.partition("=")
        if not (name and css):
            raise typer.BadParameter(
                f"--select takes NAME=SELECTOR, such as --select 'item=ul.news > li', not {name!r}"
            )
        given[name.strip()] = css.strip()
    try:
        SelectorsSpec.model_validate({"item": "li", **given})
    except ValidationError as error:
        raise typer.BadParameter(
            "; ".join(explain(line) for line in error.errors())
        ) from None
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


def _read(source: Source, given: Mapping[str, str]) -> tuple[Selectors, Listing]:
    from news_assets.clients.factory import open_ports

    with open_ports(Settings.read(), ["fetcher", "sandbox"]) as ports:
        request = PageRequest(source.url, obeys_robots=False, access=source.access)
        page, sandbox = ports["fetcher"].fetch(request), ports["sandbox"]
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


def _stated(selectors: Selectors) -> dict[str, str]:
    return {name: css for name, css in asdict(selectors).items() if css}


def _explain(selectors: Selectors, listing: Listing) -> None:
    for name, css in _stated(selectors).items():
        report(f"  {name:8} {css}")
    dated = [entry.published_at for entry in listing.entries if entry.published_at]
    report(f"{len(listing.entries)} entries, {len(dated)} dated")
    for entry in listing.entries[:_SHOWN]:
        at = f"{entry.published_at:%Y-%m-%d %H:%M}" if entry.published_at else "-"
        report(f"  {at:16}  {(entry.title or '-')[:_TITLE_CHARS]}  {entry.url}")
    if len(listing.entries) > _SHOWN:
        report(f"  and {len(listing.entries) - _SHOWN} more")
    for problem in listing.problems:
        report(f"  problem: {problem}")
    for url in listing.next_urls:
        report(f"  next: {url}")
    report("")


def _block(listing: Listing, source: Source, selectors: Selectors) -> str:
    """Return the lines to paste below `agencies:` of a desk file."""
    row = ImportRow(line=1, url=source.url, name=one_line(listing.title), kind="feed")
    additions = plan_import([row], None, (), ALL_KINDS)
    for agency in additions.agencies.values():
        described: dict[str, Any] = {
            "kind": BY_SELECTORS,
            "selectors": _stated(selectors),
        }
        agency["sources"] = [one | described for one in agency["sources"]]
    return pasted_text(additions)
