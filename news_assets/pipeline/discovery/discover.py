"""Discovers the sources of a site step by step.

    the address itself, with every kind that may read it; an address of a civic vendor
    with its kinds alone
    | the civic vendors that its page links
    | the feeds its page links, and the API of its software
    | the usual feed addresses                                  only if nothing was
    found yet
    | the sitemaps in robots.txt, or the usual ones             only if nothing was
    found yet

Candidates are polled by `poll_sources`, so that they yield what a later poll yields.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from news_assets.desks.import_rows import same_source_key
from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.discovery.budgeted_fetcher import BudgetedFetcher
from news_assets.pipeline.discovery.candidates import (
    Candidate,
    Criteria,
    contents_of,
    evaluated,
    ranked,
)
from news_assets.pipeline.discovery.civic import civic_candidate
from news_assets.pipeline.poll.listings import AdapterOf, Polled, poll_sources
from news_assets.ports.reading import Fetcher, Sandbox
from news_assets.records.desks import Source
from news_assets.records.reading import Page
from news_assets.sources.civic.detection import VendorAddress, vendors_of_address
from news_assets.sources.discovery import (
    CandidateUrl,
    PageFacts,
    facts_of,
    name_of,
    robots_url,
    usual_feeds,
    usual_sitemaps,
)
from news_assets.sources.platforms import found_instead
from news_assets.sources.storable_entries import unique

MAX_LINKED: Final = 10  # a page of feeds by subject may link hundreds
MAX_SITEMAPS: Final = 3
_NOT_FOUND: Final = (404, 410)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The candidates found from one address, best first. `error` is why the address
    could not be fetched.
    """

    address: str
    candidates: tuple[Candidate, ...] = ()
    name: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate | None:
        """The candidate to propose; None if none is accepted."""
        return next(
            (candidate for candidate in self.candidates if candidate.is_accepted), None
        )


def discover_sources(
    address: str,
    fetcher: Fetcher,
    sandbox: Sandbox,
    adapter_of: AdapterOf,
    criteria: Criteria,
    *,
    has_time: Callable[[], bool] = lambda: True,
    tries_all: bool = False,
) -> Discovery:
    """Return the sources of the site that the page, feed or sitemap at `address`
    belongs to.

    Usual addresses are only tried if nothing else was found, or with `tries_all`.
    robots.txt is obeyed except for `address` itself. Discovery stops when the request
    budget is used up or `has_time` returns False.
    """
    requests = BudgetedFetcher(fetcher, address, has_time)
    evaluation = _Evaluation(requests, sandbox, adapter_of, criteria)
    if vendors := vendors_of_address(address):
        evaluation.add_vendors(vendors, "the address of a vendor")
        return Discovery(
            address=address,
            candidates=tuple(ranked(evaluation.candidates)),
            notes=evaluation.notes(),
        )
    result = requests.page_or_error(address)
    if isinstance(result, FetchError) and result.status not in _NOT_FOUND:
        return Discovery(address=address, error=result.reason)
    home = result if isinstance(result, Page) else None
    url = home.final_url if home else address
    evaluation.add([CandidateUrl(url=url, found_by="the address itself")])
    facts = evaluation.known_facts_of(home) if home else None
    if home is None or (facts and facts.may_link_sources):
        _search_site(evaluation, url, facts, tries_all=tries_all)
    candidates = tuple(ranked(evaluation.candidates))
    return Discovery(
        address=address,
        candidates=candidates,
        name=_name(facts, candidates),
        notes=evaluation.notes(),
    )


def _search_site(
    evaluation: "_Evaluation", url: str, facts: PageFacts | None, *, tries_all: bool
) -> None:
    evaluation.add_vendors(
        facts.vendors if facts else (), "a page of a vendor, or its links"
    )
    linked = facts.feeds if facts else ()
    evaluation.add([*linked[:MAX_LINKED], *(facts.apis if facts else ())])
    evaluation.untried_count = sum(one.refusal is None for one in linked[MAX_LINKED:])
    platform = facts.platform if facts else None
    for usual in usual_feeds(url, platform):
        if tries_all or not evaluation.is_settled:
            evaluation.add([usual])
    if tries_all or not evaluation.is_settled:
        evaluation.add(
            evaluation.sitemaps_of(robots_url(url, platform))
            or usual_sitemaps(url, platform)
        )


def _name(facts: PageFacts | None, candidates: Iterable[Candidate]) -> str | None:
    titles = (
        one.contents.title for one in candidates if one.contents and one.is_accepted
    )
    return (facts.name if facts else None) or name_of(next(filter(None, titles), None))


class _Evaluation:
    """Polls candidate addresses and collects the evaluated candidates."""

    def __init__(
        self,
        requests: BudgetedFetcher,
        sandbox: Sandbox,
        adapter_of: AdapterOf,
        criteria: Criteria,
    ) -> None:
        self.candidates: list[Candidate] = []
        self.untried_count = 0
        self._requests, self._sandbox = requests, sandbox
        self._adapter_of, self._criteria = adapter_of, criteria
        self._missed_count = 0
        self._facts: dict[
            str, PageFacts | NewsAssetsError
        ] = {}  # by the page's address

    @property
    def is_settled(self) -> bool:
        """Whether a candidate is accepted, or is a source of the desks already."""
        return any(one.is_accepted or one.known_as for one in self.candidates)

    def add(self, urls: Iterable[CandidateUrl]) -> None:
        """Evaluate candidate addresses; guesses with nothing at them are only counted."""
        for url in urls:
            candidate = self._candidate_at(url)
            if candidate is None:
                self._missed_count += 1
            elif all(
                (one.url, one.kind) != (candidate.url, candidate.kind)
                for one in self.candidates
            ):
                self.candidates.append(evaluated(candidate, self._criteria))

    def add_vendors(self, vendors: Iterable[VendorAddress], found_by: str) -> None:
        """Evaluate addresses of civic vendors."""
        for vendor in vendors:
            known = self._criteria.known.get(same_source_key(vendor.url))
            if known is None:
                self.candidates.append(
                    civic_candidate(
                        vendor, found_by, self._requests, self._sandbox, self._criteria
                    )
                )
            else:
                already = f"already in desk {known.desk}, agency {known.agency}"
                refused = Candidate(
                    url=vendor.url,
                    kind=vendor.kind,
                    found_by=found_by,
                    refusals=(already,),
                )
                self.candidates.append(replace(refused, known_as=known))

    def known_facts_of(self, page: Page) -> PageFacts | None:
        """Return what a page tells about its site; None if it could not be read within
        the limits.
        """
        facts = self._facts_of(page)
        return facts if isinstance(facts, PageFacts) else None

    def _facts_of(self, page: Page) -> PageFacts | NewsAssetsError:
        if page.url not in self._facts:
            [self._facts[page.url]] = self._sandbox.run(facts_of, [(page,)])
        return self._facts[page.url]

    def sitemaps_of(self, url: str | None) -> tuple[CandidateUrl, ...]:
        """Return the sitemaps in a robots.txt, news sitemaps first."""
        page = self._requests.page_or_error(url) if url else None
        if not isinstance(page, Page):
            return ()
        source = self._source("sitemap", page.url)
        [listing] = self._sandbox.run(self._adapter_of(source).parse, [(page, source)])
        urls = (
            ()
            if isinstance(listing, NewsAssetsError)
            else listing.next_urls[:MAX_SITEMAPS]
        )
        return tuple(
            CandidateUrl(url=url, kind="sitemap", found_by="robots.txt") for url in urls
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on the discovery as a whole."""
        untried, missed, requests = (
            self.untried_count,
            self._missed_count,
            self._requests.request_count,
        )
        notes = {
            f"{untried} more feeds are linked: give the address of the one to add": untried,
            f"nothing at {missed} usual addresses": missed,
            f"{requests} request{'' if requests == 1 else 's'}": True,
        }
        return tuple(note for note, holds in notes.items() if holds)

    def _candidate_at(self, at: CandidateUrl) -> Candidate | None:
        """Return the candidate at an address; None for a guess with nothing at it."""
        refused = Candidate(url=at.url, kind=at.kind, found_by=at.found_by)
        if at.refusal:
            return replace(refused, refusals=(at.refusal,))
        page = self._requests.page_or_error(at.url) if at.kind is None else None
        if isinstance(page, FetchError):
            is_miss = at.is_guess and (
                page.status in _NOT_FOUND or page.reason.startswith("not requested")
            )
            return None if is_miss else replace(refused, refusals=(page.reason,))
        facts = self._facts_of(page) if page is not None else None
        if isinstance(facts, NewsAssetsError):
            return replace(refused, refusals=(str(facts),))
        polled = self._polled(at, facts)
        if polled.listing is None:
            if page is None or facts is None or not facts.is_html:
                reason = (polled.reason or "nothing to read").removeprefix(
                    f"{polled.source.url}: "
                )
                return replace(refused, refusals=(reason,))
            return (
                None
                if at.is_guess
                else replace(
                    refused, refusals=(self._no_listing(page, polled.source.kind),)
                )
            )
        return self._with_contents(at, polled)

    def _no_listing(self, page: Page, kind: str) -> str:
        [found] = self._sandbox.run(found_instead, [(page, kind)])
        return f"not a listing: {found}"

    def _polled(self, at: CandidateUrl, facts: PageFacts | None) -> Polled:
        """Return the poll of the first kind that yields entries, else the first without
        an error, else the first.
        """
        known = self._criteria.known.get(same_source_key(at.url))
        kinds = (
            (at.kind,)
            if facts is None
            else (known.kind if known else None, *facts.kinds)
        )
        polls: list[Polled] = []
        for kind in unique(kinds):
            source = self._source(kind, at.url)
            polls += poll_sources(
                [source],
                {},
                self._adapter_of,
                self._requests,
                self._sandbox,
                lambda: self._criteria.now,
            )
            if polls[-1].listing is not None and polls[-1].listing.entries:
                return polls[-1]
        return next(
            (polled for polled in polls if polled.listing is not None), polls[0]
        )

    def _with_contents(self, at: CandidateUrl, polled: Polled) -> Candidate:
        assert polled.listing is not None
        assert polled.page is not None
        known = self._criteria.known.get(same_source_key(at.url))
        reads_as_known = known is not None and (
            known.kind == polled.source.kind
            or any(one.known_as == known for one in self.candidates)
        )
        facts = self.known_facts_of(polled.page)
        return Candidate(
            url=at.url,
            kind=polled.source.kind,
            found_by=at.found_by,
            contents=contents_of(
                polled.listing, facts.language if facts else None, self._criteria.now
            ),
            known_as=known if reads_as_known else None,
            replaces=None if reads_as_known else known,
        )

    def _source(self, kind: str, url: str) -> Source:
        language, timezone = self._criteria.language or "und", self._criteria.timezone
        return Source(
            source_id=url,
            desk="",
            agency="",
            kind=kind,
            url=url,
            timezone=timezone,
            language=language,
        )
