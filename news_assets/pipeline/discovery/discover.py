"""Finding the sources of a site: one address in, candidates with their verdicts out, the best one first.

    the address itself, by every kind that reads it
    | what its page announces, and the API of its software
    | where sites usually have their feed                       only where nothing was found before
    | the sitemaps that robots.txt names, or the usual ones     the same

Fetcher, adapters, time and clock are arguments. How an address is asked and read is the poll's (`poll.py`), so a
candidate yields here what it will yield there; where leads come from is in `sources/discovery.py`, what is accepted in
`candidates.py`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from news_assets.desks.import_rows import same_source_key
from news_assets.errors import FetchError, SourceError
from news_assets.pipeline.discovery.budgeted_fetcher import AskedOnce
from news_assets.pipeline.discovery.candidates import Candidate, Terms, contents_of, judged, ranked
from news_assets.pipeline.poll.listings import AdapterOf, Polled, poll_sources
from news_assets.ports import Fetcher
from news_assets.records import Page, Source
from news_assets.sources.discovery import (
    Lead,
    announced,
    is_html,
    kinds_of,
    name_of,
    of_platform,
    robots_url,
    site_name,
    stated_language,
    usual_feeds,
    usual_sitemaps,
)
from news_assets.sources.entries import unique
from news_assets.sources.platforms import found_instead, platform_of

MAX_ANNOUNCED: Final = 10  # a page of feeds by subject may announce hundreds; its reader knows which one is wanted
MAX_SITEMAPS: Final = 3
_NOT_THERE: Final = (404, 410)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found at an address. `error` says why it could not be asked at all; `name` what the site is called."""

    address: str
    candidates: tuple[Candidate, ...] = ()
    name: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate | None:
        """The candidate to propose; None where none is accepted."""
        return next((candidate for candidate in self.candidates if candidate.is_accepted), None)


def find_sources(
    address: str,
    fetcher: Fetcher,
    adapter_of: AdapterOf,
    terms: Terms,
    *,
    may_go_on: Callable[[], bool] = lambda: True,
    asks_all: bool = False,
) -> Found:
    """Return what may be polled of a site, whose page, feed or sitemap `address` is.

    Guesses are only asked where nothing was found otherwise, or with `asks_all`. What robots.txt forbids is not asked,
    except the address itself, which somebody named. It ends after some requests, or when it may not go on.
    """
    asked = AskedOnce(fetcher, address, may_go_on)
    page = asked.answer(address)
    if isinstance(page, FetchError):
        if page.status not in _NOT_THERE:
            return Found(address=address, error=page.reason)
        home, url = None, address
    else:
        home, url = page, page.final_url
    trial = _Trial(asked, adapter_of, terms)
    trial.take([Lead(url=url, found_by="the address itself")])
    if home is None or _leads_on(home):
        _follow(trial, url, home, asks_all=asks_all)
    candidates = ranked(trial.candidates)
    return Found(address=address, candidates=tuple(candidates), name=_name(home, candidates), notes=trial.notes())


def _leads_on(page: Page) -> bool:
    platform = platform_of(page)
    return is_html(page) and not (platform and platform.is_wall)


def _follow(trial: "_Trial", url: str, page: Page | None, *, asks_all: bool) -> None:
    named = announced(page) if page else ()
    trial.take([*named[:MAX_ANNOUNCED], *(of_platform(page) if page else ())])
    trial.unasked_count = sum(lead.refusal is None for lead in named[MAX_ANNOUNCED:])
    for lead in usual_feeds(url, page):
        if asks_all or not trial.is_settled:
            trial.take([lead])
    if asks_all or not trial.is_settled:
        trial.take(trial.sitemaps_of(robots_url(url, page)) or usual_sitemaps(url, page))


def _name(page: Page | None, candidates: Iterable[Candidate]) -> str | None:
    titles = (one.contents.title for one in candidates if one.contents and one.is_accepted)
    return (site_name(page) if page else None) or name_of(next(filter(None, titles), None))


class _Trial:
    """Leads as they are tried, and the candidates they led to."""

    def __init__(self, asked: AskedOnce, adapter_of: AdapterOf, terms: Terms) -> None:
        self.candidates: list[Candidate] = []
        self.unasked_count = 0
        self._asked, self._adapter_of, self._terms = asked, adapter_of, terms
        self._missed_count = 0

    @property
    def is_settled(self) -> bool:
        """Whether there is something to propose, or something that the desks have already."""
        return any(one.is_accepted or one.known_as for one in self.candidates)

    def take(self, leads: Iterable[Lead]) -> None:
        """Try leads, and keep what they led to; a guess at nothing is only counted."""
        for lead in leads:
            candidate = self._candidate_of(lead)
            if candidate is None:
                self._missed_count += 1
            elif all((one.url, one.kind) != (candidate.url, candidate.kind) for one in self.candidates):
                self.candidates.append(judged(candidate, self._terms))

    def sitemaps_of(self, url: str | None) -> tuple[Lead, ...]:
        """Return the sitemaps that a robots.txt names, news first."""
        page = self._asked.answer(url) if url else None
        if not isinstance(page, Page):
            return ()
        source = self._source("sitemap", page.url)
        try:
            urls = self._adapter_of(source).parse(page, source).next_urls
        except SourceError:
            return ()
        return tuple(Lead(url=url, kind="sitemap", found_by="robots.txt") for url in urls[:MAX_SITEMAPS])

    def notes(self) -> tuple[str, ...]:
        """Return what else is worth knowing of the way here."""
        unasked, missed, asked = self.unasked_count, self._missed_count, self._asked.count
        notes = {
            f"{unasked} more feeds are announced: name the one that is wanted": unasked,
            f"nothing at {missed} usual addresses": missed,
            f"{asked} request{'' if asked == 1 else 's'}": True,
        }
        return tuple(note for note, holds in notes.items() if holds)

    def _candidate_of(self, lead: Lead) -> Candidate | None:
        """Return what a lead leads to; None for a guess at nothing."""
        refused = Candidate(url=lead.url, kind=lead.kind, found_by=lead.found_by)
        if lead.refusal:
            return replace(refused, refusals=(lead.refusal,))
        page = self._asked.answer(lead.url) if lead.kind is None else None
        if isinstance(page, FetchError):
            is_miss = lead.is_guess and (page.status in _NOT_THERE or page.reason.startswith("not asked"))
            return None if is_miss else replace(refused, refusals=(page.reason,))
        polled = self._polled(lead, page)
        if polled.listing is None:
            is_miss = lead.is_guess and page is not None and is_html(page)
            return None if is_miss else replace(refused, refusals=(_reason(polled, page),))
        return self._with_contents(lead, polled)

    def _polled(self, lead: Lead, page: Page | None) -> Polled:
        """Return the poll by the first kind that reads something; else the first that reads at all, else the first."""
        known = self._terms.known.get(same_source_key(lead.url))
        kinds = (lead.kind,) if page is None else (known.kind if known else None, *kinds_of(page))
        polls: list[Polled] = []
        for kind in unique(kinds):
            polls += poll_sources([self._source(kind, lead.url)], {}, self._adapter_of, self._asked)
            if polls[-1].listing is not None and polls[-1].listing.entries:
                return polls[-1]
        return next((polled for polled in polls if polled.listing is not None), polls[0])

    def _with_contents(self, lead: Lead, polled: Polled) -> Candidate:
        assert polled.listing is not None
        assert polled.page is not None
        known = self._terms.known.get(same_source_key(lead.url))
        reads_as_known = known is not None and (known.kind == polled.source.kind or self._has_read(known))
        return Candidate(
            url=lead.url,
            kind=polled.source.kind,
            found_by=lead.found_by,
            contents=contents_of(polled.listing, stated_language(polled.page), self._terms.now),
            known_as=known if reads_as_known else None,
            replaces=None if reads_as_known else known,
        )

    def _has_read(self, known: Source) -> bool:
        return any(one.known_as == known for one in self.candidates)

    def _source(self, kind: str, url: str) -> Source:
        language = self._terms.language or "und"
        return Source(
            source_id=url,
            desk="",
            agency="",
            kind=kind,
            url=url,
            timezone=self._terms.timezone,
            language=language,
        )


def _reason(polled: Polled, page: Page | None) -> str:
    """Return why nothing was read: what the page is where it is one for people, else what the adapter says."""
    if page is not None and is_html(page):
        return f"no listing: {found_instead(page, polled.source.kind)}"
    return (polled.reason or "nothing to read").removeprefix(f"{polled.source.url}: ")
