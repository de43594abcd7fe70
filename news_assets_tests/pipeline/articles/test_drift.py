from dataclasses import replace

import pytest

from news_assets.pipeline.articles import drift
from news_assets.pipeline.articles.drift import (
    WORST,
    Summary,
    diff_of,
    drifted_articles,
    sample_ids,
)
from news_assets.pipeline.articles.replayed_article import Replayed
from news_assets_tests.pipeline.articles.fetched_desk import LATER, STORY, FetchedDesk
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.small_desk import DESK, entry


def test_nothing_drifts_while_the_extractor_is_the_same(desk: FetchedDesk) -> None:
    desk.fetch_stories(1, 2, 3)
    found = drifted_articles(desk.lake, DESK, InlineSandbox())
    assert (found.checked, found.rows, found.accepted) == (3, (), 0)


def test_articles_with_another_text_are_found_worst_first_and_nothing_is_written(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1, 2, 3)
    desk.store_otherwise("a-2", f"Menu. {STORY}")
    desk.store_otherwise("a-3", "Home | News | Sport", title="Menu")
    before = desk.lake.snapshot()
    found = drifted_articles(desk.lake, DESK, InlineSandbox())
    assert [row[:1] + row[3:6] for row in found.rows] == [
        ("a-3", "text", "0%", 19),
        ("a-2", "text", "97%", 196),
    ]
    assert len(found.rows) > found.accepted
    assert desk.lake.snapshot() == before


def test_the_sample_is_of_the_newest_days_and_the_same_at_each_run(
    desk: FetchedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.fetch_stories(1, 2, 3)
    old = desk.articles()["a-1"]
    others = [
        replace(old, article_id=f"a-{n}", day=old.day.replace(day=n))
        for n in range(10, 19)
    ]
    desk.lake.transact(lambda rows: rows.upsert(others))
    monkeypatch.setattr(drift, "_SAMPLE_DAYS", 3)
    assert set(sample_ids(desk.lake, "d")) == {"a-1", "a-2", "a-3", "a-17", "a-18"}
    monkeypatch.setattr(drift, "_SAMPLE_PAGES", 4)
    first = sample_ids(desk.lake, "d")
    assert len(first) == 4
    assert sample_ids(desk.lake, "d") == first


def test_articles_whose_last_request_failed_are_not_compared(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    del desk.site.texts[1]
    desk.fetch(entry(1, entry_hash="two"), entry(2), at=LATER)
    assert sample_ids(desk.lake, "d") == []
    assert drifted_articles(desk.lake, DESK, InlineSandbox()).checked == 0


# --- test summary ---


def test_changes_and_columns_are_counted_and_the_worst_are_held(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1)
    (article,) = desk.articles().values()
    summary = Summary()
    for number in range(WORST + 5):
        one = replace(article, article_id=f"a-{number:02}")
        summary.add(
            [Replayed(one, "text", one, columns=("title",), kept_ratio=number / 100)]
        )
    summary.add(
        [Replayed(article, "unchanged"), Replayed(article, "lost", reason="no text")]
    )

    assert summary.counts == {"text": WORST + 5, "unchanged": 1, "lost": 1}
    assert (summary.columns, summary.new_rows) == ({"title": WORST + 5}, WORST + 5)
    assert [one.article.article_id for one in summary.worst] == [
        "a-00",
        "a-1",
        *(f"a-{n:02}" for n in range(1, WORST - 1)),
    ]


def test_a_diff_is_by_sentence_and_cut() -> None:
    before = "The buses stay. Read more.\n\nThe mayor said no."
    assert diff_of(before, "The buses stay.\n\nThe mayor said no.") == [
        "--- stored",
        "+++ extracted now",
        "@@ -1,3 +1,2 @@",
        " The buses stay.",
        "-Read more.",
        " The mayor said no.",
    ]
    long = diff_of("word " * 100, "\n".join(f"Line {n}." for n in range(100)))
    assert (len(long), long[-1], max(map(len, long))) == (17, "… 88 more lines", 160)
