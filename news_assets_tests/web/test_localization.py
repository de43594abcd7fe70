"""Times of pages: one date of an article in every list and form, the zone of the publisher or of
the reader, and how long ago it was.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web.archive import Archive
from news_assets.web.localization import PageTimes, offered_zones
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.support.waiting import HANG_S
from news_assets_tests.text.workbooks import sheets_of
from news_assets_tests.web.conftest import served

BRASILIA = "America/Sao_Paulo"
NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
# 22:00 in Brasília
LATE = datetime(2026, 11, 2, 1, tzinfo=UTC)
DAY = date(2026, 11, 1)
FULL = "2026-11-01 22:00 (Brasília, UTC−3)"


@pytest.fixture(scope="module")
def brasilia(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over an article of 22:00 in Brasília."""
    folder = tmp_path_factory.mktemp("zones")
    agencies = tuple(replace(one, timezone=BRASILIA) for one in DESK.agencies)
    desk = replace(DESK, timezone=BRASILIA, agencies=agencies)
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index, desk=desk)
        room.list(entry(1, day=DAY, published_at=LATE))
        room.list(entry(2, day=DAY - timedelta(days=1)))
        room.run()
        opened = Index(index, lambda: room.embedder, index.close)
        with served(Archive(opened, lake, [desk], {})) as address:
            yield address


def page_of(address: str, path: str, **cookies: str) -> str:
    headers = {"Accept": "text/html"}
    answer = httpx.get(address + path, headers=headers, cookies=cookies, timeout=HANG_S)
    assert answer.status_code == 200
    return answer.text


def test_an_article_of_the_late_evening_has_one_date_in_every_list_and_form(
    brasilia: str,
) -> None:
    where = "/search{}?from=2026-11-01&to=2026-11-01"
    assert f'title="{FULL}">2026-11-01 22:00</time>' in page_of(
        brasilia, where.format("")
    )
    assert 'datetime="2026-11-01T22:00:00-03:00"' in page_of(brasilia, "/search")
    assert "<title>2026-11-01: 1</title>" in page_of(brasilia, "/search")
    article = page_of(brasilia, "/articles/a-1")
    assert article.count(f">{FULL}</time>") == 2
    assert "dated 2026-11-01 22:00" in page_of(brasilia, "/articles/a-1/way")
    assert "2026-11-01 22:00" in page_of(brasilia, "/publishers/d/a")

    [item] = httpx.get(brasilia + where.format(".feed.json"), timeout=HANG_S).json()[
        "items"
    ]
    assert item["date_published"] == "2026-11-01T22:00:00-03:00"
    atom = page_of(brasilia, where.format(".atom"))
    assert "<published>2026-11-01T22:00:00-03:00</published>" in atom
    [row] = csv.DictReader(io.StringIO(page_of(brasilia, where.format(".csv"))))
    assert (row["day"], row["published_at"]) == (
        "2026-11-01",
        "2026-11-01T22:00:00-03:00",
    )
    pages = (
        "/search",
        "/articles/a-1",
        "/articles/a-1/way",
        "/publishers/d/a",
        where.format(".atom"),
    )
    for path in (*pages, where.format(".csv"), where.format(".feed.json")):
        assert "2026-11-02" not in page_of(brasilia, path), path


def test_the_times_of_a_workbook_are_the_publishers_and_name_their_zone(
    brasilia: str,
) -> None:
    where = f"{brasilia}/search.xlsx?from=2026-11-01&to=2026-11-01"
    file = io.BytesIO(httpx.get(where, timeout=HANG_S).content)
    [[header, row]] = sheets_of(file)
    place = [name for _, name in header].index("published_at")
    days = (DAY - date(1899, 12, 30)).days + 22 / 24
    assert float(row[place][1]) == pytest.approx(days, abs=1e-6)


def test_a_reader_chooses_a_zone_that_stays_without_scripts(brasilia: str) -> None:
    with httpx.Client(
        base_url=brasilia, headers={"Accept": "text/html"}, timeout=HANG_S
    ) as client:
        footer = client.get("/articles/a-1").text.partition("<footer>")[2]
        assert '<select id="zone" name="zone">' in footer
        assert "<option>Europe/Lisbon</option>" in footer

        chosen = client.get("/articles/a-1?zone=Europe/Lisbon").text
        assert ">2026-11-02 01:00 (Lisbon, UTC)</time>" in chosen
        assert "<option selected>Europe/Lisbon</option>" in chosen
        hits = client.get("/search?from=2026-11-01&to=2026-11-01").text
        both = f"2026-11-02 01:00 (Lisbon, UTC) = {FULL}"
        assert f'title="{both}">2026-11-02 01:00</time>' in hits

        client.get("/search?zone=Nowhere/Else")
        assert "2026-11-02 01:00" in client.get("/articles/a-1").text
        client.get("/search?zone=")
        assert f">{FULL}</time>" in client.get("/articles/a-1").text


def test_two_readers_of_two_zones_do_not_get_each_others_pages(brasilia: str) -> None:
    own = page_of(brasilia, "/articles/a-1")
    tokyo = page_of(brasilia, "/articles/a-1", news_zone="Asia/Tokyo")
    assert "(Tokyo, UTC+9)" in tokyo
    assert "Tokyo, UTC" not in own
    assert page_of(brasilia, "/articles/a-1") == own


@pytest.mark.parametrize(
    ("age", "english", "portuguese"),
    [
        (timedelta(seconds=59), "just now", "agora mesmo"),
        (timedelta(minutes=18, seconds=50), "18 min ago", "há 18 min"),
        (timedelta(hours=23, minutes=59), "23 h ago", "há 23 h"),
        (timedelta(hours=24), "2026-11-19 12:00", "2026-11-19 12:00"),
        (-timedelta(minutes=1), "2026-11-20 12:01", "2026-11-20 12:01"),
    ],
)
def test_recent_times_are_relative_and_have_the_full_time_as_title(
    age: timedelta, english: str, portuguese: str
) -> None:
    for language, expected in (("en", english), ("pt", portuguese)):
        shown = times(language=language).short(NOW - age, BRASILIA)
        assert f">{expected}</time>" in shown
        assert re.search(r'title="2026-11-\d\d \d\d:\d\d \(Brasília, UTC−3\)"', shown)


def test_a_day_without_an_hour_is_not_shown_as_midnight() -> None:
    midnight = datetime(2026, 11, 1, 3, tzinfo=UTC)
    for at in (None, midnight, LATE + timedelta(days=2)):
        shown = times().published(DAY, at, BRASILIA)
        assert shown == '<time datetime="2026-11-01">2026-11-01</time>'
    assert ">2026-11-01 22:00<" in times().published(DAY, LATE, BRASILIA)


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        ("UTC", "(UTC)"),
        ("Asia/Kolkata", "(Kolkata, UTC+5:30)"),
        ("Europe/London", "(London, UTC)"),
        ("America/Argentina/Buenos_Aires", "(Buenos Aires, UTC−3)"),
    ],
)
def test_a_full_time_names_its_zone(zone: str, name: str) -> None:
    assert times().text(NOW, zone).endswith(name)


def test_times_in_texts_of_the_program_are_those_of_the_page() -> None:
    text = "first listed, dated 2026-11-02 01:00Z; again 2026-11-02 12:30 UTC"
    expected = "first listed, dated 2026-11-01 22:00; again 2026-11-02 09:30"
    assert times().localized(text, BRASILIA) == expected


def test_the_zones_of_the_publishers_and_the_chosen_one_are_offered() -> None:
    zones = offered_zones([DESK], "Asia/Tehran")
    assert {"UTC", "Asia/Tehran", BRASILIA} <= set(zones)
    assert all(first < second for first, second in pairwise(zones))


def times(language: str = "en", chosen: str = "") -> PageTimes:
    return PageTimes(now=NOW, language=language, chosen=chosen, usual="UTC")
