"""When an article is fetched again, over a site whose listing changes at every poll."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.entry_rows import entry_changes
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import PageRequest
from news_assets.records.articles import FeedEntry, RawArticle, StoredPage
from news_assets.records.desks import Agency, Desk, Source
from news_assets.records.reading import AgencyDays
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries
from news_assets.store.queries.url_history import url_history
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.support.inline_sandbox import InlineSandbox

STAGE = stage_named("raw_articles")
START = datetime(2026, 11, 20, 0, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
KEYS = AgencyDays("d", frozenset({("a", START.date())}))
STORY = "The city council voted on Tuesday to keep the night buses running for another year, after hours of debate. "


@dataclass
class ViewedSite:
    """A feed with the views of its entries, which every request raises, and their
    pages.

    `/kept` is sent with an ETag, `/plain` without, and the page at `/odd` is never the
    same twice.
    """

    site: Site
    items: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(("kept", "plain", "odd"), "Buses stay")
    )
    text: str = ""
    views: int = 0
    bodies: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.site.put("/feed", self._feed)
        for name in self.items:
            self.site.put(
                f"/{name}",
                lambda connection, headers, name=name: self._page(
                    name, connection, headers
                ),
            )

    def requests_of(self, name: str) -> int:
        return self.site.paths.count(f"/{name}")

    def _feed(self, connection: socket.socket, _: dict[str, str]) -> None:
        self.views += 7
        items = "".join(
            f"<item><title>{title} {name}</title><link>{self.site.url}/{name}</link>"
            f"<pubDate>{format_datetime(START)}</pubDate><description>{self.views} views</description>"
            f"<content:encoded><![CDATA[<p>{self.text}</p><p>{self.views} views</p>]]></content:encoded></item>"
            for name, title in self.items.items()
        )
        namespace = 'xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        feed = f'<rss version="2.0" {namespace}><channel><title>Gazette</title>{items}</channel></rss>'
        connection.sendall(answer(feed.encode(), content_type="application/rss+xml"))

    def _page(
        self, name: str, connection: socket.socket, headers: dict[str, str]
    ) -> None:
        if name == "kept" and headers.get("if-none-match") == '"1"':
            connection.sendall(answer(status=304))
            return
        self.bodies.append(name)
        rendered = f"<footer>{len(self.bodies)}</footer>" if name == "odd" else ""
        body = f"<html><head><title>Buses</title></head><body><article><p>{STORY * 4}{name}</p></article>{rendered}</body>"
        validator = {"etag": '"1"'} if name == "kept" else {}
        connection.sendall(answer(body.encode(), content_type="text/html", **validator))


@dataclass
class Watch:
    """Polls and fetches of the site's agency, at the time `now`."""

    lake: Lake
    viewed: ViewedSite
    state_dir: Path
    now: datetime = START

    def __post_init__(self) -> None:
        source = Source(
            source_id="d/a/feed",
            desk="d",
            agency="a",
            kind="feed",
            url=f"{self.viewed.site.url}/feed",
            timezone="UTC",
            language="en",
        )
        agency = Agency(
            key="a", name="A", timezone="UTC", language="en", sources=(source,)
        )
        self.desk = Desk(
            key="d",
            timezone="UTC",
            language="en",
            first_day=date(2026, 1, 1),
            agencies=(agency,),
        )
        self.fetcher = HttpFetcher(
            user_agent="news_assets",
            delay_s=0,
            state_dir=self.state_dir,
            allow_private_hosts=("127.0.0.0/8",),
            clock=lambda: self.now,
        )

    def poll(self) -> None:
        """List the feed, and store the changes as a poll does."""
        (source,) = self.desk.sources
        listing = adapter_of(source).parse(
            self.fetcher.fetch(PageRequest(source.url)), source
        )
        changes = entry_changes(
            source, listing, self.lake.read(FeedEntry), self.now, "t"
        )
        self.lake.transact(lambda rows: rows.upsert(changes.rows))

    def pending(self) -> int:
        return pending_entries(self.lake, self.desk, self.now).height

    def run(self, *, refetch: bool = False) -> int:
        """Run the stage over the whole day, as one does by hand; return how many
        articles it wrote.
        """
        ports = {"fetcher": self.fetcher, "sandbox": InlineSandbox()}
        return STAGE.run_batch(
            self.lake, self.desk, KEYS, lambda: self.now, ports, {"refetch": refetch}
        )

    def article(self, name: str) -> RawArticle:
        (found,) = (
            row for row in self.lake.read(RawArticle) if row.url.endswith(f"/{name}")
        )
        return found


@pytest.fixture
def watch(lake: Lake, tmp_path: Path, site: Site) -> Iterator[Watch]:
    made = Watch(lake, ViewedSite(site), tmp_path / "hosts")
    with made.fetcher:
        yield made


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


@pytest.mark.slow  # simulates days of polls
@pytest.mark.exhaustive  # 100 polls of what the tests below show with a few
def test_a_counter_of_views_in_a_listing_makes_few_requests_a_day(watch: Watch) -> None:
    viewed = watch.viewed
    for number in range(100):
        watch.now = START + number * 24 * HOUR / 100
        watch.poll()
        pending = watch.pending()
        if pending or number % 25 == 0:  # as the sensor requests a run, or by hand
            assert (watch.run(), watch.pending()) == (pending, 0)

    assert {name: viewed.requests_of(name) for name in viewed.items} == {
        "kept": 5,
        "plain": 5,
        "odd": 5,
    }
    assert {name: viewed.bodies.count(name) for name in viewed.items} == {
        "kept": 1,
        "plain": 5,
        "odd": 5,
    }
    urls = [page.url.rpartition("/")[2] for page in watch.lake.read(StoredPage)]
    assert {name: urls.count(name) for name in viewed.items} == {
        "kept": 1,
        "plain": 1,
        "odd": 5,
    }

    assert watch.run(refetch=True) == 3
    assert viewed.bodies.count("kept") == 2


def test_an_unchanged_page_is_not_written_again(watch: Watch) -> None:
    written: list[datetime] = []
    for _ in range(2):
        watch.poll()
        assert watch.run() == 3
        pages = {
            page.url.rpartition("/")[2]: page.fetched_at
            for page in watch.lake.read(StoredPage)
        }
        written += [pages["kept"], pages["plain"]]
        watch.now += HOUR
    assert written == [START] * 4
    assert {watch.article(name).fetched_at for name in watch.viewed.items} == {
        START + HOUR
    }


def test_an_article_after_a_304_is_as_it_was_and_states_the_pause(watch: Watch) -> None:
    watch.poll()
    watch.run()
    before = watch.article("kept")
    watch.now += HOUR
    watch.poll()
    watch.run()
    after = watch.article("kept")
    assert (
        after.reason
        == "only the listing's text changed; fetched again for that from 2026-11-20 03:01Z"
    )
    kept = {
        name: getattr(before, name)
        for name in ("entry_hash", "fetched_at", "relisted", "reason", "trace_id")
    }
    assert (after.entry_hash != before.entry_hash, replace(after, **kept)) == (
        True,
        before,
    )


def test_a_changed_title_is_fetched_at_once_and_begins_the_pauses_again(
    watch: Watch,
) -> None:
    watch.poll()
    watch.run()
    watch.now += timedelta(minutes=5)
    watch.viewed.items["kept"] = "Buses go"
    watch.poll()
    assert (watch.pending(), watch.run()) == (1, 1)
    assert watch.viewed.bodies.count("kept") == 2
    watch.now += HOUR
    watch.poll()
    assert watch.pending() == 3


def test_words_of_the_full_text_are_fetched_at_once_and_its_numbers_after_the_pause(
    watch: Watch,
) -> None:
    watch.viewed.text = STORY * 3
    watch.poll()
    watch.run()
    watch.now += timedelta(minutes=5)
    watch.poll()
    assert (watch.pending(), watch.run()) == (0, 0)
    watch.viewed.text = STORY * 3 + "The mayor has resigned."
    watch.poll()
    assert (watch.pending(), watch.run()) == (3, 3)


def test_the_history_of_a_url_tells_that_a_fetch_waits(watch: Watch) -> None:
    url = f"{watch.viewed.site.url}/kept"
    watch.poll()
    watch.run()
    told = "the listing's text changed; the page is fetched again for that from 2026-11-20 01:01Z"
    assert told not in [event.what for event in url_history(watch.lake, url)]
    watch.now += timedelta(minutes=5)
    watch.poll()
    last = url_history(watch.lake, url)[-1]
    assert (last.at, last.stage, last.outcome, last.what) == (
        watch.now,
        "raw_articles",
        "skipped",
        told,
    )


def test_after_two_quiet_days_the_pauses_begin_again(watch: Watch) -> None:
    for hours in (0, 1, 3, 51, 52):
        watch.now = START + hours * HOUR
        watch.poll()
        assert watch.run() == 3
    assert watch.article("plain").relisted == 1
