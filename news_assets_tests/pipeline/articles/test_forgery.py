"""Listings that claim another publisher's article: what is stored, and which of the
copies is the original.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

import pytest

from news_assets.errors import FetchError
from news_assets.pipeline.poll.entry_rows import EntryRules
from news_assets.pipeline.poll.poll_loop import Polled
from news_assets.pipeline.poll.poll_rows import store_polls
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import PageRequest
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.desks import Agency, Desk, Source
from news_assets.records.reading import AgencyDays, ListedEntry, Listing, Page
from news_assets.store.lake import Lake
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
TRUE = (
    "The council of the true town voted on Tuesday to keep its library open for another year. "
    * 8
)
FORGED = (
    "The library of the town is said to be closed for ever, and nobody may borrow a book again. "
    * 40
)
VICTIM = "https://news.victim.example/2026/library"


def agency(key: str, url: str, place: int) -> Agency:
    source = Source(
        source_id=f"d/{key}",
        desk="d",
        agency=key,
        kind="feed",
        url=url,
        timezone="UTC",
        language="en",
    )
    return Agency(
        key=key, name=key, timezone="UTC", language="en", sources=(source,), place=place
    )


DESK = Desk(
    key="d",
    timezone="UTC",
    language="en",
    first_day=date(2026, 1, 1),
    agencies=(
        agency("evil", "https://evil.example/feed", place=1),
        agency("victim", "https://www.victim.example/feed.xml", place=0),
    ),
)


@dataclass
class Web(ScriptedFetcher):
    """Pages by address: a text, or a text and the address that it is redirected to;
    others cannot be had.
    """

    pages: dict[str, tuple[str, str]] = field(default_factory=dict)

    def answer(self, request: PageRequest) -> Page | FetchError:
        if request.url not in self.pages:
            return FetchError(
                request.url, "unavailable (503)", status=503, is_transient=True
            )
        text, final_url = self.pages[request.url]
        head = "<title>Library</title>"
        if text == FORGED:
            head += f'<link rel="canonical" href="{VICTIM}">'
        body = f"<html><head>{head}</head><body><article><h1>Library</h1><p>{text}</p></article></body></html>"
        return Page(
            url=request.url,
            final_url=final_url,
            status=200,
            body=body.encode(),
            fetched_at=NOW,
        )


@dataclass
class Room:
    """The lake of the desk above and the web that it reads."""

    lake: Lake
    web: Web = field(default_factory=lambda: Web(pages={VICTIM: (TRUE, VICTIM)}))
    now: datetime = NOW

    def list(self, key: str, url: str, text: str = "", hours_ago: float = 0) -> None:
        """Poll the agency's feed, which lists this entry only, and fetch what is due."""
        self.run(self.polled(key, url, text, hours_ago))

    def polled(
        self, key: str, url: str, text: str = "", hours_ago: float = 0
    ) -> Polled:
        """Return what a poll of the agency's feed finds."""
        [source] = next(one.sources for one in DESK.agencies if one.key == key)
        listed = ListedEntry(
            entry_id=url,
            url=url,
            title="Library",
            content_html=f"<p>{text}</p>" if text else None,
            published_at=self.now - timedelta(hours=hours_ago),
        )
        page = Page(
            url=source.url,
            final_url=source.url,
            status=200,
            body=b"",
            fetched_at=self.now,
        )
        return Polled(
            source=source,
            polled_at=self.now,
            page=page,
            listing=Listing(entries=(listed,)),
            outcome="ok",
        )

    def run(self, *polls: Polled) -> None:
        """Store the polls of one run, each in a transaction of its own, and fetch what
        is due after each.
        """
        entry_rules = EntryRules.of(DESK, self.now)
        for polled in polls:
            self.lake.transact(
                lambda rows, one=polled: store_polls(rows, [one], "t", entry_rules)
            )  # type: ignore[misc]
            keys = AgencyDays(
                "d",
                frozenset((one.agency, one.day) for one in self.lake.read(FeedEntry)),
            )
            ports = {"fetcher": self.web, "sandbox": InlineSandbox()}
            stage_named("raw_articles").run_batch(
                self.lake, DESK, keys, lambda: self.now, ports
            )
        self.now += timedelta(minutes=20)

    def rows(self) -> dict[str, RawArticle]:
        return {row.agency: row for row in self.lake.read(RawArticle)}


@pytest.fixture
def room(lake: Lake) -> Room:
    return Room(lake)


def lists_the_address(room: Room) -> None:
    room.list("evil", VICTIM, FORGED, hours_ago=30)


def lists_the_address_as_long_past(room: Room) -> None:
    room.list("evil", VICTIM, FORGED, hours_ago=24 * 90)


def redirects_to_it(room: Room) -> None:
    room.web.pages["https://evil.example/x"] = (TRUE, VICTIM)
    room.list("evil", "https://evil.example/x", FORGED, hours_ago=30)


@pytest.mark.parametrize(
    "attack", [lists_the_address, lists_the_address_as_long_past, redirects_to_it]
)
@pytest.mark.parametrize("comes_first", [True, False])
def test_what_another_lists_about_an_article_neither_replaces_nor_hides_it(
    room: Room, attack: Callable[[Room], None], comes_first: bool
) -> None:
    if comes_first:
        attack(room)
    room.list("victim", VICTIM, hours_ago=1)
    if not comes_first:
        attack(room)

    rows = room.rows()
    assert (rows["victim"].duplicate_of, rows["victim"].address_owner) == (None, "own")
    assert (rows["evil"].duplicate_of, rows["evil"].address_owner) == (
        rows["victim"].article_id,
        "other",
    )
    assert "for ever" not in f"{rows['victim'].text} {rows['evil'].text}"
    assert rows["evil"].published_at is None


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/go?url=" + VICTIM,
        "https://evil.example/x",
        "https://evil.example/amp",
    ],
)
def test_a_page_of_another_site_does_not_get_the_address_that_it_claims(
    room: Room, url: str
) -> None:
    room.web.pages[url] = (FORGED, url)
    room.list("evil", url, FORGED, hours_ago=30)
    room.list("victim", VICTIM, hours_ago=1)

    rows = room.rows()
    assert rows["evil"].url_hash != rows["victim"].url_hash
    assert (rows["victim"].duplicate_of, rows["evil"].duplicate_of) == (None, None)


def test_without_its_page_a_mention_has_no_text(room: Room) -> None:
    room.web.pages.clear()
    room.list("evil", VICTIM, FORGED, hours_ago=30)
    assert (room.rows()["evil"].outcome, room.rows()["evil"].text) == ("failed", None)


def test_at_an_address_of_nobody_the_page_decides_and_a_listing_is_quoted_without_one(
    room: Room,
) -> None:
    url = "https://nobody.example.net/1"
    room.list("evil", url, FORGED)
    told = room.rows()["evil"]
    assert (told.address_owner, told.text_origin) == ("nobody", "feed")
    assert told.reason is not None
    assert told.reason.startswith("text as told by evil: ")

    room.web.pages[url] = (TRUE, url)
    room.list("evil", url, f"{FORGED} And more.")
    assert (room.rows()["evil"].text_origin, room.rows()["evil"].text) == (
        "page",
        TRUE.strip(),
    )

    room.web.pages.clear()
    room.now += timedelta(days=3)
    room.list("evil", url, f"{FORGED} And even more.")
    assert room.rows()["evil"].text_origin == "page"


def test_a_publisher_s_own_text_goes_before_a_copy_that_was_seen_earlier_elsewhere(
    room: Room,
) -> None:
    room.web.pages["https://nobody.example.net/copy"] = (
        TRUE,
        "https://nobody.example.net/copy",
    )
    room.list("evil", "https://nobody.example.net/copy", hours_ago=50)
    room.list("victim", VICTIM, hours_ago=1)

    rows = room.rows()
    assert rows["victim"].duplicate_of is None
    assert (rows["evil"].duplicate_of, rows["evil"].duplicate_reason) == (
        rows["victim"].article_id,
        "same text",
    )


def test_of_two_publishers_sites_the_one_seen_first_has_the_original_whatever_time_is_claimed(
    room: Room,
) -> None:
    room.list("victim", VICTIM, hours_ago=1)
    room.web.pages["https://evil.example/copy"] = (TRUE, "https://evil.example/copy")
    room.list("evil", "https://evil.example/copy", hours_ago=50)

    rows = room.rows()
    assert rows["victim"].duplicate_of is None
    assert rows["evil"].duplicate_of == rows["victim"].article_id


@pytest.mark.parametrize("text", [TRUE, TRUE.replace("open", "shut", 1)])
@pytest.mark.parametrize("answers_first", ["evil", "victim"])
def test_of_copies_that_one_run_finds_the_original_is_that_of_the_first_agency_of_the_desk_file(
    room: Room, text: str, answers_first: str
) -> None:
    room.web.pages["https://evil.example/copy"] = (text, "https://evil.example/copy")
    polls = {
        "evil": room.polled("evil", "https://evil.example/copy", hours_ago=50),
        "victim": room.polled("victim", VICTIM, hours_ago=1),
    }
    room.run(polls.pop(answers_first), *polls.values())

    rows = room.rows()
    assert (rows["victim"].duplicate_of, rows["evil"].duplicate_of) == (
        None,
        rows["victim"].article_id,
    )


def test_a_copy_that_claims_another_month_is_a_copy(room: Room) -> None:
    room.list("victim", VICTIM, hours_ago=1)
    room.web.pages["https://evil.example/copy"] = (TRUE, "https://evil.example/copy")
    room.list("evil", "https://evil.example/copy", hours_ago=24 * 40)

    assert room.rows()["evil"].duplicate_of == room.rows()["victim"].article_id


def test_a_forged_text_from_before_goes_when_its_page_is_read(room: Room) -> None:
    room.list("evil", VICTIM)
    forged = replace(
        room.rows()["evil"],
        text=FORGED,
        text_chars=len(FORGED),
        text_origin="feed",
        address_owner="",
    )
    room.lake.transact(lambda rows: rows.upsert([forged]))
    room.list("evil", VICTIM, FORGED)
    assert "for ever" not in (room.rows()["evil"].text or "")
