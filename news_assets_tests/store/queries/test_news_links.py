"""News linked to matters, meetings and laws, over labelled articles and agendas."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.records.meetings import Matter, StoredItem, StoredMeeting
from news_assets.store.lake import Lake
from news_assets.store.queries.news_links import (
    links_of_articles,
    news_on_matter,
    news_on_meeting,
)
from news_assets_tests.quality import news_links as labelled

IDS = [f"news-{n:03}" for n in range(len(labelled.ARTICLES))]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder: Path = tmp_path_factory.mktemp("links")
    with Lake.open(folder / "catalog.sqlite", folder / "data") as opened:
        labelled.fill(opened)
        yield opened


def test_labelled_articles_lead_to_what_they_report_on_and_to_nothing_else(
    lake: Lake,
) -> None:
    with lake.latest() as reader:
        found = links_of_articles(reader, IDS, {labelled.DAY}, labelled.PLACES)
    _, wrong, missing = labelled.judge(found)
    assert wrong.total() == 0
    assert missing == []


def test_a_matter_and_a_meeting_have_the_articles_that_lead_to_them(lake: Lake) -> None:
    with lake.latest() as reader:
        links = links_of_articles(reader, IDS, {labelled.DAY}, labelled.PLACES)
    for matter in lake.read(Matter):
        expected = {
            one.article_id
            for one in links
            if (one.council, one.matter) == (matter.agency, matter.matter)
        }
        news = news_on_matter(lake, matter, labelled.PLACES)
        assert {one.article_id for one in news} == expected

    (meeting,) = lake.read(StoredMeeting, meeting_id=["riverTX/made/2"])
    items = lake.read(StoredItem, meeting_id=[meeting.meeting_id])
    news = news_on_meeting(lake, meeting, items, labelled.PLACES)
    assert {one.name for one in news} == {
        "Landmark designation of the Palace Theater",
        "Site plan review of a grocery store at 900 Mill Road",
    }
