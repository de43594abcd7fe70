"""Minutes of a meeting: read as a document, and their decisions at the items of the
agenda.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest

from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.records.articles import RawArticle
from news_assets.records.meetings import Matter, StoredItem
from news_assets.store.queries.stored_meetings import meeting_details
from news_assets_tests.pipeline.civic.conftest import MEETING, Prepare, attachment
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.pdfs import pdf_of

DAY = timedelta(days=1)
DECIDED = "Motion by Chen, seconded by Ruiz, carried 5-0."
MINUTES = f"""1. Roll Call. All members were present at the council table for the whole meeting.
2. Contract for night buses. Residents spoke about it. {DECIDED}"""


def post_minutes(room: CouncilRoom, council: Council) -> None:
    """Post the minutes of a meeting two days after it."""
    council.put(1, 11, "Roll Call")
    council.put(1, 12, "Contract for night buses", attachment(room, "report"))
    room.poll()
    room.run()
    room.now += 10 * DAY
    council.files["/files/minutes.pdf"] = pdf_of(*MINUTES.splitlines())
    council.meet(
        1, MEETING, changed_at=room.now, EventMinutesFile=attachment(room, "minutes")[1]
    )
    room.poll()
    room.run()


@pytest.fixture
def minuted(prepared: Callable[[Prepare], CouncilRoom]) -> CouncilRoom:
    return prepared(post_minutes)


def decisions(room: CouncilRoom) -> dict[str, str]:
    return {
        item.title: item.decision
        for item in room.lake.read(StoredItem)
        if item.decision
    }


def test_minutes_are_an_article_and_their_decisions_stand_at_the_items(
    minuted: CouncilRoom,
) -> None:
    details = meeting_details(minuted.lake, "springfieldIL/legistar/1")
    assert details is not None
    assert details.minutes is not None
    [article] = minuted.lake.read(RawArticle, article_id=[details.minutes.article_id])
    assert "seconded by Ruiz" in (article.text or "")
    assert [one.item.title for one in details.items] == [
        "Roll Call",
        "Contract for night buses",
    ]
    assert decisions(minuted) == {"Contract for night buses": DECIDED}
    assert minuted.lake.read(Matter) == []


@pytest.mark.slow  # runs the stages several times
def test_decisions_stay_at_the_next_poll_and_cost_no_enrichment_of_the_items(
    minuted: CouncilRoom, council: Council
) -> None:
    asked = list(minuted.enricher.asked)
    assert asked == ["Contract for night buses", "Minutes: City Council"]

    council.meet(1, MEETING, changed_at=minuted.now, EventComment="Video is posted")
    council.events[1]["EventMinutesFile"] = attachment(minuted, "minutes")[1]
    minuted.poll(DAY)
    minuted.run()

    assert (decisions(minuted), minuted.enricher.asked) == (
        {"Contract for night buses": DECIDED},
        asked,
    )


@pytest.mark.slow  # runs the stages several times
def test_withdrawn_minutes_take_their_decisions_with_them(minuted: CouncilRoom) -> None:
    [minutes] = [
        row
        for row in minuted.lake.read(RawArticle)
        if (row.title or "").startswith("Minutes")
    ]
    minuted.lake.transact(
        lambda rows: withdraw(rows, [minutes], "ordered by a court", minuted.now)
    )
    assert decisions(minuted) == {}
