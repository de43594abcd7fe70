"""A site whose listing has pages without end, for tests of paging."""

from datetime import UTC, datetime, timedelta

from news_assets.errors import FetchError, ListingChangedError
from news_assets.ports.services import PageRequest
from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page, Validators
from news_assets.sources.source_kinds import Adapter
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PER_PAGE = 5
STATE = SourceState(
    source_id="s",
    desk="govbr",
    agency="mec",
    url="https://s.example.org/",
    etag=None,
    last_modified=None,
    document_hash=None,
    last_polled_at=NOW - timedelta(hours=1),
    last_new_at=NOW - timedelta(hours=1),
    next_poll_at=NOW,
    interval_s=3600.0,
    failure_points=0.0,
    last_outcome="ok",
    last_reason=None,
)


def source(name: str = "s") -> Source:
    return Source(
        source_id=name,
        desk="govbr",
        agency="mec",
        kind="listing",
        url=f"https://{name}.example.org/",
        timezone="UTC",
        language="pt",
    )


def parse(page: Page, source: Source) -> Listing:
    """Read `index`, or a page with the five entries of a day, newest first, that names
    the next page.
    """
    number = int(page.url.rpartition("=")[2]) if "=" in page.url else 0
    if page.body == b"changed":
        raise ListingChangedError("another template")
    if page.body == b"index":
        return Listing(entries=(), next_urls=(f"{source.url}?page=1",))
    entries = tuple(
        ListedEntry(
            entry_id=f"{number}-{n}",
            url=f"{source.url}{number}/{n}",
            published_at=NOW - timedelta(days=number),
        )
        for n in range(PER_PAGE)
    )
    return Listing(entries=entries, next_urls=(f"{source.url}?page={number + 1}",))


def adapter_of(source: Source) -> Adapter:
    return Adapter(parse=parse)


class Site(ScriptedFetcher):
    """A fetcher for the site; `first` and `page_N` give other answers to some pages.

    `requested` are the URLs requested, `obeying` whether each request obeys robots.txt.
    """

    def __init__(self, **answers: bytes | FetchError) -> None:
        self.answers = {
            name.replace("_", "="): answer for name, answer in answers.items()
        }
        self.requested: list[str] = []
        self.obeying: list[bool] = []

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.requested.append(request.url)
        self.obeying.append(request.obeys_robots)
        answer = self.answers.get(
            request.url.rpartition("?")[2] if "?" in request.url else "first", b"page"
        )
        if isinstance(answer, FetchError):
            return answer
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=answer,
            validators=Validators('"e"'),
            fetched_at=NOW,
        )

    def pages(self) -> list[int]:
        """Return the numbers of the pages requested."""
        return [
            int(url.rpartition("=")[2]) if "=" in url else 0 for url in self.requested
        ]
