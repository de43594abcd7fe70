"""A stage that a test declares gets its asset, backlog, checks, counts, history and
retries from the declaration.
"""

import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import dagster as dg
import pytest
import yaml

from news_assets import retry_table
from news_assets.commands.failure_commands import retry_failures
from news_assets.definitions import build_definitions
from news_assets.defs.stage_assets import build_desk_assets
from news_assets.pipeline import stages
from news_assets.pipeline.stage_declaration import (
    ARTICLE_STATE,
    Findings,
    RowCheck,
    Stage,
    of_articles,
)
from news_assets.pipeline.storing import states_of, store_derived
from news_assets.ports.services import Lake as LakePort
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.content import (
    Agency_,
    ArticleId,
    Day_,
    Desk_,
    Reason,
    RowOutcome,
)
from news_assets.records.derived import EnrichedArticle, Failure
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.store import tables
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import stale_rows
from news_assets.store.queries.freshness import GRACE, desk_gaps
from news_assets.store.queries.listed_articles import stage_counts
from news_assets.store.queries.url_history import url_history
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.small_desk import DESK, NOW, TODAY, Newsroom, entry

_REFUSED = "line3"  # a word of the third article


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCount:
    """The number of words of one article."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    content_hash: Annotated[str, "content_hash of the article it was made from"]
    word_count: Annotated[int, "length of the text in words"]
    counted_at: Annotated[datetime, "when it was counted"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found it"]


def count_batch(
    stage: Stage,
    lake: LakePort,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    only: Collection[str] | None = None,
) -> int:
    articles = lake.read(RawArticle, keys, outcome=["ok"], **of_articles(only))
    rows = [_counted(article, clock()) for article in articles]
    stored = {
        row.article_id: row.content_hash
        for row in lake.read(WordCount, keys, outcome=["ok"])
    }
    changed = [row for row in rows if stored.get(row.article_id) != row.content_hash]
    return len(
        lake.transact(
            lambda tx: store_derived(
                tx, stage, keys, changed, states_of(articles), clock()
            )
        )
    )


def _counted(article: RawArticle, now: datetime) -> WordCount:
    is_refused = _REFUSED in (article.text or "")
    return WordCount(
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        content_hash=article.content_hash,
        word_count=len((article.text or "").split()),
        counted_at=now,
        outcome="failed" if is_refused else "ok",
        reason="uncountable" if is_refused else None,
        trace_id=article.trace_id,
    )


def articles_without_words(lake: Reader, desk: str) -> Findings:
    frame = lake.frame(
        WordCount, None, ("article_id", "word_count"), desk=[desk], outcome=["ok"]
    )
    return Findings(
        frame.height,
        tuple(frame.columns),
        tuple(frame.filter(frame["word_count"] == 0).rows()),
    )


STAGE = Stage(
    name="word_counts",
    record=WordCount,
    upstream=("raw_articles",),
    run=count_batch,
    ports=(),
    state=ARTICLE_STATE,
    made_at="counted_at",
    done="counted",
    check=(
        "every_article_is_counted",
        "Every article is counted in its present state.",
    ),
    row_checks=(
        RowCheck(
            "articles_have_words",
            "Every counted article has words.",
            articles_without_words,
        ),
    ),
    describe=lambda row: f"{row.word_count} words",
    description="Number of words of each article.",
    kind="python",
    preview=("article_id", "word_count", "outcome"),
)
TABLE = tables.Table("word_counts", WordCount, ("article_id",), "day")


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Newsroom]:
    """The small desk with the additional stage; the third article fails there."""
    monkeypatch.setattr(stages, "STAGES", (*stages.STAGES, STAGE))
    monkeypatch.setitem(tables._TABLE_OF, WordCount, TABLE)
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        for statement in tables.create_statements(TABLE):
            lake.transact(lambda rows: rows.cursor.execute(statement))  # noqa: B023 - runs at once
        room = Newsroom(lake, FakeSearchIndex())
        room.list(*(entry(number) for number in (1, 2, 3)))
        room.run(
            "raw_articles", "enriched_articles", "article_embeddings", "search_index"
        )
        yield room


def backlog(room: Newsroom) -> list[tuple[str, str, str]]:
    return list(
        stale_rows(room.lake, DESK, room.now)
        .select("article_id", "stage", "why")
        .iter_rows()
    )


def materialise(room: Newsroom) -> dg.ExecuteInProcessResult:
    """Materialise today's partition of the declared stage's asset."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        assets = build_desk_assets(DESK)
    key = dg.AssetKey(["d", "word_counts"])
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            assets,
            selection=[key],
            partition_key=dg.MultiPartitionKey({"agency": "a", "day": str(TODAY)}),
            resources={
                "lake": room.lake,
                **dict.fromkeys(
                    ("fetcher", "sandbox", "enricher", "embedder", "search", "cooldown")
                ),
            },
            instance=instance,
        )


def test_the_graph_has_its_asset_job_and_checks(room: Newsroom) -> None:
    definitions = build_definitions(Settings.model_validate({}), (DESK,))
    graph = definitions.resolve_asset_graph()
    key = dg.AssetKey(["d", "word_counts"])
    assert graph.get(key).parent_keys == {dg.AssetKey(["d", "raw_articles"])}
    assert {
        check.name for check in graph.asset_check_keys if check.asset_key == key
    } == {
        "ids_are_unique",
        "every_article_is_counted",
        "articles_have_words",
        "no_article_has_failed",
    }
    assert (
        key
        in definitions.resolve_job_def("d_articles").asset_layer.executable_asset_keys
    )


def test_its_rows_are_in_the_backlog_until_its_asset_has_run(room: Newsroom) -> None:
    assert backlog(room) == [
        (f"a-{number}", "word_counts", "missing") for number in (1, 2, 3)
    ]
    materialise(room)
    assert backlog(room) == []
    room.list(replace(entry(1), entry_hash="two"))
    room.pages.words = "Another text altogether. "
    room.run("raw_articles")
    assert ("a-1", "word_counts", "outdated") in backlog(room)
    room.lake.transact(lambda rows: rows.delete(RawArticle, article_id=["a-2"]))
    assert ("a-2", "word_counts", "orphaned") in backlog(room)


def test_its_check_finds_what_is_missing(room: Newsroom) -> None:
    def found() -> int:
        return len(
            desk_gaps(room.lake, room.index, DESK, room.now + GRACE)[
                "every_article_is_counted"
            ].rows
        )

    assert found() == 3
    materialise(room)
    assert found() == 0


def test_counts_and_history_show_it(room: Newsroom) -> None:
    materialise(room)
    counts = stage_counts(room.lake, TODAY, TODAY)
    assert [(row["articles"], row["counted"]) for row in counts] == [(3, 2)]
    assert [
        event.outcome
        for event in url_history(room.lake, entry(1).url)
        if event.stage == "word_counts"
    ] == ["ok"]


@pytest.mark.slow  # executes many runs
def test_its_failure_is_held_back_and_a_person_can_retry_it(
    room: Newsroom,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    room.run("word_counts")
    (failure,) = room.lake.read(Failure)
    assert (failure.stage, failure.article_id, failure.reason, failure.attempts) == (
        "word_counts",
        "a-3",
        "uncountable",
        1,
    )
    assert failure.next_try_at == retry_table.STAGE.next_at(1, NOW)
    room.now = failure.next_try_at or NOW
    assert backlog(room) == [("a-3", "word_counts", "failed")]

    source = {"kind": "feed", "url": "https://example.org/a.xml"}
    desk = {"desk": "d", "timezone": "UTC", "language": "en", "first_day": "2026-01-01"}
    (tmp_path / "d.yaml").write_text(
        yaml.safe_dump(desk | {"agencies": {"a": {"name": "A", "sources": [source]}}})
    )
    monkeypatch.setenv("NEWS_HOME", str(tmp_path))
    monkeypatch.setenv("NEWS_DESKS", str(tmp_path / "d.yaml"))
    monkeypatch.setattr(
        "news_assets_tests.graph.test_declared_stage._REFUSED", "nothing"
    )
    retry_failures(stage="word_counts", run_now=True)
    assert "word_counts: 1 of 1 succeeded" in capsys.readouterr().out
    assert room.lake.read(Failure) == []
    assert (
        len(room.lake.read(WordCount, outcome=["ok"]))
        == len(room.lake.read(EnrichedArticle))
        == 3
    )
