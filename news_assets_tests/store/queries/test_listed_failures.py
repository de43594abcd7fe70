"""Failures with their articles, and the cause that several reasons have in common."""

import pytest

from news_assets.records.articles import FeedEntry
from news_assets.records.derived import Failure
from news_assets.store.lake import Lake
from news_assets.store.queries.listed_failures import newest_failures
from news_assets_tests.store.examples import sparse, upsert
from news_assets_tests.support.small_desk import NOW, TODAY, entry


def failure(number: int, reason: str) -> Failure:
    place = {"article_id": f"a-{number}", "desk": "d", "agency": "a", "day": TODAY}
    given = {"stage": "raw_articles", "reason": reason, "last_failed_at": NOW}
    return sparse(Failure, **place, **given)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("server error (503)", "server error (503)"),
        ("redirects to https://example.org/a?b=1", "redirects to …"),
        ("Retry-After 3600 s", "Retry-After … s"),
        ("more than 5.0 MB", "more than … MB"),
        ("12 of 20 s", "12 of 20 s"),
    ],
)
def test_a_cause_is_a_reason_without_addresses_and_long_numbers(
    lake: Lake, reason: str, cause: str
) -> None:
    upsert(lake, [failure(1, reason), failure(2, "another")])
    [found] = newest_failures(lake, cause=cause, limit=10)
    assert (found.article_id, found.reason) == ("a-1", reason)


def test_an_article_that_was_never_stored_has_title_and_host_of_its_entry(
    lake: Lake,
) -> None:
    entries: list[FeedEntry] = [entry(1)]
    upsert(lake, entries)
    upsert(lake, [failure(1, "no answer"), failure(2, "no answer")])

    [found] = newest_failures(lake, host="example.org", limit=10)
    assert (found.title, found.url) == ("Bus 1 stays", "https://example.org/1")
    [unknown] = newest_failures(lake, host="", limit=10)
    assert (unknown.article_id, unknown.title, unknown.url) == ("a-2", None, "")
