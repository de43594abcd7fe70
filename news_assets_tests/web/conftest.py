"""The real server on loopback, over a small lake with an edited article, a copy and a
failure.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.subscriber_mail import SubscriptionLinks
from news_assets.desks.desk_files import load_desks
from news_assets.errors import FetchError
from news_assets.pipeline.alerts.query_file import Alerts, Mail, SavedQuery
from news_assets.pipeline.civic.item_rows import refresh_matters
from news_assets.pipeline.civic.meeting_storage import store_votes
from news_assets.pipeline.civic.mentions import mentions_of
from news_assets.pipeline.stories.update import update_stories
from news_assets.ports.services import PageRequest, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CivicMention, EnrichedArticle
from news_assets.records.meetings import Matter
from news_assets.records.reading import Page
from news_assets.search import Index
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.taxonomy import load_taxonomy
from news_assets.web.app import build_app
from news_assets.web.archive import Archive
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.small_desk import (
    DESK,
    NOW,
    TODAY,
    Newsroom,
    Pages,
    entry,
)
from news_assets_tests.support.stored_meeting import (
    DESK_FILE,
    ITEM,
    MEETING,
    REPORT,
    ROLL_CALL,
)
from news_assets_tests.support.waiting import HANG_S

CHANNELS = {
    "desk": Mail(kind="mail", to=("desk@example.org",)),
    "chat": Mail(kind="mail", to=("chat@example.org",)),
}
QUERIES = (SavedQuery(name="Buses and trams", query="bus", agency="a", to=("desk",)),)
HOSTILE = "=Bus 4 < 5 & more"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server."""
    folder = tmp_path_factory.mktemp("web")
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index, _Pages())
        fill(room)
        update_stories(lake, [TODAY], lambda: NOW, InlineSandbox())
        opened = Index(index, lambda: room.embedder, index.close)
        rules = Alerts(channels=CHANNELS, queries=QUERIES)
        archive = Archive(opened, lake, [DESK], {DESK.key: load_taxonomy()}, rules)
        with served(archive) as address:
            yield address


@pytest.fixture(scope="session")
def served_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over two articles, of two days."""
    folder = tmp_path_factory.mktemp("days")
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.list(entry(1), entry(2, day=TODAY - timedelta(days=1)))
        room.run()
        opened = Index(index, lambda: room.embedder, index.close)
        with served(Archive(opened, lake, [DESK], {})) as address:
            yield address


@pytest.fixture(scope="session")
def council(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over one matter in three meetings: past, next week, and
    cancelled the week after.
    """
    folder = tmp_path_factory.mktemp("council")
    (folder / "cities.yaml").write_text(DESK_FILE)
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        lake.transact(_store_meetings)
        desks = load_desks([str(folder / "cities.yaml")], ALL_KINDS)
        room = Newsroom(lake, index)
        room.list(entry(1))
        room.run()
        [article] = lake.read(RawArticle)
        lake.transact(
            lambda rows: rows.upsert(
                [replace(article, meeting_id="springfieldIL/primegov/7")]
            )
        )
        lake.transact(lambda rows: _store_news(rows, article))
        opened = Index(index, lambda: room.embedder, index.close)
        links = SubscriptionLinks("a secret of enough characters", "https://a.example")
        with served(Archive(opened, lake, desks, {}), links=links) as address:
            yield address


def _store_meetings(rows: Rows) -> None:
    """Store the past meeting (id ending in -6), the one to come (-7) and the cancelled
    one (-8), with their items.
    """
    vote = '[{"person": "Alder Lee", "value": "aye"}]'
    for number, days, status in (
        (6, -7, "passed"),
        (7, 7, "confirmed"),
        (8, 14, "cancelled"),
    ):
        begin = datetime.now(UTC).replace(
            hour=18, minute=30, second=0, microsecond=0
        ) + timedelta(days=days)
        key = f"springfieldIL/primegov/{number}"
        meeting = replace(
            MEETING, meeting_id=key, day=begin.date(), starts_at=begin, status=status
        )
        items = [
            replace(
                one, item_id=f"{key}/{one.sequence}", meeting_id=key, day=begin.date()
            )
            for one in (ITEM, ROLL_CALL)
        ]
        if number == 6:
            decided = {
                "action": "adopted",
                "result": "Pass",
                "mover": "Alder Lee",
                "decision": "Motion carried 5-0.",
            }
            items = [replace(one, article_id=None) for one in items]
            items[0] = replace(items[0], votes_json=vote, **decided)
        if number == 8:
            meeting = replace(
                meeting,
                status_reason="two listings lack it",
                body="Parks Board",
                title=HOSTILE,
            )
            items = [
                replace(
                    items[0],
                    article_id=None,
                    attachment_urls=("https://x.example/", "javascript:alert(1)"),
                )
            ]
        rows.upsert([meeting])
        rows.upsert(
            [
                replace(one, topics=("housing", "zoning"))
                if one.number == "2.A"
                else one
                for one in items
            ]
        )
        store_votes(rows, items, {})
    rows.upsert([REPORT])
    refresh_matters(rows, MEETING.desk, MEETING.agency, {ITEM.matter})
    [matter] = rows.read(Matter)
    rows.upsert(
        [
            replace(
                matter,
                desk="towns",
                title="Of another desk",
                item_ids=(),
                article_ids=(),
            )
        ]
    )


def _store_news(rows: Rows, like: RawArticle) -> None:
    """Store an article of a newspaper that names the matter, and a law."""
    text = "In Springfield, Ordinance 26-101 follows Public Law 117-58 & more."
    news = replace(like, article_id="news-1", agency="herald", title="Homes", text=text)
    rows.upsert([news])
    mentions = []
    for kind, named, passage in mentions_of(news.title, text, (), news.day):
        mention = CivicMention(
            article_id=news.article_id,
            desk=news.desk,
            agency=news.agency,
            day=news.day,
            kind=kind,
            named=named,
            passage=passage,
        )
        mentions.append(mention)
    rows.upsert(mentions)


class _Pages(Pages):
    """Pages of which the fourth has a headline with markup that a spreadsheet reads as
    a formula.
    """

    def answer(self, request: PageRequest) -> Page | FetchError:
        page = super().answer(request)
        if isinstance(page, FetchError) or not request.url.endswith("/4"):
            return page
        return replace(
            page, body=page.body.replace(b">Bus<", f">{escape(HOSTILE)}<".encode())
        )


def fill(room: Newsroom) -> None:
    """Store five articles.

    `a-1` has two revisions, and a copy `b-1c`; `a-2` cannot be enriched; `a-3` has no
    page; the summary of `a-4` has evidence.
    """
    room.enricher.refused.add("line2")
    room.pages.missing.add("https://example.org/3")
    room.list(entry(1), entry(2), entry(3), entry(4))
    room.run()
    room.pages.words = "Winter came early. "
    room.list(entry(1, entry_hash="two", news_hash="two"))
    room.run()
    room.list(entry(1, "b", article_id="b-1c", url="https://example.org/copies/1"))
    room.run()
    [article] = room.lake.read(RawArticle, article_id=["a-4"])
    [row] = room.lake.read(EnrichedArticle, article_id=["a-4"])
    quote = "after hours of debate"
    begin = (article.text or "").index(quote)
    spans = (f"{begin}-{begin + len(quote)}", "")
    row = replace(
        row,
        summary="It was close. All agreed.",
        summary_spans=spans,
        key_points=("A",),
        key_point_spans=("",),
    )
    [other] = room.lake.read(EnrichedArticle, article_id=["a-1"])
    named = [_with_names(one) for one in (row, other)]
    room.lake.transact(lambda rows: rows.upsert(named))


def _with_names(row: EnrichedArticle) -> EnrichedArticle:
    return replace(
        row,
        entities=("Ana Lima", "City Council"),
        entity_ids=("person/ana-lima", "body/city-council"),
    )


@contextmanager
def served(archive: Archive, **options: Any) -> Iterator[str]:
    """Serve the pages of an archive on a free port, with these options of `build_app`;
    yield the address.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(build_app(archive, ("127.0.0.1",), **options), log_level="error")
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def browser(site: str) -> Iterator[httpx.Client]:
    """A client of the server that asks for pages as a browser does."""
    accept = {"Accept": "text/html,*/*;q=0.8"}
    with httpx.Client(base_url=site, headers=accept, timeout=HANG_S) as client:
        yield client


@pytest.fixture(scope="module")
def statuses() -> dict[str, int]:
    """The statuses of links that were followed: most pages have the same ones."""
    return {}


@pytest.fixture(scope="session")
def chromium() -> Path:
    """Debian's browser; tests are skipped without it."""
    path = Path("/usr/bin/chromium")
    if not path.exists():
        pytest.skip("chromium is not installed: apt-get install chromium")
    return path
