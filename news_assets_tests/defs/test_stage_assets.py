from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from news_assets.defs import stage_assets
from news_assets.defs.stage_assets import attempts_together, run_apart
from news_assets.pipeline.stage_declaration import Stage
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import PageRequest
from news_assets.records.derived import Failure
from news_assets.records.desks import Agency, Source
from news_assets.records.reading import AgencyDays, Page
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.small_desk import DESK, TODAY, Newsroom, Pages, entry

KEYS = AgencyDays("d", frozenset((agency, TODAY) for agency in ("a", "b")))


class ProcessEnded(BaseException):
    """Stands for the end of the process: nothing after it runs."""


@dataclass
class DeadlyPages(Pages):
    """A fetcher that ends the process at these addresses."""

    deadly: set[str] = field(default_factory=set)

    def answer(self, request: PageRequest) -> Page | Any:
        if request.url in self.deadly:
            raise ProcessEnded
        return super().answer(request)


@pytest.fixture
def room(lake: Lake) -> Newsroom:
    room = Newsroom(
        lake, FakeSearchIndex(), DeadlyPages(deadly={"https://example.org/2"})
    )
    room.list(entry(1), entry(2), entry(3), entry(4, "b"))
    return room


def run(room: Newsroom, stage: Stage) -> int | None:
    ports = {
        "fetcher": room.pages,
        "sandbox": InlineSandbox(),
        "enricher": room.enricher,
        "embedder": room.embedder,
        "search": room.index,
    }
    return run_apart(stage, room.lake, DESK, KEYS, lambda: room.now, ports, {})


def fetched(room: Newsroom) -> set[str]:
    return {
        row[0]
        for row in room.lake.query("SELECT article_id FROM raw_articles").iter_rows()
    }


def test_an_article_that_ends_the_process_is_left_out_by_the_next_run(
    room: Newsroom,
) -> None:
    stage = stage_named("raw_articles")
    with pytest.raises(ProcessEnded):
        run(room, stage)
    (failure,) = room.lake.read(Failure)
    assert (failure.article_id, failure.attempts) == ("a-2", 1)
    assert failure.reason == "the process ended while it worked on this"

    run(room, stage)
    assert fetched(room) == {"a-1", "a-3", "b-4"}
    assert pending_entries(room.lake, DESK, room.now).is_empty()


def test_it_is_tried_again_when_its_failure_is_due_and_the_failure_is_deleted_once_it_succeeds(
    room: Newsroom,
) -> None:
    stage = stage_named("raw_articles")
    with pytest.raises(ProcessEnded):
        run(room, stage)
    (failure,) = room.lake.read(Failure)
    assert failure.next_try_at is not None
    room.now = failure.next_try_at + timedelta(seconds=1)
    with pytest.raises(ProcessEnded):
        run(room, stage)
    assert [one.attempts for one in room.lake.read(Failure)] == [2]

    room.pages = Pages()
    room.now += timedelta(days=1)
    run(room, stage)
    assert fetched(room) == {"a-1", "a-2", "a-3", "b-4"}
    assert room.lake.read(Failure) == []


@pytest.mark.parametrize(
    "name", ["enriched_articles", "article_embeddings", "search_index"]
)
@pytest.mark.slow  # executes runs
def test_every_stage_brings_single_articles_up_to_date(
    room: Newsroom, name: str
) -> None:
    room.pages = Pages()
    room.run("raw_articles")
    for stage in ("enriched_articles", "article_embeddings", "search_index"):
        assert run(room, stage_named(stage)) == 4
        if stage == name:
            break
    stale = stale_rows(room.lake, DESK, room.now)
    assert name not in stale["stage"].to_list()
    assert room.lake.read(Failure) == []


def test_a_failure_of_the_stage_itself_counts_once(room: Newsroom) -> None:
    room.pages = Pages()
    room.run("raw_articles")
    room.enricher.refused = {"line3"}
    run(room, stage_named("enriched_articles"))
    assert [
        (one.article_id, one.attempts, one.reason) for one in room.lake.read(Failure)
    ] == [("a-3", 1, "no answer")]


def test_a_large_backlog_is_left_to_the_usual_way(
    room: Newsroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_assets, "_MAX_ARTICLES", 3)
    assert run(room, stage_named("raw_articles")) is None
    assert fetched(room) == set()


def test_the_last_attempts_take_articles_apart_also_where_a_desk_has_few() -> None:
    council = Source(
        source_id="s",
        desk="d",
        agency="a",
        kind="legistar",
        url="https://example.org/",
        timezone="UTC",
        language="en",
        is_civic=True,
    )
    agency = Agency(
        key="a", name="A", timezone="UTC", language="en", sources=(council,)
    )
    assert attempts_together(DESK) == 4
    assert attempts_together(replace(DESK, agencies=(agency,))) == 1
