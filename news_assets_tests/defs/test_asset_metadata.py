from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
from markdown_it import MarkdownIt

from news_assets.defs.asset_metadata import MaterializationCounts, markdown_table
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import RawArticle
from news_assets.records.model_calls import ModelCall
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse, upsert
from news_assets_tests.support.small_desk import TODAY

HOSTILE = "[x](javascript:alert(1)) ![](http://tracker.example/p.png) <img src=http://tracker.example> | b\n\n# c\n\x1b[2J"


def test_titles_in_a_table_of_the_ui_are_text() -> None:
    table = markdown_table(
        ("title", "reasons"),
        [(HOSTILE[:80], [HOSTILE[:30], "`x` **bold**"]), (HOSTILE[40:], "\\|")],
    )
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(table)
    assert not any(
        tag in html for tag in ("<a", "<img", "<h1", "<strong", "<code", "\x1b")
    )
    assert html.count("<td>") == 4
    assert "[x](javascript:alert(1)) ![](http://tracker.example/p.png)" in html


KEYS = AgencyDays("d", frozenset({("a", TODAY)}))


def metadata(lake: Lake, stage: str, *calls: ModelCall) -> dict[str, object]:
    """Return what a materialisation shows that these calls were made in."""
    counts = MaterializationCounts(dg.build_asset_context(), lake, stage_named(stage))
    if calls:
        upsert(lake, list(calls))
    counts._keys.append(KEYS)
    return {
        name: value
        for name, value in (counts.result().metadata or {}).items()
        if name.startswith("run/model")
    }


def call(n: int, **given: object) -> ModelCall:
    at = datetime.now(UTC) + timedelta(hours=1)
    usual = {
        "desk": "d",
        "agency": "a",
        "day": TODAY,
        "called_at": at,
        "outcome": "ok",
        "input_tokens": 100,
    }
    return sparse(ModelCall, call_id=str(n), **usual | given)


def test_a_materialisation_shows_what_its_own_calls_cost(lake: Lake) -> None:
    before = call(1, usd=9.0, called_at=datetime.now(UTC) - timedelta(minutes=1))
    calls = (
        before,
        call(2, usd=0.1),
        call(3, usd=0.2, outcome="refused"),
        call(4, outcome="failed"),
    )
    assert metadata(lake, "enriched_articles", *calls) == {
        "run/model_calls": 3,
        "run/model": {
            "refused": 1,
            "failed": 1,
            "input_tokens": 300,
            "cached_tokens": 0,
            "output_tokens": 0,
            "unpriced": 1,
        },
        "run/model_usd": 0.3,
    }


def test_a_price_that_is_not_known_is_no_zero(lake: Lake) -> None:
    assert metadata(lake, "enriched_articles", call(1))["run/model_usd"] == "unknown"


def test_without_calls_nothing_is_shown(lake: Lake) -> None:
    assert metadata(lake, "enriched_articles") == {}
    assert metadata(lake, "search_index", call(1, usd=1.0)) == {}


def of_partition(lake: Lake, pages_url: str, **given: object) -> dict[str, Any]:
    """Return the metadata of an agency-day with one article that is read and one that
    is not, which `given` changes.
    """
    place = {"desk": "d", "agency": "a", "day": TODAY}
    read = sparse(RawArticle, article_id="a-1", outcome="ok", title="Bus", **place)
    other = {"article_id": "a-2", "outcome": "failed", "reason": "not found (404)"}
    upsert(lake, [read, sparse(RawArticle, **{**place, **other, **given})])
    context = dg.build_asset_context(partition_key=f"a|{TODAY}")
    stage = stage_named("raw_articles")
    counts = MaterializationCounts(context, lake, stage, pages_url=pages_url)
    rows = lake.frame(RawArticle, KEYS)
    return counts.of_partition(rows, "d", "a", TODAY)


def test_a_partition_with_a_failed_article_says_so_and_why(lake: Lake) -> None:
    found = of_partition(lake, "")
    assert list(found) == [
        "dagster/partition_row_count",
        "outcomes",
        "failed",
        "preview",
    ]
    assert found["outcomes"] == "1 ok, 1 failed"
    assert "1 of 2" in found["failed"].value
    assert "not found" in found["failed"].value


def test_a_partition_links_to_its_articles_where_pages_are_served(lake: Lake) -> None:
    found = of_partition(lake, "https://news.example", outcome="ok", reason=None)
    assert "failed" not in found
    day = TODAY.isoformat()
    address = f"https://news.example/search?desk=d&agency=a&from={day}&to={day}"
    assert found["page"].value == address
