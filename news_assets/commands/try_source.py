"""The command `try-source`: the sources of a site, why others are refused, and a block
for a desk file.

The block goes to standard output, so that it can be appended to a desk file;
explanations go to standard error.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from news_assets.commands.terminal import Json, documents, report, write_line
from news_assets.commands.try_page import desk_with_key, try_selectors
from news_assets.desks.desk_files import load_desks
from news_assets.desks.import_plan import (
    ImportRow,
    pasted_text,
    plan_import,
    same_source_key,
    web_address,
)
from news_assets.desks.yaml_nodes import one_line, quoted
from news_assets.errors import NewsAssetsError, without_credentials
from news_assets.pipeline.poll.candidates import (
    MAX_AGE_DAYS,
    Candidate,
    Contents,
    Criteria,
)
from news_assets.pipeline.poll.discover import Discovery, discover_sources
from news_assets.pipeline.publishing_habits import duration
from news_assets.records.desks import Desk, Source
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS, adapter_of
from news_assets.text.prose import language_tag

_MAX_SITE_S = 180.0  # 25 requests with 1 s between them, on a slow server
_MAX_REQUEST_S = 20.0  # slower sites are not reliable sources
_THREADS = 8  # addresses at a time; each host gets one request at a time


@dataclass(frozen=True, slots=True)
class _Options:
    """What is accepted. `desk` is the key of the desk to extend; its language is the
    default of `language`.
    """

    language: str | None
    max_age_days: int
    desk: str | None


_Urls = Annotated[
    list[str] | None,
    typer.Argument(
        help="addresses of pages, feeds or sitemaps; default: one a line from standard input"
    ),
]
_Language = Annotated[str | None, typer.Option(help="accept this language only")]
_MaxAgeDays = Annotated[
    int, typer.Option(min=1, help="how old the newest entry may be")
]
_Desk = Annotated[
    str | None, typer.Option(help="desk to extend; only its language is accepted")
]
_TriesAll = Annotated[
    bool,
    typer.Option("--all", help="try common addresses even if a source was found"),
]
_Selectors = Annotated[
    bool,
    typer.Option(
        "--selectors",
        help="propose CSS selectors for this listing page, and show what they yield",
    ),
]
_Select = Annotated[
    list[str] | None,
    typer.Option(
        help="with --selectors: NAME=SELECTOR in place of the proposed one; repeatable"
    ),
]


def try_source(
    urls: _Urls = None,
    language: _Language = None,
    max_age_days: _MaxAgeDays = MAX_AGE_DAYS,
    desk: _Desk = None,
    tries_all: _TriesAll = False,
    selectors: _Selectors = False,
    select: _Select = None,
    as_json: Json = False,
) -> None:
    """Discover the sources of each address and propose the best; or the selectors of
    one listing page.

    Raises:
        NewsAssetsError: A single address was given and none of its sources is accepted.
    """
    if selectors or select:
        try_selectors(urls or (), select or (), desk, as_json=as_json)
        return
    given = list(_given(urls or ()))
    desks = load_desks(Settings.read().desks, ALL_KINDS)
    extended = desk_with_key(desks, desk)
    criteria = _criteria(_Options(language, max_age_days, desk), extended, desks)
    found = []
    for discovery in _discoveries(given, criteria, tries_all=tries_all):
        found.append(discovery)
        if as_json:
            _write(discovery, extended)
        else:
            _explain(discovery, criteria.now)
    if not as_json:
        _propose(found, extended)
    if len(found) > 1:
        return
    for discovery in found:
        if discovery.best is None:
            raise NewsAssetsError(f"nothing to propose for {discovery.address}")


def _given(addresses: Sequence[str]) -> Iterator[str]:
    """Yield the addresses as written: those of the command line, else one a line of
    standard input.
    """
    if list(addresses) not in ([], ["-"]):
        for one in addresses:
            if web_address(one) is None:
                raise typer.BadParameter(f"{quoted(one)} is not a web address")
        yield from addresses
        return
    if not addresses and sys.stdin.isatty():
        raise typer.BadParameter("give an address, or one a line on standard input")
    yield from filter(None, map(str.strip, sys.stdin))


def _criteria(options: _Options, desk: Desk | None, desks: Iterable[Desk]) -> Criteria:
    language = desk.language if desk else None
    if options.language is not None:
        language = language_tag(options.language)
        if language is None:
            raise typer.BadParameter(
                f"{quoted(options.language)} is not a language code; write BCP 47 such as pt or"
                " pt-BR"
            )
    known: dict[str, Source] = {}
    for one in desks:
        for agency in one.agencies:
            for source in agency.sources:
                known[same_source_key(source.url)] = source
    return Criteria(
        now=datetime.now(UTC),
        max_age=timedelta(days=options.max_age_days),
        language=language,
        timezone=desk.timezone if desk else "UTC",
        known=known,
    )


def _discoveries(
    given: Sequence[str], criteria: Criteria, *, tries_all: bool
) -> Iterator[Discovery]:
    """Yield the discovery of each address, in order; several sites are searched in
    parallel.
    """
    from news_assets.clients.sandbox import ProcessSandbox
    from news_assets.clients.web.fetcher import HttpFetcher

    settings = Settings.read()
    fetcher = HttpFetcher(
        user_agent=settings.user_agent,
        delay_s=settings.host_delay_s,
        state_dir=settings.hosts_dir,
        catalog=settings.catalog,
        allow_private_hosts=settings.allow_private_hosts,
        logins=settings.site_logins,
        total_s=_MAX_REQUEST_S,
    )

    def discover(written: str) -> Discovery:
        written = without_credentials(written)  # they would be part of the block
        address = web_address(written)
        if address is None:
            return Discovery(address=written, error="not a web address")
        has_time = _within(_MAX_SITE_S)
        return discover_sources(
            address,
            fetcher,
            sandbox,
            adapter_of,
            criteria,
            has_time=has_time,
            tries_all=tries_all,
        )

    with fetcher, ProcessSandbox() as sandbox, ThreadPoolExecutor(_THREADS) as pool:
        yield from pool.map(discover, given)


def _within(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


# --- the block ------------------------------------------------------------------------


def _propose(found: Sequence[Discovery], desk: Desk | None) -> None:
    """Write the block with the best candidate of each address, and how to use it."""
    rows, replaced = _best_rows(found, desk)
    if not rows:
        return
    added, others = [], []
    for row in rows:
        if row.url in replaced:
            others.append(row)
        else:
            added.append(row)
    new = plan_import(added, desk, (), ALL_KINDS)
    changed = plan_import(others, None, (), ALL_KINDS)
    for refusal in (*new.refused, *changed.refused):
        report(f"{found[refusal.line - 1].address}: {refusal.reason}")
    report("")
    documents.write(pasted_text(new) + pasted_text(changed))
    for old in replaced.values():
        report(
            f"in desk {old.desk}, agency {old.agency}: replace its source of kind {old.kind} with"
            " this one"
        )
    if new.source_count:
        report(_instructions(rows))


def _best_rows(
    found: Sequence[Discovery], desk: Desk | None
) -> tuple[list[ImportRow], dict[str, Source]]:
    """Return the best candidate of each address, each source once, and the sources that
    they replace by the new address.
    """
    rows: dict[str, ImportRow] = {}
    replaced: dict[str, Source] = {}
    for number, discovery in enumerate(found, start=1):
        best = discovery.best
        if best is None:
            continue
        row = _row_of(discovery, best, number, desk)
        rows.setdefault(same_source_key(best.url), row)
        if best.replaces:
            replaced[best.url] = best.replaces
    return list(rows.values()), replaced


def _instructions(rows: Sequence[ImportRow]) -> str:
    kinds = [row.kind for row in rows]
    kind = ""
    if len(kinds) == 1 and kinds != ["feed"]:
        kind = f" --kind {kinds[0]}"
    return (
        "paste it below `agencies:` of a desk file; "
        f"or put the address in a file: news-assets import FILE{kind} --into DESK.yaml"
    )


def _row_of(
    discovery: Discovery, best: Candidate, number: int, desk: Desk | None
) -> ImportRow:
    old = best.replaces
    return ImportRow(
        line=number,
        url=best.url,
        name=one_line(discovery.name),
        agency=old.agency if old else None,
        kind=best.kind,
        language=_language_to_state(best, desk, old),
    )


def _language_to_state(
    best: Candidate, desk: Desk | None, old: Source | None
) -> str | None:
    """Return the language to state in the desk file; None if it is the inherited one or
    unknown.
    """
    language = best.contents.language if best.contents else None
    inherited = old or desk
    if language is None or inherited is None:
        return language
    if inherited.language.partition("-")[0] == language.partition("-")[0]:
        return None
    return language


# --- JSON output ----------------------------------------------------------------------


def _write(discovery: Discovery, desk: Desk | None) -> None:
    if not discovery.candidates:
        error = discovery.error or "nothing found"
        write_line({"address": discovery.address, "error": error})
    for candidate in discovery.candidates:
        write_line(_line_of(discovery, candidate, desk))


def _line_of(
    discovery: Discovery, candidate: Candidate, desk: Desk | None
) -> dict[str, Any]:
    contents = candidate.contents or Contents(entries=())
    block = None
    if candidate == discovery.best:
        block = pasted_text(
            plan_import([_row_of(discovery, candidate, 1, desk)], desk, (), ALL_KINDS)
        )
    return {
        "address": discovery.address,
        "url": candidate.url,
        "kind": candidate.kind,
        "found_by": candidate.found_by,
        "is_accepted": candidate.is_accepted,
        "refusals": candidate.refusals,
        "notes": candidate.notes,
        **asdict(replace(contents, entries=())),
        "entries": len(contents.entries),
        "block": block,
    }


# --- terminal output ------------------------------------------------------------------


def _explain(discovery: Discovery, now: datetime) -> None:
    name = f"  {discovery.name}" if discovery.name else ""
    report(f"{discovery.address}{name}")
    if discovery.error:
        report(f"  {discovery.error}")
    kinds = [candidate.kind or "-" for candidate in discovery.candidates]
    width = max(map(len, kinds), default=0)
    for candidate, kind in zip(discovery.candidates, kinds, strict=True):
        sign = "+" if candidate.is_accepted else "-"
        report(f"  {sign} {kind:{width}}  {candidate.url}  ({candidate.found_by})")
        for line in _facts(candidate, now):
            report(f"    {'':{width}}  {line}")
    if discovery.notes:
        report(f"  {', '.join(discovery.notes)}")


def _facts(candidate: Candidate, now: datetime) -> Iterator[str]:
    contents = candidate.contents
    if contents and contents.entries:
        yield ", ".join(_facts_of_entries(contents, now))
    for refusal in candidate.refusals:
        yield f"refused: {refusal}"
    yield from candidate.notes


def _facts_of_entries(contents: Contents, now: datetime) -> Iterator[str]:
    yield f"{len(contents.entries)} entries"
    if contents.newest_at:
        yield f"newest {duration(now - contents.newest_at)} old"
    yield f"{contents.dated_ratio:.0%} dated"
    yield f"{contents.titled_ratio:.0%} titled"
    yield f"{contents.full_text_ratio:.0%} with full text"
    if contents.language:
        yield f"language {contents.language}"
