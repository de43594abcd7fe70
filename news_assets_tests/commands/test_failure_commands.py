"""`failures list`, `show` and `retry` over a small lake, called as the command line
calls them.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
import yaml

from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, Failure
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.small_desk import DESK, NOW


@pytest.fixture
def run(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    desk = {
        "desk": "d",
        "timezone": "UTC",
        "language": "en",
        "first_day": "2026-01-01",
        "agencies": {
            key: {
                "name": key,
                "sources": [{"kind": "feed", "url": f"https://example.org/{key}.xml"}],
            }
            for key in "ab"
        },
    }
    (tmp_path / "d.yaml").write_text(yaml.safe_dump(desk))
    monkeypatch.setenv("NEWS_DESKS", str(tmp_path / "d.yaml"))
    monkeypatch.setenv("COLUMNS", "80")
    return partial(call, "failures")


def stored(home: Path) -> dict[str, Failure]:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return {failure.article_id: failure for failure in lake.read(Failure)}


def give_up(home: Path, article_id: str) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        failure = replace(stored(home)[article_id], attempts=8, next_try_at=None)
        lake.transact(lambda rows: rows.upsert([failure]))
        articles = [
            replace(article, attempts=8, refusals=4, next_try_at=None)
            for article in lake.read(
                RawArticle, article_id=[article_id], outcome=["failed"]
            )
        ]
        lake.transact(lambda rows: rows.upsert(articles))


def test_list_shows_what_failed_within_eighty_columns(home: Path, run: Call) -> None:
    give_up(home, "b-3")
    code, out, err = run("list")
    assert (code, err) == (0, "")
    for text in (
        "enriched_articles",
        "raw_articles",
        "a-2",
        "b-3",
        "no answer",
        "not found (404)",
        "given up",
        "attempt 8",
    ):
        assert text in out
    assert "a-1" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_list_applies_its_filters_and_shows_how_many_more_there_are(
    home: Path, run: Call
) -> None:
    assert "b-3" not in run("list", "--stage", "enriched_articles")[1]
    assert "a-2" not in run("list", "--agency", "b", "--desk", "d")[1]
    assert run("list", "--stage", "search_index")[1] == "no failures\n"
    assert "1 more; " in run("list", "--limit", "1")[1]


def test_list_as_json_has_every_column(home: Path, run: Call) -> None:
    lines = [json.loads(line) for line in run("list", "--json")[1].splitlines()]
    assert {
        (line["article_id"], line["stage"], line["attempts"]) for line in lines
    } == {
        ("a-2", "enriched_articles", 1),
        ("b-3", "raw_articles", 1),
    }
    assert set(lines[0]) == set(Failure.__dataclass_fields__)


def test_show_prints_failures_row_and_entries_of_an_article(
    home: Path, run: Call
) -> None:
    out = run("show", "b-3")[1]
    for text in (
        "failure of raw_articles",
        "not found (404)",
        "https://example.org/3",
        "entry 3",
        "Bus 3 stays",
        "d/b/feed",
    ):
        assert text in out
    assert "no failures" in run("show", "a-1")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("list", "--stage", "enrich"),
            "no stage `enrich`; there are: documents, raw_articles, enriched",
        ),
        (("list", "--desk", "x"), "no desk `x`; there are: d"),
        (("retry", "--agency", "x"), "no agency `x`; there are: a, b"),
        (("show", "x"), "no article `x`; there are failures of: a-2, b-3"),
        (("retry", "a-2", "x"), "no failure of `x`; there are failures of: a-2, b-3"),
        (("retry", "a-2", "--stage", "search_index"), "no failure of `a-2`; "),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known_ones_and_changes_nothing(
    home: Path, run: Call, arguments: tuple[str, ...], message: str
) -> None:
    before = stored(home)
    code, out, err = run(*arguments)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert message in err
    assert stored(home) == before


def test_bad_usage_is_one_line_and_exit_2(home: Path, run: Call) -> None:
    code, _, err = run("list", "--limit", "0")
    assert (code, len(err.splitlines())) == (2, 1)


def test_retry_makes_given_up_failures_due_with_all_their_attempts(
    home: Path, run: Call
) -> None:
    for article_id in ("a-2", "b-3"):
        give_up(home, article_id)
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        assert (
            stale_rows(lake, DESK, datetime.now(UTC))
            .filter(article_id="a-2")
            .is_empty()
        )
    code, out, _ = run("retry", "--desk", "d")
    assert (code, out) == (
        0,
        "2 due now; the daemon or `dagster asset materialize` runs them\n",
    )
    assert {failure.attempts for failure in stored(home).values()} == {0}
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        now = datetime.now(UTC)
        stale = stale_rows(lake, DESK, now).filter(article_id="a-2")
        pending = pending_entries(lake, DESK, now)
        (article,) = lake.read(RawArticle, article_id=["b-3"])
    assert stale.select("stage", "why").rows() == [("enriched_articles", "failed")]
    assert pending.select("article_id", "why").rows() == [("b-3", "due")]
    assert (article.attempts, article.refusals, article.next_try_at is not None) == (
        0,
        0,
        True,
    )
    assert "due now" in run("list")[1]


def test_retry_now_runs_only_the_failed_stage_and_deletes_its_failure(
    home: Path, run: Call
) -> None:
    code, out, err = run("retry", "a-2", "--now")
    assert (code, out, err) == (0, "enriched_articles: 1 of 1 succeeded\n", "")
    assert list(stored(home)) == ["b-3"]
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        assert lake.read(EnrichedArticle, article_id=["a-2"])[0].outcome == "ok"


@pytest.mark.slow  # executes runs
def test_retry_now_shows_what_still_fails_and_why(home: Path, run: Call) -> None:
    code, out, _ = run("retry", "--stage", "raw_articles", "--now")
    first, second = out.splitlines()
    assert (code, first) == (0, "raw_articles: 0 of 1 succeeded")
    assert second.startswith("  b-3: ")
    failure = stored(home)["b-3"]
    assert failure.attempts == 1
    assert failure.first_failed_at == NOW < failure.last_failed_at


def test_retry_without_failures(tmp_path: Path, run: Call) -> None:
    assert run("retry") == (0, "no failures\n", "")
