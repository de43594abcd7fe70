from dataclasses import replace

from news_assets.pipeline.replay.drift import WORST, Summary, diff_of
from news_assets.pipeline.replay.replayed_article import Replayed
from news_assets_tests.pipeline.replay.fetched_desk import FetchedDesk


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
