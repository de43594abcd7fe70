"""The command `try-source`: what may be polled of a site, what speaks against it, and the block of a desk file.

Explanations go to standard error and the block to standard output, so that it can be appended to a desk file.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from news_assets.commands.jsonlines import write_line
from news_assets.desks.import_plan import choose
from news_assets.desks.import_rows import Offer, one_line, quoted, same_source_key, web_address
from news_assets.desks.loader import load_desks
from news_assets.desks.yaml_edit import pasted_text
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.discovery.candidates import Candidate, Contents, Terms
from news_assets.pipeline.discovery.discover import Found, find_sources
from news_assets.pipeline.freshness.silence import duration
from news_assets.records import Desk, Source
from news_assets.settings import Settings
from news_assets.sources.kinds import KINDS, adapter_of
from news_assets.text.language import language_tag

_MAX_S = 180.0  # for one address; 25 requests with a pause of 1 s and slow answers
_ANSWER_S = 20.0  # for one request: a site that needs longer is no source to rely on
_AT_ONCE = 8  # addresses; a host is asked by one at a time


@dataclass(frozen=True, slots=True)
class Wish:
    """What is accepted: `desk` gives its language where `language` is none, and is the one that is to grow."""

    language: str | None
    max_age_days: int
    desk: str | None


def try_source(addresses: Sequence[str], wish: Wish, *, asks_all: bool, as_json: bool) -> None:
    """Look for sources at each address and propose the best.

    Raises:
        NewsAssetsError: Nothing is accepted at the only address there is.
    """
    given = list(_given(addresses))
    desks = load_desks(Settings.read().desks, KINDS)
    desk = _desk_of(desks, wish.desk)
    terms = _terms(wish, desk, desks)
    finds = []
    for found in _finds(given, terms, asks_all=asks_all):
        finds.append(found)
        _write(found, desk) if as_json else _explain(found, terms.now)
    if not as_json:
        _propose(finds, desk)
    if len(finds) == 1 and finds[0].best is None:
        raise NewsAssetsError(f"nothing to propose for {finds[0].address}")


def _given(addresses: Sequence[str]) -> Iterator[str]:
    """Yield the addresses as they are written: those of the command line, or one a line of standard input."""
    if list(addresses) not in ([], ["-"]):
        bad = next((one for one in addresses if web_address(one) is None), None)
        if bad is not None:
            raise typer.BadParameter(f"{quoted(bad)} is no web address")
        yield from addresses
    elif not addresses and sys.stdin.isatty():
        raise typer.BadParameter("name an address, or give one a line on standard input")
    else:
        yield from filter(None, map(str.strip, sys.stdin))


def _desk_of(desks: Iterable[Desk], key: str | None) -> Desk | None:
    found = next((desk for desk in desks if desk.key == key), None)
    if key is not None and found is None:
        raise NewsAssetsError(f"no desk `{key}`; there are: {', '.join(desk.key for desk in desks)}")
    return found


def _terms(wish: Wish, desk: Desk | None, desks: Iterable[Desk]) -> Terms:
    language = language_tag(wish.language)
    if wish.language is not None and language is None:
        raise typer.BadParameter(f"{quoted(wish.language)} is no language code; write BCP 47 such as pt or pt-BR")
    every = [source for one in desks for agency in one.agencies for source in agency.sources]
    return Terms(
        now=datetime.now(UTC),
        max_age=timedelta(days=wish.max_age_days),
        language=language or (desk.language if desk else None),
        timezone=desk.timezone if desk else "UTC",
        known={same_source_key(source.url): source for source in every},
    )


def _finds(given: Sequence[str], terms: Terms, *, asks_all: bool) -> Iterator[Found]:
    """Yield what is found at each address, in their order; several sites are asked side by side."""
    from news_assets.clients.web.fetcher import HttpFetcher

    settings = Settings.read()
    fetcher = HttpFetcher(
        user_agent=settings.user_agent,
        delay_s=settings.host_delay_s,
        state_dir=settings.hosts_dir,
        allow_private_hosts=settings.allow_private_hosts,
        total_s=_ANSWER_S,
    )

    def find(written: str) -> Found:
        address = web_address(written)
        if address is None:
            return Found(address=written, error="no web address")
        return find_sources(address, fetcher, adapter_of, terms, may_go_on=_within(_MAX_S), asks_all=asks_all)

    with fetcher, ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(find, given)


def _within(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


# --- the block -------------------------------------------------------------------------------------------------------


def _propose(finds: Sequence[Found], desk: Desk | None) -> None:
    """Write the block with the best candidate of each address, and say what to do with it."""
    offers: dict[str, Offer] = {}
    replaced = {}
    for number, found in enumerate(finds, start=1):
        if found.best:
            offers.setdefault(same_source_key(found.best.url), _offer(found, found.best, number, desk))
            if found.best.replaces:
                replaced[found.best.url] = found.best.replaces
    if not offers:
        return
    new = choose((one for one in offers.values() if one.url not in replaced), desk, (), KINDS)
    changed = choose((one for one in offers.values() if one.url in replaced), None, (), KINDS)
    for refusal in (*new.refused, *changed.refused):
        _say(f"{finds[refusal.line - 1].address}: {refusal.why}")
    _say("")
    sys.stdout.write("".join(pasted_text(additions) for additions in (new, changed)))
    for old in replaced.values():
        _say(f"in desk {old.desk}, agency {old.agency}: put this in the place of its source of kind {old.kind}")
    if new.source_count:
        _say(_advice(list(offers.values())))


def _advice(offers: Sequence[Offer]) -> str:
    kind = f" --kind {offers[0].kind}" if len(offers) == 1 and offers[0].kind != "feed" else ""
    return (
        "paste it below `agencies:` of a desk file; "
        f"or put the address in a file: news-assets import FILE{kind} --into DESK.yaml"
    )


def _offer(found: Found, best: Candidate, number: int, desk: Desk | None) -> Offer:
    old = best.replaces
    return Offer(
        line=number,
        url=best.url,
        name=one_line(found.name),
        agency=old.agency if old else None,
        kind=best.kind,
        language=_language_to_state(best, desk, old),
    )


def _language_to_state(best: Candidate, desk: Desk | None, old: Source | None) -> str | None:
    """Return the language a desk file has to name; None where it is what holds without it."""
    language = best.contents.language if best.contents else None
    holds = old.language if old else desk.language if desk else None
    if language is None or (holds and holds.partition("-")[0] == language.partition("-")[0]):
        return None
    return language


def block_of(found: Found, desk: Desk | None) -> str | None:
    """Return the block for one address; None where nothing is accepted."""
    return pasted_text(choose([_offer(found, found.best, 1, desk)], desk, (), KINDS)) if found.best else None


# --- for machines ----------------------------------------------------------------------------------------------------


def _write(found: Found, desk: Desk | None) -> None:
    if not found.candidates:
        write_line({"address": found.address, "error": found.error or "nothing found"})
    for candidate in found.candidates:
        write_line(_line_of(found, candidate, desk))


def _line_of(found: Found, candidate: Candidate, desk: Desk | None) -> dict[str, Any]:
    contents = candidate.contents or Contents(entries=())
    return {
        "address": found.address,
        "url": candidate.url,
        "kind": candidate.kind,
        "found_by": candidate.found_by,
        "is_accepted": candidate.is_accepted,
        "refusals": candidate.refusals,
        "notes": candidate.notes,
        **asdict(replace(contents, entries=())),
        "entries": len(contents.entries),
        "block": block_of(found, desk) if candidate == found.best else None,
    }


# --- for people ------------------------------------------------------------------------------------------------------


def _explain(found: Found, now: datetime) -> None:
    _say(f"{found.address}{f'  {found.name}' if found.name else ''}")
    if found.error:
        _say(f"  {found.error}")
    width = max((len(one.kind or "-") for one in found.candidates), default=0)
    for candidate in found.candidates:
        mark = "+" if candidate.is_accepted else "-"
        _say(f"  {mark} {candidate.kind or '-':{width}}  {candidate.url}  ({candidate.found_by})")
        for line in _facts(candidate, now):
            _say(f"    {'':{width}}  {line}")
    if found.notes:
        _say(f"  {', '.join(found.notes)}")


def _facts(candidate: Candidate, now: datetime) -> Iterator[str]:
    contents = candidate.contents
    if contents and contents.entries:
        newest = f"newest {duration(now - contents.newest_at)} old, " if contents.newest_at else ""
        shares = f"{contents.dated_ratio:.0%} dated, {contents.titled_ratio:.0%} titled"
        full = f"{contents.full_text_ratio:.0%} with full text"
        language = f", language {contents.language}" if contents.language else ""
        yield f"{len(contents.entries)} entries, {newest}{shares}, {full}{language}"
    yield from (f"refused: {refusal}" for refusal in candidate.refusals)
    yield from candidate.notes


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
