from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.clients.sandbox.process_sandbox import ProcessSandbox
from news_assets.errors import FetchError
from news_assets.pipeline.page.readers import READERS
from news_assets.pipeline.replay.stored_pages import (
    Group,
    archive_groups,
    replay_articles,
)
from news_assets.ports.services import PageRequest
from news_assets.records.articles import RawArticle
from news_assets.records.documents import ReadDocument
from news_assets.records.polling import StoredPage
from news_assets.records.reading import AgencyDays, Page
from news_assets.store.lake import Lake
from news_assets_tests.clients.sandbox.poison import read_page_that_hangs
from news_assets_tests.pipeline.replay.fetched_desk import (
    LATER,
    FetchedDesk,
    Site,
    story,
)
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.pdfs import pdf_of
from news_assets_tests.support.small_desk import DESK, TODAY, entry

YESTERDAY = TODAY - timedelta(days=1)


def test_the_newest_page_is_replayed(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    desk.site.texts[1] = story(7)
    desk.fetch(entry(1, entry_hash="two"), at=LATER)
    assert len(desk.lake.read(StoredPage)) == 2
    assert desk.changes() == {"a-1": "unchanged"}


def test_articles_without_a_page_are_counted_and_the_others_replayed(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1, 2)
    desk.fetch(entry(3))
    desk.lake.transact(lambda rows: rows.delete(StoredPage, article_id=["a-1"]))
    assert desk.changes() == {"a-1": "no_page", "a-2": "unchanged", "a-3": "no_page"}


@pytest.mark.slow  # waits for a reader that hangs
def test_a_page_that_cannot_be_read_is_reported_and_its_neighbours_are_replayed(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1, 2, 3)
    desk.site.texts[2] = "poison"
    desk.fetch(entry(2, entry_hash="two"), at=LATER)
    readers = READERS | {"text/html": read_page_that_hangs}
    with ProcessSandbox(limit_s=4) as sandbox:
        articles = desk.lake.read(RawArticle)
        (batch,) = replay_articles(desk.lake, DESK, articles, sandbox, readers)
    assert [one.change for one in batch] == ["text", "unreadable", "text"]
    assert (batch[1].row, str(batch[1].reason).partition(" (")[0]) == (
        None,
        "not read in 4 s",
    )


class PdfSite(Site):
    """A site whose pages are PDFs."""

    def answer(self, request: PageRequest) -> Page | FetchError:
        found = super().answer(request)
        made = pdf_of(*(self.texts[int(request.url[-1])],) * 2)
        return (
            replace(found, body=made, content_type="application/pdf")
            if isinstance(found, Page)
            else found
        )


class Recognising(InlineSandbox):
    """A sandbox that recognises a text in every document, as tesseract does."""

    def read_document(
        self,
        body: bytes,
        content_type: str = "",
        name: str = "",
        language: str | None = None,
    ) -> ReadDocument:
        return replace(
            super().read_document(body),
            texts=("A text that is only on the image of the page.",),
        )


def test_a_document_is_read_again_as_it_was_fetched(lake: Lake) -> None:
    desk = FetchedDesk(
        lake, PdfSite(texts={1: "Minutes of the council on the night buses."})
    )
    desk.fetch(entry(1))
    assert desk.changes() == {"a-1": "unchanged"}
    (batch,) = replay_articles(lake, DESK, lake.read(RawArticle), Recognising())
    assert [one.row and one.row.text for one in batch] == [
        "A text that is only on the image of the page."
    ]


def test_a_damaged_page_is_unreadable(desk: FetchedDesk) -> None:
    desk.fetch_stories(1, 2)
    desk.lake.transact(
        lambda rows: rows.upsert([broken(rows.read(StoredPage, article_id=["a-1"])[0])])
    )
    assert desk.changes() == {"a-1": "unreadable", "a-2": "unchanged"}


def broken(page: StoredPage) -> StoredPage:
    return replace(page, body_gzip=page.body_gzip[:-20])


def test_an_agency_of_the_lake_only_is_read_in_the_desks_time_zone(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1)
    without = replace(DESK, agencies=())
    (batch,) = replay_articles(
        desk.lake, without, desk.lake.read(RawArticle), InlineSandbox()
    )
    assert [one.change for one in batch] == ["unchanged"]


def test_groups_hold_whole_agency_days_and_about_as_many_articles_as_allowed(
    lake: Lake,
) -> None:
    desk = FetchedDesk(lake)
    entries = [
        entry(1),
        entry(2, "b"),
        entry(3, day=YESTERDAY),
        entry(4, day=YESTERDAY),
    ]
    desk.fetch(*entries)
    assert archive_groups(lake, "d", None, None, None) == [
        Group(
            AgencyDays("d", frozenset({("a", YESTERDAY), ("a", TODAY), ("b", TODAY)})),
            4,
        )
    ]
    assert archive_groups(lake, "d", "b", None, None) == [
        Group(AgencyDays("d", frozenset({("b", TODAY)})), 1)
    ]
    assert archive_groups(lake, "d", None, None, YESTERDAY) == [
        Group(AgencyDays("d", frozenset({("a", YESTERDAY)})), 2)
    ]
    assert archive_groups(lake, "d", None, TODAY + timedelta(days=1), None) == []
