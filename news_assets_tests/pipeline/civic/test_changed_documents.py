"""Documents that change at the same address, come late, or could not be read at first."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.meetings import StoredDocument
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.freshness import desk_gaps
from news_assets_tests.pipeline.civic.conftest import (
    MAP,
    MEETING,
    REPORT,
    Prepare,
    attachment,
)
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.pdfs import pdf_of

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
FILE, HEAD = "/files/report.pdf", "HEAD /files/report.pdf"
NEWER = pdf_of(
    "The contract for the night buses costs five million dollars a year and runs until the end of 2032."
)


def read_report(room: CouncilRoom, council: Council) -> None:
    """Give the desk `hash: metadata`, and read, compose and enrich the report."""
    [agency] = room.desk.agencies
    [source] = agency.sources
    checked = replace(agency, sources=(replace(source, checks_documents=True),))
    room.desk = replace(room.desk, agencies=(checked,))
    council.modified[FILE] = "Mon, 02 Mar 2026 08:00:00 GMT"
    council.put(
        1,
        12,
        "Contract for night buses",
        attachment(room, "report"),
        EventItemMatterFile="26-0012",
    )
    room.poll()
    room.run()
    council.requests.clear()
    room.enricher.asked.clear()


@pytest.fixture
def checking(prepared: Callable[[Prepare], CouncilRoom]) -> CouncilRoom:
    return prepared(read_report)


def work(room: CouncilRoom) -> list[tuple[str, str]]:
    found = (
        pending_entries(room.lake, room.desk, room.now),
        stale_rows(room.lake, room.desk, room.now),
    )
    return [row for frame in found for row in frame.select("stage", "why").rows()]


def texts(room: CouncilRoom) -> list[str]:
    return [row.text or "" for row in room.lake.read(RawArticle)]


def test_a_file_that_changed_at_its_address_is_read_after_the_next_pass(
    checking: CouncilRoom, council: Council
) -> None:
    council.files[FILE] = NEWER
    checking.poll(HOUR)
    assert work(checking) == []

    checking.poll(DAY)
    assert work(checking) == [("documents", "unchecked")]
    gaps = desk_gaps(checking.lake, checking.index, checking.desk, checking.now + HOUR)
    assert gaps["every_attachment_is_read"].rows == ()
    checking.run()

    assert (council.requests[HEAD], council.requests[FILE]) == (1, 1)
    [text] = texts(checking)
    assert "five million" in text
    assert checking.enricher.asked == ["Contract for night buses"]
    assert work(checking) == []


@pytest.mark.slow  # runs the stages several times
def test_a_file_that_did_not_change_takes_one_request_without_body_after_each_pass(
    checking: CouncilRoom, council: Council
) -> None:
    for night in (1, 2):
        checking.poll(DAY)
        checking.run()
        checking.run()
        assert (council.requests[HEAD], council.requests[FILE]) == (night, 0)
    assert (checking.documents_read, checking.enricher.asked) == (1, [])


@pytest.mark.slow  # runs the stages several times
def test_every_appearance_of_a_matter_has_the_changed_file(
    checking: CouncilRoom, council: Council
) -> None:
    council.meet(2, MEETING + 7 * DAY)
    council.put(
        2,
        22,
        "Contract for night buses",
        attachment(checking, "report"),
        EventItemMatterFile="26-0012",
    )
    checking.poll(DAY)
    checking.run()
    council.requests.clear()
    council.files[FILE] = NEWER

    checking.poll(DAY)
    checking.run()

    assert ["five million" in text for text in texts(checking)] == [True, True]
    assert (council.requests[HEAD], checking.enricher.asked) == (
        1,
        ["Contract for night buses"],
    )


@pytest.mark.slow  # runs the stages several times
def test_a_new_file_with_the_same_text_is_not_enriched_again(
    checking: CouncilRoom, council: Council
) -> None:
    council.modified[FILE] = "Tue, 03 Mar 2026 08:00:00 GMT"
    for _ in range(2):
        checking.poll(DAY)
        checking.run()

    assert (council.requests[HEAD], council.requests[FILE]) == (2, 1)
    assert (checking.enricher.asked, work(checking)) == ([], [])


@pytest.mark.slow  # runs the stages several times
def test_a_server_whose_head_states_another_size_costs_one_more_fetch(
    checking: CouncilRoom, council: Council
) -> None:
    [row] = checking.lake.read(StoredDocument)
    checking.lake.transact(lambda rows: rows.upsert([replace(row, content_length=1)]))
    for _ in range(2):
        checking.poll(DAY)
        checking.run("documents")

    assert (council.requests[HEAD], council.requests[FILE]) == (2, 1)


@pytest.mark.slow  # runs the stages several times
def test_without_metadata_files_of_the_coming_weeks_are_compared(
    checking: CouncilRoom, council: Council
) -> None:
    [agency] = checking.desk.agencies
    [source] = agency.sources
    by_name = replace(agency, sources=(replace(source, checks_documents=False),))
    checking.desk = replace(checking.desk, agencies=(by_name,))
    council.files[FILE] = NEWER

    checking.poll(DAY)
    checking.run("documents")

    assert (council.requests[HEAD], council.requests[FILE]) == (1, 1)


@pytest.mark.slow  # runs the stages several times
def test_files_of_past_meetings_are_not_requested_again(
    checking: CouncilRoom, council: Council
) -> None:
    checking.poll(MEETING - checking.now.date() + DAY)
    assert ("documents", "unchecked") not in work(checking)
    checking.run("documents")

    assert council.requests[HEAD] == 0


@pytest.mark.parametrize("refused", [HEAD, FILE])
@pytest.mark.slow  # runs the stages several times
def test_a_file_that_cannot_be_requested_again_keeps_its_text_until_it_can(
    checking: CouncilRoom, council: Council, refused: str
) -> None:
    council.files[FILE] = NEWER
    council.refusals[refused] = 503
    checking.poll(DAY)
    checking.run()
    assert "four million" in texts(checking)[0]
    assert (checking.lake.read(StoredDocument)[0].outcome, work(checking)) == ("ok", [])
    council.refusals.clear()

    checking.poll(DAY)
    checking.run()

    assert "five million" in texts(checking)[0]


@pytest.mark.slow  # runs the stages several times
@pytest.mark.exhaustive  # test_civic_desk.py has a late document with items of two days
def test_a_document_that_comes_at_last_is_in_every_appearance(
    room: CouncilRoom, council: Council
) -> None:
    for number, day in ((1, MEETING), (2, MEETING + 7 * DAY)):
        council.meet(number, day)
        council.put(
            number, 10 + number, "Contract for night buses", attachment(room, "report")
        )
    council.refusals["/files"] = 503
    room.poll()
    room.run()
    council.refusals.clear()
    room.now += HOUR

    room.run()

    assert ["four million" in text for text in texts(room)] == [True, True]
    assert work(room) == []


@pytest.mark.slow  # runs the stages several times
def test_an_agenda_that_is_published_days_after_its_meeting_was_listed_is_taken_in(
    room: CouncilRoom, council: Council
) -> None:
    room.poll()
    room.run()
    assert room.lake.read(RawArticle) == []
    council.meet(1, MEETING, EventAgendaFile=attachment(room, "report")[1])

    room.poll(3 * DAY)
    room.run()

    assert "four million" in texts(room)[0]
    assert work(room) == []


@pytest.mark.parametrize(
    "is_signalled",
    # the agenda above is published without a signal
    [True, pytest.param(False, marks=pytest.mark.exhaustive)],
)
@pytest.mark.slow  # runs the stages several times
def test_attachments_that_are_published_after_the_agenda_are_taken_in(
    room: CouncilRoom, council: Council, is_signalled: bool
) -> None:
    council.files = {FILE: REPORT, "/files/map.pdf": MAP}
    council.put(1, 12, "Contract for night buses")
    room.poll()
    room.run()
    [before] = room.lake.read(RawArticle)
    assert before.text == "Contract for night buses"
    links = [attachment(room, name) for name in ("report", "map")]
    council.items[1].clear()
    council.put(1, 12, "Contract for night buses", *links)
    if is_signalled:
        council.meet(1, MEETING, changed_at=room.now + HOUR)

    room.poll(2 * HOUR if is_signalled else DAY)
    room.run()

    [after] = room.lake.read(RawArticle)
    assert after.article_id == before.article_id
    assert "four million" in (after.text or "")
    assert "A map of all stops" in (after.text or "")
    assert room.enricher.asked == ["Contract for night buses"] * 2
    assert work(room) == []
