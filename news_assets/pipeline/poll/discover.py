"""Discovers the sources of a site step by step.

    the address itself, with every kind that may read it; an address of a civic vendor
        with its kinds alone
    | the civic vendors that its page links
    | the feeds its page links, and the API of its software
    | the usual feed addresses                             only if nothing was found yet
    | the sitemaps in robots.txt, or the usual ones        only if nothing was found yet

Each address is requested once, within a budget of requests. Candidates are polled by
`run_polls`, so that they yield what a later poll yields; addresses of civic vendors
get one request each, for the meetings to come. Where that answer lists none itself but
names the lists of committees, the first of them is requested too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from news_assets.desks.import_plan import same_source_key
from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.poll.candidates import (
    Candidate,
    Criteria,
    contents_of,
    evaluated,
    meeting_contents,
    meetings_note,
    ranked,
)
from news_assets.pipeline.poll.listings import AdapterOf, listing_polls
from news_assets.pipeline.poll.poll_loop import Polled, run_polls
from news_assets.ports.services import Fetcher, PageRequest, Sandbox
from news_assets.records.desks import Source
from news_assets.records.meetings import MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.detection import VendorAddress, vendors_of_address
from news_assets.sources.civic.vendor_meetings import ParseContext
from news_assets.sources.civic.vendors import read_answer, vendor_of
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
from news_assets.text.dates import day_of

_MAX_LINKED: Final = 10  # a page of feeds by subject may link hundreds
_MAX_SITEMAPS: Final = 3
MAX_REQUESTS: Final = 25  # half a minute at one request a second
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

    robots.txt is obeyed except for `address` itself.

    Args:
        address: Of a page, feed or sitemap of the site.
        fetcher: Sends the requests.
        sandbox: Reads the answers.
        adapter_of: The adapter of a source.
        criteria: What an accepted candidate has.
        has_time: Discovery stops when it returns False, or when the request budget is
            used up.
        tries_all: Try the usual addresses even where something else was found.
    """
    requests = _BudgetedFetcher(fetcher, address, has_time)
    evaluation = _Evaluation(requests, sandbox, adapter_of, criteria)
    vendors = vendors_of_address(address)
    if vendors:
        evaluation.add_vendors(vendors, "the address of a vendor")
        candidates = tuple(ranked(evaluation.candidates))
        return Discovery(
            address=address, candidates=candidates, notes=evaluation.notes()
        )
    answer = requests.page_or_error(address)
    if isinstance(answer, FetchError) and answer.status not in _NOT_FOUND:
        return Discovery(address=address, error=answer.reason)
    facts = _search(evaluation, address, answer, tries_all=tries_all)
    candidates = tuple(ranked(evaluation.candidates))
    return Discovery(
        address=address,
        candidates=candidates,
        name=_name(facts, candidates),
        notes=evaluation.notes(),
    )


_ITSELF: Final = "the address itself"


def _search(
    evaluation: "_Evaluation",
    address: str,
    answer: Page | FetchError,
    *,
    tries_all: bool,
) -> PageFacts | None:
    """Try the address, whose answer is a page or that there is none, and what its site
    may have; return the facts of its page.
    """
    if isinstance(answer, FetchError):
        evaluation.add([CandidateUrl(url=address, found_by=_ITSELF)])
        _search_site(evaluation, address, None, tries_all=tries_all)
        return None
    evaluation.add([CandidateUrl(url=answer.final_url, found_by=_ITSELF)])
    facts = evaluation.known_facts_of(answer)
    if facts is not None and facts.may_link_sources:
        _search_site(evaluation, answer.final_url, facts, tries_all=tries_all)
    return facts


def _search_site(
    evaluation: "_Evaluation", url: str, facts: PageFacts | None, *, tries_all: bool
) -> None:
    platform = None
    if facts is not None:
        platform = facts.platform
        _add_linked(evaluation, facts)
    for usual in usual_feeds(url, platform):
        if tries_all or not evaluation.is_settled:
            evaluation.add([usual])
    if tries_all or not evaluation.is_settled:
        stated = evaluation.sitemaps_of(robots_url(url, platform))
        evaluation.add(stated or usual_sitemaps(url, platform))


def _add_linked(evaluation: "_Evaluation", facts: PageFacts) -> None:
    """Try what a page links: vendors, feeds and APIs."""
    linked = facts.feeds
    evaluation.add_vendors(facts.vendors, "a page of a vendor, or its links")
    evaluation.add([*linked[:_MAX_LINKED], *facts.apis])
    untried = [one for one in linked[_MAX_LINKED:] if one.refusal is None]
    evaluation.untried_count = len(untried)


def _name(facts: PageFacts | None, candidates: Iterable[Candidate]) -> str | None:
    if facts is not None and facts.name:
        return facts.name
    for one in candidates:
        if not one.is_accepted:
            continue
        if not one.contents:
            continue
        if one.contents.title:
            return name_of(one.contents.title)
    return name_of(None)


class _Evaluation:
    """Polls candidate addresses and collects the evaluated candidates."""

    def __init__(
        self,
        requests: "_BudgetedFetcher",
        sandbox: Sandbox,
        adapter_of: AdapterOf,
        criteria: Criteria,
    ) -> None:
        self.candidates: list[Candidate] = []
        self.untried_count = 0
        self._requests, self._sandbox = requests, sandbox
        self._adapter_of, self._criteria = adapter_of, criteria
        self._missed_count = 0
        # by the page's address
        self._facts: dict[str, PageFacts | NewsAssetsError] = {}

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
        for at in vendors:
            known = self._criteria.known.get(same_source_key(at.url))
            if known is None:
                candidate = _civic_candidate(
                    at, found_by, self._requests, self._sandbox, self._criteria
                )
            else:
                candidate = Candidate(
                    url=at.url,
                    kind=at.kind,
                    found_by=found_by,
                    refusals=(f"already in desk {known.desk}, agency {known.agency}",),
                    known_as=known,
                )
            self.candidates.append(candidate)

    def known_facts_of(self, page: Page) -> PageFacts | None:
        """Return what a page states about its site; None if it could not be read within
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
            else listing.next_urls[:_MAX_SITEMAPS]
        )
        return tuple(
            CandidateUrl(url=url, kind="sitemap", found_by="robots.txt") for url in urls
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on the discovery as a whole."""
        untried = self.untried_count
        missed = self._missed_count
        requests = self._requests.request_count
        notes = {
            f"{untried} more feeds are linked: give the address of the one to add": untried,
            f"nothing at {missed} usual addresses": missed,
            f"{requests} request{'' if requests == 1 else 's'}": True,
        }
        return tuple(note for note, holds in notes.items() if holds)

    def _candidate_at(self, at: CandidateUrl) -> Candidate | None:
        """Return the candidate at an address; None for a guess with nothing at it."""
        if at.refusal:
            return _refused(at, at.refusal)
        if at.kind is not None:
            polled = self._polled(at, [at.kind])
            return self._with_contents(at, polled) or _refused(at, _why_not(polled))
        page = self._requests.page_or_error(at.url)
        if isinstance(page, FetchError):
            return _without_page(at, page)
        return self._candidate_of_page(at, page)

    def _candidate_of_page(self, at: CandidateUrl, page: Page) -> Candidate | None:
        """Return the candidate at an address of no stated kind that gave this page."""
        facts = self._facts_of(page)
        if isinstance(facts, NewsAssetsError):
            return _refused(at, str(facts))
        known = self._criteria.known.get(same_source_key(at.url))
        polled = self._polled(at, [known.kind if known else None, *facts.kinds])
        candidate = self._with_contents(at, polled)
        if candidate is not None:
            return candidate
        if not facts.is_html:
            return _refused(at, _why_not(polled))
        if at.is_guess:
            return None
        [found] = self._sandbox.run(found_instead, [(page, polled.source.kind)])
        return _refused(at, f"not a listing: {found}")

    def _polled(self, at: CandidateUrl, kinds: Iterable[str | None]) -> Polled:
        """Return the poll of the first kind that yields entries, else the first without
        an error, else the first.
        """
        polls: list[Polled] = []
        for kind in unique(kinds):
            source = self._source(kind, at.url)
            requests = listing_polls(
                [source], {}, self._adapter_of, self._sandbox, self._now
            )
            polls += run_polls(requests, self._requests)
            if polls[-1].listing is None:
                continue
            if polls[-1].listing.entries:
                return polls[-1]
        for polled in polls:
            if polled.listing is not None:
                return polled
        return polls[0]

    def _now(self) -> datetime:
        return self._criteria.now

    def _with_contents(self, at: CandidateUrl, polled: Polled) -> Candidate | None:
        """Return the candidate whose listing was read; None if none was."""
        if polled.listing is None:
            return None
        assert polled.page is not None
        facts = self.known_facts_of(polled.page)
        language = facts.language if facts else None
        candidate = Candidate(
            url=at.url,
            kind=polled.source.kind,
            found_by=at.found_by,
            contents=contents_of(polled.listing, language, self._criteria.now),
        )
        known = self._criteria.known.get(same_source_key(at.url))
        if known is None:
            return candidate
        is_found = any(one.known_as == known for one in self.candidates)
        if known.kind == polled.source.kind or is_found:
            return replace(candidate, known_as=known)
        return replace(candidate, replaces=known)

    def _source(self, kind: str, url: str) -> Source:
        language = self._criteria.language or "und"
        timezone = self._criteria.timezone
        return Source(
            source_id=url,
            desk="",
            agency="",
            kind=kind,
            url=url,
            timezone=timezone,
            language=language,
        )


def _without_page(at: CandidateUrl, error: FetchError) -> Candidate | None:
    """Return the candidate at an address that gave no page; None for a guess with
    nothing at it.
    """
    if not at.is_guess:
        return _refused(at, error.reason)
    if error.status in _NOT_FOUND:
        return None
    if error.reason.startswith("not requested"):
        return None
    return _refused(at, error.reason)


def _refused(at: CandidateUrl, reason: str) -> Candidate:
    return Candidate(url=at.url, kind=at.kind, found_by=at.found_by, refusals=(reason,))


def _why_not(polled: Polled) -> str:
    """Return why a poll gave no listing."""
    reason = polled.reason or "nothing to read"
    return reason.removeprefix(f"{polled.source.url}: ")


# --- requests within a budget ---------------------------------------------------------


class _BudgetedFetcher:
    """A fetcher that remembers every page and error, and makes at most `MAX_REQUESTS`
    requests.

    robots.txt is obeyed except for the address that the user gave.
    """

    def __init__(
        self, fetcher: Fetcher, given_url: str, has_time: Callable[[], bool]
    ) -> None:
        self.request_count = 0
        self._fetcher = fetcher
        self._given_url = given_url
        self._has_time = has_time
        self._results: dict[str, Page | FetchError] = {}

    def page_or_error(self, url: str) -> Page | FetchError:
        """Return the page at an address, or the error of its request."""
        if url not in self._results:
            self._results[url] = self._requested(url)
        result = self._results[url]
        if isinstance(result, Page):
            self._results.setdefault(
                result.final_url, replace(result, url=result.final_url)
            )
        return result

    def _requested(self, url: str) -> Page | FetchError:
        return self.answer_to(PageRequest(url, obeys_robots=url != self._given_url))

    def answer_to(self, request: PageRequest) -> Page | FetchError:
        """Send a request, even if its address was requested before; return its page or
        error.
        """
        url = request.url
        if self.request_count >= MAX_REQUESTS:
            return FetchError(
                url, f"not requested: the budget of {MAX_REQUESTS} requests is used up"
            )
        if not self._has_time():
            return FetchError(url, "not requested: out of time")
        self.request_count += 1
        try:
            return self._fetcher.fetch(request)
        except FetchError as error:
            return error

    def fetch(self, request: PageRequest) -> Page:
        """Return one page.

        Raises:
            FetchError: The page could not be fetched.
        """
        result = self.page_or_error(request.url)
        if isinstance(result, FetchError):
            raise result
        return result

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or its error; the time is limited by
        `has_time` alone.
        """
        for request in requests:
            yield request, self.page_or_error(request.url)


# --- addresses of civic vendors -------------------------------------------------------


_KEY_NOTE: Final = "give the agency the key of its city, such as paloaltoCA"
_TOKEN_NOTE: Final = "name the variable of its token with `token_env` if you have one"


def _civic_candidate(
    at: VendorAddress,
    found_by: str,
    requests: _BudgetedFetcher,
    sandbox: Sandbox,
    criteria: Criteria,
) -> Candidate:
    """Return the candidate at an address of a vendor, refused where it lists no current
    meetings.
    """
    today = day_of(criteria.now, criteria.timezone)
    request = vendor_of(at.kind).upcoming(at.url, today)[0]
    candidate = Candidate(url=at.url, kind=at.kind, found_by=found_by)
    listing = _listing(at, request, requests, sandbox, criteria)
    committees = _lists_of_committees(listing)
    if committees:
        listing = _listing(at, committees[0], requests, sandbox, criteria)
    if isinstance(listing, FetchError):
        return replace(candidate, refusals=(listing.reason,))
    if isinstance(listing, NewsAssetsError):
        return replace(candidate, refusals=(str(listing),))
    if listing.state != "ok":
        return replace(
            candidate,
            refusals=tuple(listing.problems or ["no meetings"]),
            notes=(_TOKEN_NOTE,) if listing.state == "closed" else (),
        )
    return replace(
        candidate,
        contents=meeting_contents(listing, at.url),
        notes=(meetings_note(listing, criteria), _KEY_NOTE),
    )


def _lists_of_committees(
    listing: MeetingListing | NewsAssetsError,
) -> tuple[Request, ...]:
    """Return the requests that an answer without meetings names."""
    if isinstance(listing, NewsAssetsError):
        return ()
    if listing.meetings:
        return ()
    return listing.next_requests


def _listing(
    at: VendorAddress,
    request: Request,
    requests: _BudgetedFetcher,
    sandbox: Sandbox,
    criteria: Criteria,
) -> MeetingListing | NewsAssetsError:
    answer = requests.answer_to(
        PageRequest(
            request.url,
            body=request.body if request.method == "POST" else None,
            headers=request.headers,
            keeps_refusals=True,
        )
    )
    if isinstance(answer, FetchError):
        return answer
    context = ParseContext(timezone=criteria.timezone, now=criteria.now)
    [listing] = sandbox.run(read_answer, [(vendor_of(at.kind), answer, context)])
    return listing
