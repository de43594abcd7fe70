"""A civic desk over a council's API: polls, documents, articles, enrichment, index and
search.
"""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from news_assets.pipeline.schedule import due_sources
from news_assets.ports.search_index import SearchQuery
from news_assets.records.articles import FeedEntry, RawArticle, SourceState
from news_assets.records.derived import EnrichedArticle, Failure, IndexedDocument
from news_assets.records.meetings import (
    Matter,
    StoredDocument,
    StoredItem,
    StoredMeeting,
)
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets_tests.pipeline.civic.conftest import MEETING, REPORT, attachment
from news_assets_tests.support.council import Council, days_from, served
from news_assets_tests.support.council_room import NOW, CouncilRoom, DyingLake, Killed
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.pdfs import pdf_of

CIVIC_TABLES: tuple[type[Any], ...] = (
    *(StoredMeeting, StoredItem, StoredDocument, Matter),
    *(FeedEntry, RawArticle, EnrichedArticle, IndexedDocument),
)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def is_current(room: CouncilRoom) -> bool:
    now = room.now + timedelta(days=40)
    return (
        pending_entries(room.lake, room.desk, now).is_empty()
        and stale_rows(room.lake, room.desk, now).is_empty()
    )


def test_an_agenda_item_is_found_by_the_words_of_its_attachment(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 10, "Roll Call")
    council.put(1, 11, "Proclamation of Bus Day")
    council.put(
        1,
        12,
        "Contract for night buses",
        attachment(room, "report"),
        EventItemMatterFile="26-0012",
    )

    [poll] = room.poll()
    room.run()

    assert (poll.outcome, poll.entry_count, poll.new_count) == ("ok", 1, 2)
    [meeting] = room.lake.read(StoredMeeting)
    assert (meeting.meeting_id, meeting.day, meeting.status) == (
        "springfieldIL/legistar/1",
        MEETING,
        "confirmed",
    )
    reasons = {
        item.title: (item.filter_tier, item.filter_reason)
        for item in room.lake.read(StoredItem)
    }
    assert reasons == {
        "Roll Call": ("dropped", 'procedural: "roll call"'),
        "Proclamation of Bus Day": (
            "not_enriched",
            'ceremonial or routine: "proclamation"',
        ),
        "Contract for night buses": (None, None),
    }
    contract, proclamation = sorted(
        room.lake.read(RawArticle), key=lambda row: row.title or ""
    )
    assert (contract.day, contract.body, contract.matter) == (
        MEETING,
        "City Council",
        "file:26-0012",
    )
    assert contract.text == (
        "Contract for night buses\n\nFile 26-0012.\n\n## Report\n\n"
        "The contract for the night buses costs four million dollars a year and runs until 2030."
    )
    assert proclamation.filter_reason == 'ceremonial or routine: "proclamation"'
    assert room.enricher.asked == ["Contract for night buses"]
    found = room.index.search(SearchQuery(text="four million dollars", mode="keyword"))
    assert [hit.article_id for hit in found.hits] == [contract.article_id]
    assert len(room.lake.read(IndexedDocument)) == 2
    assert is_current(room)


@pytest.mark.slow  # runs the stages several times
def test_a_matter_in_twelve_meetings_is_read_and_enriched_once(
    room: CouncilRoom, council: Council
) -> None:
    for number, day in enumerate(days_from(MEETING, 12), start=1):
        council.meet(number, day)
        council.put(
            number,
            100 + number,
            "Contract for night buses",
            *(attachment(room, name) for name in ("report", "map")),
            EventItemMatterFile="26-0012",
            EventItemAgendaNumber=f"{number}.",
        )

    room.poll()
    room.run()

    assert len(room.lake.read(RawArticle)) == 12
    assert (len(room.enricher.asked), room.documents_read) == (1, 2)
    assert {row.summary for row in room.lake.read(EnrichedArticle)} == {
        "About: Contract for night buses"
    }
    [matter] = room.lake.read(Matter)
    assert (len(matter.item_ids), matter.first_day, matter.last_day) == (
        12,
        MEETING,
        MEETING + 77 * DAY,
    )
    assert matter.summary == "About: Contract for night buses"
    assert is_current(room)


@pytest.mark.slow  # 46 polls and runs
@pytest.mark.exhaustive  # test_item_rows.py changes an item too
def test_an_item_that_changes_sixteen_times_is_read_and_enriched_once(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses", attachment(room, "report"))
    for number in range(16):
        council.meet(1, MEETING, EventComment=f"Version {number}", changed_at=room.now)
        council.items[1][0]["EventItemAgendaNumber"] = f"{number}."
        room.poll(timedelta(minutes=10))
        if not number % 8:
            room.run()

    room.run()

    assert (len(room.enricher.asked), room.documents_read) == (1, 1)
    assert council.requests["/files/report.pdf"] == 1
    assert [item.number for item in room.lake.read(StoredItem)] == ["15"]


def test_a_document_is_read_once_under_two_addresses(
    room: CouncilRoom, council: Council
) -> None:
    council.files["/files/copy.pdf"] = REPORT
    council.put(1, 12, "Contract for night buses", attachment(room, "report"))
    council.put(1, 13, "Contract for day buses", attachment(room, "copy"))

    room.poll()
    room.run("documents")

    first, second = sorted(
        room.lake.read(StoredDocument), key=lambda row: row.copy_of or ""
    )
    assert (first.text, first.copy_of, second.copy_of) == (
        second.text,
        None,
        first.document_id,
    )
    assert room.documents_read == 1


def test_a_future_meeting_that_two_good_answers_lack_is_cancelled_and_kept(
    room: CouncilRoom, council: Council
) -> None:
    council.meet(2, MEETING + DAY)
    council.put(1, 12, "Contract for night buses")
    room.poll()
    room.run("documents", "raw_articles")
    event = council.events.pop(1)

    room.poll(DAY)
    assert [meeting.status for meeting in room.lake.read(StoredMeeting)] == [
        "confirmed",
        "confirmed",
    ]
    room.poll(DAY)
    room.run("documents", "raw_articles")

    cancelled, other = room.lake.read(StoredMeeting)
    assert (cancelled.status, cancelled.status_reason) == (
        "cancelled",
        "missing from two successive answers",
    )
    assert other.status == "confirmed"
    assert [article.meeting_status for article in room.lake.read(RawArticle)] == [
        "cancelled"
    ]

    council.events[1] = event
    room.poll(DAY)
    room.run("documents", "raw_articles")
    assert room.lake.read(StoredMeeting)[0].status == "confirmed"
    assert [article.meeting_status for article in room.lake.read(RawArticle)] == [
        "confirmed"
    ]


def test_nothing_is_inferred_from_answers_that_failed(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses")
    room.poll()
    before = room.lake.read(StoredMeeting)

    for status in (403, 429, 503, 404):
        council.refusals["/v1"] = status
        [poll] = room.poll(DAY)
        assert (poll.outcome, poll.status in (None, status)) == ("failed", True)

    assert room.lake.read(StoredMeeting) == before
    assert [item.filter_reason for item in room.lake.read(StoredItem)] == [None]


def test_items_that_were_not_had_are_asked_for_again(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses")
    council.refusals["/v1/springfield/events/1/eventitems"] = 503
    [poll] = room.poll()
    assert (poll.outcome, room.lake.read(StoredItem)) == ("ok", [])
    council.refusals.clear()

    room.poll(DAY)

    assert [item.title for item in room.lake.read(StoredItem)] == [
        "Contract for night buses"
    ]


def test_more_meetings_than_a_poll_asks_items_of_are_asked_by_the_next_polls(
    room: CouncilRoom, council: Council
) -> None:
    for number in range(1, 66):
        council.meet(number, MEETING + number % 60 * DAY)
        council.put(number, 100 + number, f"Contract {number}")
    [first] = room.poll()
    [second] = room.poll(timedelta(minutes=10))
    [third] = room.poll(timedelta(minutes=10))

    assert (first.new_count, second.new_count, third.outcome) == (60, 5, "unchanged")


def test_ids_stay_when_title_and_time_change_and_the_article_moves(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses")
    room.poll()
    room.run()
    [before] = room.lake.read(RawArticle)
    council.meet(1, MEETING + 2 * DAY, "7:30 PM", changed_at=room.now + HOUR)
    council.items[1][0]["EventItemTitle"] = "Contract for night and day buses"

    room.poll(DAY)
    room.run()

    [after] = room.lake.read(RawArticle)
    assert (after.article_id, after.day, after.title) == (
        before.article_id,
        MEETING + 2 * DAY,
        "Contract for night and day buses",
    )
    [meeting] = room.lake.read(StoredMeeting)
    assert meeting.starts_at is not None
    assert meeting.starts_at.isoformat() == "2026-03-13T00:30:00+00:00"
    assert is_current(room)


@pytest.mark.slow  # runs the stages several times
def test_items_are_composed_with_the_reason_and_those_of_all_days_again_when_their_document_comes(
    room: CouncilRoom, council: Council
) -> None:
    council.meet(2, MEETING + DAY)
    for meeting in (1, 2):
        council.put(
            meeting,
            10 + meeting,
            "Contract for night buses",
            attachment(room, "report"),
        )
    council.refusals["/files"] = 503
    room.poll()
    room.run()
    articles = room.lake.read(RawArticle)
    assert [(article.outcome, article.text) for article in articles] == [
        ("ok", "Contract for night buses")
    ] * 2
    assert all("Report" in (article.reason or "") for article in articles)
    council.refusals.clear()
    room.now += HOUR

    work = pending_entries(room.lake, room.desk, room.now)
    assert set(work.select("stage", "why").rows()) == {("documents", "failed")}
    room.run("documents", days={MEETING})

    assert pending_entries(room.lake, room.desk, room.now).select(
        "day", "stage", "why"
    ).rows() == [
        (MEETING + DAY, "raw_articles", "due"),
        (MEETING, "raw_articles", "due"),
    ]
    assert room.lake.read(Failure) == []
    room.run()
    assert [
        ("four million dollars" in (article.text or ""), article.reason)
        for article in room.lake.read(RawArticle)
    ] == [(True, None)] * 2
    assert is_current(room)


def test_an_item_too_short_to_tell_its_language_has_that_of_the_agency(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Tavern license renewal")
    room.poll()
    room.run("raw_articles")
    assert [article.language for article in room.lake.read(RawArticle)] == ["en"]


def test_an_item_waits_for_documents_that_were_not_tried(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses", attachment(room, "report"))
    room.poll()

    room.run("raw_articles")

    assert room.lake.read(RawArticle) == []
    assert set(pending_entries(room.lake, room.desk, room.now)["stage"]) == {
        "documents",
        "raw_articles",
    }


def test_repeating_every_step_changes_nothing(
    room: CouncilRoom, council: Council
) -> None:
    council.put(
        1,
        12,
        "Contract for night buses",
        attachment(room, "report"),
        EventItemMatterFile="26-0012",
    )
    room.poll()
    room.run()
    before = [room.lake.read(table) for table in CIVIC_TABLES]

    room.poll(HOUR)
    room.run()

    assert [room.lake.read(table) for table in CIVIC_TABLES] == before


@pytest.mark.slow  # runs the stages several times
def test_an_item_that_left_the_agenda_stays_and_says_so(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses")
    council.put(1, 13, "Budget of the night buses")
    room.poll()
    room.run()
    del council.items[1][1]

    room.poll(DAY)
    room.run()

    rows = {row.title: row.filter_reason for row in room.lake.read(RawArticle)}
    assert rows == {
        "Contract for night buses": "",
        "Budget of the night buses": "no longer on the agenda",
    }
    assert is_current(room)


def test_the_change_signal_takes_one_request_where_nothing_changed(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses")
    room.poll()
    council.requests.clear()

    [poll] = room.poll(HOUR)
    assert (poll.outcome, council.requests.total()) == ("unchanged", 1)

    council.meet(2, MEETING + DAY, changed_at=NOW + HOUR)
    council.put(2, 14, "Budget of the night buses")
    [poll] = room.poll(HOUR)
    assert (poll.outcome, poll.new_count) == ("ok", 1)
    assert council.requests == {
        "/v1/springfield/events": 3,
        "/v1/springfield/events/2/eventitems": 1,
    }


def test_items_of_a_packet_have_its_pages(
    lake: Lake, council: Council, tmp_path: Path
) -> None:
    portal = "/api/v2/PublicPortal/"
    agenda = "Agenda\nContract for the night buses .... 2\nBudget of the public library .... 3"
    contract = "Contract for the night buses\nFour million dollars a year until 2030."
    budget = "Budget of the public library\nTwo million dollars for books and heating."
    documents = [
        {
            "id": 7,
            "templateId": 5,
            "templateName": "HTML Agenda",
            "compileOutputType": 3,
        },
        {"id": 8, "templateId": 6, "templateName": "Packet", "compileOutputType": 1},
    ]
    meeting = {
        "id": 44,
        "title": "City Council",
        "dateTime": f"{MEETING}T18:00:00",
        "documentList": documents,
    }
    titles = ("Contract for the night buses", "Budget of the public library")
    items = (
        f'<div class="meeting-item" data-itemid="{n}"><p class="item-title">{t}</p></div>'
        for n, t in enumerate(titles)
    )
    council.files = {
        f"{portal}ListUpcomingMeetings": json.dumps([meeting]).encode(),
        f"{portal}ListArchivedMeetings": b"[]",
        "/Portal/Meeting": f"<html><body>{''.join(items)}</body></html>".encode(),
        "/Public/CompiledDocument": pdf_of(agenda, contract, budget),
    }
    with served(council) as base:
        room = CouncilRoom(lake, FakeSearchIndex(), f"{base}/", tmp_path, "primegov")
        room.poll()
        room.run("documents", "raw_articles")

    texts = {
        row.title: (row.text or "").partition("## Agenda packet")[2]
        for row in lake.read(RawArticle)
    }
    assert texts == {
        "Contract for the night buses": "\n\nContract for the night buses\nFour million dollars a year until 2030.",
        "Budget of the public library": "\n\nBudget of the public library\nTwo million dollars for books and heating.",
    }
    assert council.requests["/Public/CompiledDocument"] == 1
    reasons = {row.reason for row in lake.read(StoredDocument)}
    assert reasons == {"pages 2 to 2 of the packet", "pages 3 to 3 of the packet"}


@pytest.mark.slow  # runs the stages several times
def test_a_meeting_without_items_has_one_article_of_its_agenda(
    room: CouncilRoom, council: Council
) -> None:
    council.files["/files/report.pdf"] = pdf_of(
        "The contract costs four million dollars. Send public comments to clerk@springfield.gov by noon."
    )
    council.meet(
        1,
        MEETING,
        EventAgendaFile=attachment(room, "report")[1],
        EventComment="Passcode: 123456",
    )

    room.poll()
    room.run()
    room.poll(DAY)

    [article] = room.lake.read(RawArticle)
    assert (article.title, article.meeting_id) == (
        "City Council",
        "springfieldIL/legistar/1",
    )
    assert "four million dollars" in (article.text or "")
    facts = json.loads(room.lake.read(StoredMeeting)[0].participation_json)
    said = {(fact["kind"], fact["value"], fact["text"]) for fact in facts}
    assert {
        ("passcode", "123456", "comment"),
        ("email", "clerk@springfield.gov", "agenda"),
    } <= said
    [span] = [fact["span"] for fact in facts if fact["kind"] == "email"]
    start, end = map(int, span.split("-"))
    assert (article.text or "")[start:end] == "clerk@springfield.gov"


@pytest.mark.slow  # runs the stages several times
def test_a_desk_that_is_killed_again_and_again_ends_with_equal_rows(
    room: CouncilRoom, council: Council, tmp_path: Path
) -> None:
    council.put(
        1,
        12,
        "Contract for night buses",
        attachment(room, "report"),
        EventItemMatterFile="26-0012",
    )
    council.put(1, 13, "Proclamation of Bus Day", attachment(room, "map"))
    with Lake.open(tmp_path / "other.sqlite", tmp_path / "other") as quiet:
        undisturbed = CouncilRoom(quiet, FakeSearchIndex(), room.url, tmp_path)
        undisturbed.poll()
        undisturbed.run()
        expected = [quiet.read(table) for table in CIVIC_TABLES]
    lake = room.lake
    for lives in range(100):
        room.lake = cast("Lake", DyingLake(lake, lives))
        with suppress(Killed):
            if not lake.read(FeedEntry):
                room.poll()
            room.run()
            break
    assert lives >= 4
    assert [lake.read(table) for table in CIVIC_TABLES] == expected


def test_a_source_stands_in_only_while_those_before_it_fail(room: CouncilRoom) -> None:
    [first] = room.desk.sources
    second = replace(
        first,
        source_id="second",
        url="https://springfield.legistar.com/",
        kind="legistar_html",
    )
    news = replace(
        first,
        source_id="news",
        url="https://springfield.gov/feed",
        kind="feed",
        is_civic=False,
    )
    sources = (first, second, news)
    later = room.now + 3 * DAY
    assert [one.source_id for one in due_sources(sources, (), later)] == [
        first.source_id,
        "news",
    ]
    room.poll()
    [state] = room.lake.read(SourceState)

    def due(**changes: Any) -> list[str]:
        return [
            one.source_id
            for one in due_sources(sources, [replace(state, **changes)], later)
        ]

    assert due() == [first.source_id, "news"]
    assert due(last_outcome="failed") == [first.source_id, "second", "news"]
    assert due(last_reason="stale: the newest meeting is of 2025-01-01") == [
        first.source_id,
        "second",
        "news",
    ]
