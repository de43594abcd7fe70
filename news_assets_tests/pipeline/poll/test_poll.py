import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest

from news_assets.errors import FetchError, ListingChangedError, SourceError
from news_assets.pipeline.poll.poll import Polled, poll_sources
from news_assets.ports import PageRequest
from news_assets.records import Listing, Page, Source, SourceState, Validators
from news_assets_tests.pipeline.poll.asked import BODY, NOW, SOURCE, STATE, Answers, page, parse, poll, reads


def test_a_source_is_asked_with_what_it_gave_last_time_and_without_robots_txt() -> None:
    polled, asked = poll(page(), STATE)
    assert asked == PageRequest(SOURCE.url, "mec-1", Validators('"old"', None), obeys_robots=False)
    assert polled == Polled(source=SOURCE, outcome="ok", page=page(), listing=parse(page(), SOURCE))


@pytest.mark.parametrize(
    "state",
    [
        None,
        replace(STATE, url="https://example.org/old-address"),
        replace(STATE, last_new_at=NOW - timedelta(days=4)),
    ],
)
def test_a_new_a_moved_and_a_long_silent_source_are_asked_for_the_whole_document(state: SourceState | None) -> None:
    assert poll(page(), state)[1].validators == Validators()


def test_a_304_and_the_same_bytes_again_are_both_unchanged() -> None:
    not_modified = page(b"", 304)
    assert poll(not_modified, STATE)[0] == Polled(source=SOURCE, outcome="unchanged", page=not_modified)
    state = replace(STATE, document_hash=hashlib.sha256(BODY).hexdigest())
    assert poll(page(), state)[0] == Polled(source=SOURCE, outcome="unchanged", page=page())


def test_one_sources_error_stays_its_own() -> None:
    sources = [replace(SOURCE, source_id=name) for name in ("a", "b", "c")]
    gone = FetchError(SOURCE.url, "gone", status=410)
    answers = Answers(a=gone, b=page(b"<html>log in</html>"), c=page())
    polled = {one.source.source_id: one for one in poll_sources(sources, {}, reads(parse), answers)}
    assert {name: (one.outcome, one.reason) for name, one in polled.items()} == {
        "a": ("gone", "gone"),
        "b": ("failed", "no feed"),
        "c": ("ok", None),
    }


def test_a_mistake_in_an_adapter_is_its_sources_failed_poll_and_the_others_go_on() -> None:
    def mistaken(document: Page, source: Source) -> Listing:
        return parse(document, source) if source.source_id == "b" else Listing(entries=({}["a\nb" * 500],))

    sources = [replace(SOURCE, source_id=name) for name in ("a", "b")]
    broken, fine = poll_sources(sources, {}, reads(mistaken), Answers(a=page(), b=page()))
    assert (broken.outcome, type(broken.error), fine.outcome) == ("failed", SourceError, "ok")
    assert str(broken.reason).startswith("a mistake in the adapter of `feed`: KeyError: ")
    assert len(str(broken.reason)) < 400


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"x " * 3000, ListingChangedError),
        (b"", SourceError),
        (b" \n", SourceError),
        (b"<rss></rss>", type(None)),
    ],
)
def test_a_large_document_without_an_entry_is_no_quiet_day(body: bytes, error: type[Exception]) -> None:
    assert type(poll(page(body))[0].error) is error
