"""The command `try-page`: what is read on one article's page, with and without a rule
of the desk file.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from pydantic import ValidationError

from news_assets.commands.jsonlines import write_line
from news_assets.commands.options import Json
from news_assets.commands.terminal import documents, report
from news_assets.desks.desk_files import explain, load_desks
from news_assets.desks.import_rows import quoted, web_address
from news_assets.desks.source_options import PageRuleSpec
from news_assets.errors import NewsAssetsError, without_credentials
from news_assets.pipeline.page.extract import rule_on
from news_assets.pipeline.page.readers import read_page, with_document
from news_assets.ports.services import PageRequest, Sandbox
from news_assets.records.desks import Access, Agency, PageRule
from news_assets.records.reading import ExtractedArticle, Page
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.text.urls import is_same_site

# of a site that no desk has
_USUAL: Final = Agency(key="", name="", timezone="UTC", language="en", sources=())


def try_page(
    url: Annotated[str, typer.Argument(help="address of an article")],
    content: Annotated[
        str | None, typer.Option(help="CSS selector of what holds the text")
    ] = None,
    remove: Annotated[
        str | None, typer.Option(help="CSS selector of what is dropped first")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="CSS selector of the time of publication")
    ] = None,
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
    stated = _rule({name: css for name, css in given.items() if css})
    agency, access = _agency_of(address)
    found, plain, rule = _read(address, agency, access, stated)
    if as_json:
        applied = rule and asdict(rule)
        about = {"address": address, "agency": agency.key or None, "rule": applied}
        write_line(about | asdict(found))
    else:
        _show(found, plain, rule, is_stated=stated is not None)
    if found.outcome != "ok":
        raise NewsAssetsError(f"no article on {address}: {found.reason}")


def _rule(given: Mapping[str, str]) -> PageRule | None:
    """Return the rule of these selectors, by the names of their options."""
    try:
        return PageRuleSpec.model_validate(given).rule() if given else None
    except ValidationError as error:
        raise typer.BadParameter(
            "; ".join(explain(line) for line in error.errors())
        ) from None


def _agency_of(url: str) -> tuple[Agency, Access]:
    """Return the agency whose source on this site has the longest beginning in common,
    and how that is requested.
    """
    best, access, longest = _USUAL, Access(), -1
    for desk in load_desks(Settings.read().desks, ALL_KINDS):
        for agency in desk.agencies:
            for source in agency.sources:
                length = _common_length(source.url, url)
                if length > longest and is_same_site(source.url, url):
                    best, access, longest = agency, source.access, length
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
        day = (plain.published_at or datetime.now(UTC)).date()
        rule = stated or rule_on(agency.page_rules, day)
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
    for name in (
        "title",
        "subtitle",
        "authors",
        "published_at",
        "published_origin",
        "section",
        "language",
    ):
        value = getattr(found, name)
        if isinstance(value, tuple):
            value = ", ".join(value)
        report(f"  {name:16} {value or '-'}")
    reason = f": {found.reason}" if found.reason else ""
    report(f"  {'outcome':16} {found.outcome}{reason}")
    if rule is not None:
        before, after = len(plain.text or ""), len(found.text or "")
        change = "the same text" if found.text == plain.text else "another text"
        report(f"  {'text':16} {after} characters; without the rule {before}, {change}")
    report("")
    documents.write(_block(rule) if rule and is_stated else f"{found.text or ''}\n")


def _block(rule: PageRule) -> str:
    """Return the lines to paste below an agency of a desk file."""
    import yaml

    selectors = {name: css for name, css in asdict(rule).items() if css}
    lines = yaml.safe_dump(
        {"pages": [selectors]}, allow_unicode=True, sort_keys=False, width=1000
    ).splitlines()
    return "".join(f"    {line}\n" for line in lines)
