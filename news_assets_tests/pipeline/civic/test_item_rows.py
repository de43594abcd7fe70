"""Ids of agenda items, and matters.

A matter in several meetings: each of its texts is enriched once, and every
appearance keeps its summary.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.pipeline.civic.item_rows import item_ids
from news_assets.ports.search_index import Filters, SearchQuery
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.records.derived import EnrichedArticle, IndexedDocument
from news_assets.records.meetings import AgendaItem, Matter
from news_assets.records.reading import Enrichment
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import stale_rows
from news_assets.store.queries.copies import (
    appearance_copies,
    appearances_of,
    next_first,
    written_number,
)
from news_assets.store.queries.stored_meetings import meeting_details
from news_assets_tests.pipeline.civic.conftest import MEETING, Prepare, attachment
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import (
    CouncilRoom,
    CountingEnricher,
    DyingLake,
    Killed,
)
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.stored_meeting import ITEM

COUNCIL_MEETING = "springfieldIL/legistar/7"


def test_a_matter_that_is_twice_on_an_agenda_is_two_items() -> None:
    first = AgendaItem(sequence=1, title="Night buses, first reading", vendor_id="12")
    second = replace(first, sequence=2, title="Night buses, second reading")
    assert item_ids(COUNCIL_MEETING, [first, second], ()) == [
        f"{COUNCIL_MEETING}/12",
        f"{COUNCIL_MEETING}/12-2",
    ]


def test_an_item_without_a_vendors_id_keeps_its_id_where_others_are_inserted() -> None:
    stored = replace(
        ITEM,
        item_id=f"{COUNCIL_MEETING}/at-1",
        title="Night buses",
        number="2",
        matter_file=None,
    )
    buses = AgendaItem(sequence=3, title="Night buses", number="3")
    inserted = AgendaItem(sequence=2, title="Trams", number="2")
    keys = item_ids(COUNCIL_MEETING, [inserted, buses], [stored])
    assert keys[1] == f"{COUNCIL_MEETING}/at-1"
    assert keys[0] != keys[1]


# --- matters --------------------------------------------------------------------------

DAY, WEEK = timedelta(days=1), timedelta(days=7)
TITLE = "Contract for night buses"
BY_REPORT, BY_MAP = "It costs four million dollars.", "It has a map of all stops."


class ReadingEnricher(CountingEnricher):
    """Summarises by what the text has, so that a summary shows the text that it was
    made from.
    """

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        self.asked.append(title)
        summary = (
            BY_MAP
            if "A map of all stops" in text
            else BY_REPORT
            if "four million" in text
            else None
        )
        return Enrichment(
            summary=summary, key_points=(title,), key_point_spans=("0-8",)
        )


@pytest.fixture
def room(room: CouncilRoom) -> CouncilRoom:
    room.enricher = ReadingEnricher()
    return room


def appear(room: CouncilRoom, council: Council, number: int, *files: str) -> None:
    """Put the matter on the agenda of a meeting, each a week after the one before."""
    if number not in council.events:
        council.meet(number, MEETING + (number - 1) * WEEK, changed_at=room.now)
    attachments = [attachment(room, name) for name in files]
    council.put(
        number, 100 + number, TITLE, *attachments, EventItemMatterFile="26-0012"
    )


def summaries(lake: Lake) -> list[str | None]:
    """Return the summary that each appearance shows, by day."""
    rows = sorted(lake.read(EnrichedArticle), key=lambda row: row.day)
    return [row.summary for row in rows]


def change(room: CouncilRoom, council: Council) -> None:
    """Hold two meetings with one report, then a third with a map beside it."""
    room.enricher = ReadingEnricher()
    for number, files in ((1, ["report"]), (2, ["report"]), (3, ["report", "map"])):
        appear(room, council, number, *files)
        room.poll(DAY)
        room.run()


@pytest.fixture
def changed(prepared: Callable[[Prepare], CouncilRoom]) -> CouncilRoom:
    return prepared(change)


def test_each_appearance_keeps_its_summary_and_the_matter_has_the_newest(
    changed: CouncilRoom,
) -> None:
    lake = changed.lake

    assert changed.enricher.asked == [TITLE, TITLE]  # one for each text
    assert summaries(lake) == [BY_REPORT, BY_REPORT, BY_MAP]
    [matter] = lake.read(Matter)
    assert (matter.summary, matter.summary_of) == (BY_MAP, matter.article_ids[2])
    details = meeting_details(lake, "springfieldIL/legistar/1")
    assert details is not None
    assert [one.summary for one in details.items] == [BY_REPORT]
    assert lake.read(ArticleRevision) == []


@pytest.mark.slow  # runs the stages several times
def test_one_more_meeting_with_the_same_documents_changes_no_row(
    changed: CouncilRoom, council: Council
) -> None:
    changed.run()
    before = changed.lake.read(EnrichedArticle)
    asked = len(changed.enricher.asked)

    appear(changed, council, 4, "report", "map")
    changed.poll(DAY)
    changed.run()

    after = sorted(changed.lake.read(EnrichedArticle), key=lambda row: row.day)
    assert after[:3] == sorted(before, key=lambda row: row.day)
    assert (after[3].summary, len(changed.enricher.asked)) == (BY_MAP, asked)


@pytest.mark.slow  # runs the stages several times
def test_a_second_run_changes_nothing(changed: CouncilRoom) -> None:
    tables: tuple[type[Any], ...] = (
        Matter,
        RawArticle,
        EnrichedArticle,
        IndexedDocument,
    )
    changed.run()
    before = [changed.lake.read(table) for table in tables]

    changed.now += DAY
    changed.run()

    assert [changed.lake.read(table) for table in tables] == before


@pytest.mark.slow  # runs the stages several times
def test_the_matter_of_a_withdrawn_appearance_has_the_summary_of_the_one_before(
    changed: CouncilRoom,
) -> None:
    asked = len(changed.enricher.asked)
    last = max(changed.lake.read(RawArticle), key=lambda row: row.day)
    changed.lake.transact(
        lambda rows: withdraw(rows, [last], "ordered by a court", changed.now)
    )

    assert summaries(changed.lake) == [BY_REPORT] * 2
    assert [matter.summary for matter in changed.lake.read(Matter)] == [BY_REPORT]
    assert len(changed.enricher.asked) == asked


def test_a_matter_that_gets_a_number_is_not_known_by_its_title_any_more(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 101, "Contract for the night buses of the harbour")
    room.poll()
    assert [matter.matter[:6] for matter in room.lake.read(Matter)] == ["title:"]
    council.items[1][0]["EventItemMatterFile"] = "26-0012"
    council.meet(1, MEETING, changed_at=room.now)

    room.poll(DAY)

    assert [matter.matter for matter in room.lake.read(Matter)] == ["file:26-0012"]


@pytest.mark.slow  # runs the stages several times
def test_items_with_only_a_title_in_common_keep_their_summaries(
    room: CouncilRoom, council: Council
) -> None:
    for number, name in ((1, "report"), (2, "map")):
        council.meet(number, MEETING + (number - 1) * WEEK, changed_at=room.now)
        council.put(
            number,
            100 + number,
            "Monthly report of the transport office",
            attachment(room, name),
        )
        room.poll(DAY)
        room.run()
        room.run()

    assert summaries(room.lake) == [BY_REPORT, BY_MAP]
    [matter] = room.lake.read(Matter)
    assert (len(matter.article_ids), matter.summary) == (2, BY_MAP)
    assert stale_rows(room.lake, room.desk, room.now).is_empty()


@pytest.mark.slow  # a run for each place where it is killed
@pytest.mark.exhaustive  # test_civic_desk.py kills the poll and each stage in the same way
def test_runs_that_are_killed_end_with_equal_rows(
    room: CouncilRoom, council: Council, tmp_path: Path
) -> None:
    for number, files in (
        (1, ["report"]),
        (2, ["report", "map"]),
        (3, ["report", "map"]),
    ):
        appear(room, council, number, *files)
    tables: tuple[type[Any], ...] = (
        Matter,
        RawArticle,
        EnrichedArticle,
        IndexedDocument,
    )
    with Lake.open(tmp_path / "other.sqlite", tmp_path / "other") as quiet:
        undisturbed = CouncilRoom(
            quiet, FakeSearchIndex(), room.url, tmp_path, enricher=ReadingEnricher()
        )
        undisturbed.poll()
        undisturbed.run()
        undisturbed.run()
        expected = [quiet.read(table) for table in tables]
    lake = room.lake
    room.poll()
    for lives in range(100):
        room.lake = cast("Lake", DyingLake(lake, lives))
        with suppress(Killed):
            room.run()
            break
    room.lake = lake
    room.run()

    assert lives >= 3
    assert [lake.read(table) for table in tables] == expected


@pytest.mark.slow  # runs the stages several times
def test_a_search_shows_the_next_meeting_first_and_the_others_beneath(
    changed: CouncilRoom, council: Council
) -> None:
    ids = {row.day: row.article_id for row in changed.lake.read(RawArticle)}
    first, second, third = (ids[MEETING + week * WEEK] for week in range(3))
    hits = changed.index.search(SearchQuery(text="night buses", mode="keyword")).hits
    groups = appearances_of(changed.lake, [hit.article_id for hit in hits])

    def shown(today: date, **filters: Any) -> list[str]:
        return [
            hit.article_id
            for hit in next_first(hits, groups, Filters(**filters), today)
        ]

    assert shown(MEETING) == [first]
    assert shown(MEETING + DAY) == [second]
    assert shown(MEETING + 100 * DAY) == [third]
    assert shown(MEETING, from_day=MEETING + 10 * DAY) == [third]
    beneath = appearance_copies(changed.lake, [second])[second]
    assert [copy.article_id for copy in beneath] == [third, first]


@pytest.mark.parametrize(
    "written", ["ORD 2026-101", "ord-2026-101", "Ord. 2026-101", "ORD2026101"]
)
def test_a_matter_is_found_by_its_number_as_people_write_it(
    room: CouncilRoom, council: Council, written: str
) -> None:
    council.put(1, 101, TITLE, EventItemMatterFile="ORD 2026-101")
    room.poll()

    assert written_number(room.lake, written, Filters()) == "ORD 2026-101"
    assert written_number(room.lake, "buses 2026", Filters()) is None
