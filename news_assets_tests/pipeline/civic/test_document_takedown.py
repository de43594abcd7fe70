"""Withdrawn articles of agenda items: their documents, their matter, and what their
agenda says about taking part.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from news_assets.pipeline.articles.withdrawal import bring_back, withdraw
from news_assets.records.articles import RawArticle
from news_assets.records.meetings import Matter, StoredDocument, StoredMeeting
from news_assets.store.queries.backlog import pending_entries
from news_assets_tests.pipeline.civic.conftest import (
    MEETING,
    REPORT,
    Prepare,
    attachment,
)
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.pdfs import pdf_of


def take_down(room: CouncilRoom, title: str) -> None:
    articles = [row for row in room.lake.read(RawArticle) if row.title == title]
    room.lake.transact(
        lambda rows: withdraw(rows, articles, "ordered by a court", room.now)
    )


def undo(room: CouncilRoom, title: str) -> None:
    [article] = [row for row in room.lake.read(RawArticle) if row.title == title]
    with room.lake.at(article.withdrawn_after) as former:
        room.lake.transact(lambda rows: bring_back(rows, former, [article]))


def texts(room: CouncilRoom) -> dict[str, tuple[str, bool]]:
    """Return the outcome of each document and whether it has a text, by the name of its
    file.
    """
    return {
        row.url.rpartition("/")[2]: (row.outcome, row.text is not None)
        for row in room.lake.read(StoredDocument)
    }


def publish(room: CouncilRoom, council: Council) -> None:
    """Publish two items: one has a report, also under a second address, and a map that
    the other has too.
    """
    council.files["/files/copy.pdf"] = REPORT
    own = [attachment(room, name) for name in ("report", "copy", "map")]
    council.put(1, 12, "Contract for night buses", *own, EventItemMatterFile="26-0012")
    council.put(1, 13, "Budget of the night buses", attachment(room, "map"))
    room.poll()
    room.run()


@pytest.fixture
def published(prepared: Callable[[Prepare], CouncilRoom]) -> CouncilRoom:
    return prepared(publish)


@pytest.mark.slow  # runs the stages several times
def test_documents_that_only_withdrawn_items_have_lose_their_text_until_undone(
    published: CouncilRoom,
) -> None:
    tables: tuple[type[Any], ...] = (StoredDocument, Matter)
    before = [published.lake.read(table) for table in tables]

    take_down(published, "Contract for night buses")

    withdrawn = ("withdrawn", False)
    assert texts(published) == {
        "report.pdf": withdrawn,
        "copy.pdf": withdrawn,
        "map.pdf": ("ok", True),
    }
    assert [matter.summary for matter in published.lake.read(Matter)] == [None]

    undo(published, "Contract for night buses")
    published.run()
    assert [published.lake.read(table) for table in tables] == before


@pytest.mark.slow  # runs the stages several times
def test_the_last_item_with_a_document_takes_its_text_along(
    published: CouncilRoom,
) -> None:
    take_down(published, "Contract for night buses")
    take_down(published, "Budget of the night buses")
    assert texts(published)["map.pdf"] == ("withdrawn", False)

    undo(published, "Contract for night buses")

    assert texts(published) == dict.fromkeys(
        ("report.pdf", "copy.pdf", "map.pdf"), ("ok", True)
    )


@pytest.mark.slow  # runs the stages several times
def test_a_withdrawn_document_is_not_read_again(
    published: CouncilRoom, council: Council
) -> None:
    take_down(published, "Contract for night buses")
    council.requests.clear()
    council.items[1][0]["EventItemMatterAttachments"].append(
        {
            "MatterAttachmentName": "Letter",
            "MatterAttachmentHyperlink": attachment(published, "letter")[1],
        }
    )
    council.meet(2, MEETING + timedelta(days=7))
    council.put(2, 20, "Extension of the contract", attachment(published, "report"))
    published.poll(timedelta(days=1))

    published.run()

    assert not [path for path in council.requests if path.startswith("/files")]
    [extension] = [
        row
        for row in published.lake.read(RawArticle)
        if row.title == "Extension of the contract"
    ]
    assert (extension.text, extension.reason) == (
        extension.title,
        "without Report: ordered by a court",
    )
    assert pending_entries(
        published.lake, published.desk, published.now + timedelta(days=40)
    ).is_empty()


@pytest.mark.slow  # runs the stages several times
def test_what_a_withdrawn_agenda_says_about_taking_part_goes_and_comes_back(
    room: CouncilRoom, council: Council
) -> None:
    council.files["/files/report.pdf"] = pdf_of(
        "Send public comments to clerk@springfield.gov by noon."
    )
    council.meet(
        1,
        MEETING,
        EventAgendaFile=attachment(room, "report")[1],
        EventComment="Passcode: 123456",
    )
    room.poll()
    room.run()
    [before] = room.lake.read(StoredMeeting)
    assert "clerk@springfield.gov" in before.participation_json

    take_down(room, "City Council")

    [meeting] = room.lake.read(StoredMeeting)
    assert "clerk@springfield.gov" not in meeting.participation_json
    assert "123456" in meeting.participation_json
    undo(room, "City Council")
    assert room.lake.read(StoredMeeting) == [before]
