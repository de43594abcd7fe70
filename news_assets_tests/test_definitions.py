"""Assets, checks, jobs, sensors and schedules of the code location, and what loading it
imports.
"""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from news_assets.definitions import build_definitions
from news_assets.defs.partitions import last_day, newest_begun_day
from news_assets.desks.desk_files import load_desks
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS, KINDS

# what reads the tables of all desks
ENTRIES = {"sample/feed_entries"}
SNAPSHOT = {
    "lake/maintenance": (ENTRIES, {"catalog_is_backed_up", "data_files_are_known"}),
    "newsroom/daily_report": (ENTRIES, set()),
    "sample/article_embeddings": (
        {"sample/enriched_articles"},
        {
            "every_article_is_embedded",
            "ids_are_unique",
            "no_article_has_failed",
            "vectors_have_unit_length",
        },
    ),
    "sample/enriched_articles": (
        {"sample/raw_articles"},
        {
            "answers_are_supported",
            "articles_have_summaries",
            "every_article_is_enriched",
            "ids_are_unique",
            "no_article_has_failed",
        },
    ),
    "sample/sources": (set(), set()),
    "sample/pages": (set(), set()),
    "sample/feed_entries": (
        {"sample/sources"},
        {"agencies_are_heard", "ids_are_unique", "sources_answer"},
    ),
    "sample/raw_articles": (
        {"sample/feed_entries", "sample/pages"},
        {
            "articles_have_text",
            "every_entry_is_fetched",
            "extraction_is_stable",
            "ids_are_unique",
            "no_article_has_failed",
        },
    ),
    "newsroom/alerts": (ENTRIES, set()),
    "newsroom/stories": (ENTRIES, set()),
    "newsroom/dataset": (ENTRIES, set()),
    "newsroom/enrichment_batches": (ENTRIES, set()),
    "sample/search_index": (
        {
            "sample/article_embeddings",
            "sample/enriched_articles",
            "sample/raw_articles",
        },
        {
            "every_article_is_indexed",
            "ids_are_unique",
            "index_equals_lake",
            "no_article_has_failed",
        },
    ),
}
SENSORS = [
    *(
        "due_sources",
        "pending_entries",
        "stale_stages",
        "due_model_calls",
        "lost_documents",
        "first_checks",
    ),
    *("open_batches", "alerts", "stories"),
]
SCHEDULES = [
    "freshness_half_hourly",
    "daily_report_daily",
    "lake_maintenance_daily",
    "sample_checks_daily",
]


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(Settings.model_validate({}), load_desks(["sample"], KINDS))


def test_assets_with_their_upstreams_and_checks(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    checks = {
        key: {check.name for check in graph.asset_check_keys if check.asset_key == key}
        for key in graph.get_all_asset_keys()
    }
    found = {
        key.to_user_string(): (
            {parent.to_user_string() for parent in graph.get(key).parent_keys},
            checks[key],
        )
        for key in graph.get_all_asset_keys()
    }
    assert found == SNAPSHOT


def test_a_stage_has_the_version_of_what_makes_its_rows() -> None:
    settings = Settings.model_validate({"embedding_model": "all-MiniLM-L6-v2"})
    graph = build_definitions(
        settings, load_desks(["sample"], KINDS)
    ).resolve_asset_graph()
    versions = {
        key.path[1]: graph.get(key).code_version
        for key in graph.get_all_asset_keys()
        if key.path[0] == "sample"
    }
    assert versions["article_embeddings"] == "all-MiniLM-L6-v2"
    assert str(versions["raw_articles"]).startswith("trafilatura ")
    assert str(versions["enriched_articles"]).startswith("local (lexical-")
    tags = graph.get(dg.AssetKey(["sample", "raw_articles"])).tags
    assert tags["news/desk"] == "sample"


COUNCIL = """
desk: councils
timezone: America/Chicago
language: en
first_day: 2026-11-01
agencies:
  springfieldIL:
    name: Springfield
    sources: [{kind: legistar, url: https://webapi.legistar.com/v1/springfield}]
"""


def test_a_desk_with_meetings_reads_their_documents_and_has_days_to_come(
    tmp_path: Path,
) -> None:
    path = tmp_path / "councils.yaml"
    path.write_text(COUNCIL)
    desks = load_desks([str(path)], ALL_KINDS)

    graph = build_definitions(Settings.model_validate({}), desks).resolve_asset_graph()

    parents = {
        key.path[1]: {parent.path[1] for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
        if key.path[0] == "councils"
    }
    assert parents == {
        "sources": set(),
        "pages": set(),
        "feed_entries": {"sources"},
        "meetings": {"feed_entries"},
        "matters": {"meetings"},
        "documents": {"feed_entries", "pages"},
        "raw_articles": {"feed_entries", "documents", "pages"},
        "enriched_articles": {"raw_articles"},
        "article_embeddings": {"enriched_articles"},
        "search_index": {"raw_articles", "enriched_articles", "article_embeddings"},
    }
    documents = dg.AssetKey(["councils", "documents"])
    checks = {
        check.name for check in graph.asset_check_keys if check.asset_key == documents
    }
    assert checks == {
        "ids_are_unique",
        "every_attachment_is_read",
        "no_article_has_failed",
    }
    now = datetime(2026, 11, 20, 15, tzinfo=UTC)
    assert last_day(desks[0], now) - newest_begun_day(desks[0], now) == timedelta(
        days=90
    )


def test_the_contacts_of_a_desk_file_own_its_assets(tmp_path: Path) -> None:
    path = tmp_path / "councils.yaml"
    contacts = ["team:city", "desk@example.org"]
    path.write_text(COUNCIL.replace("agencies:", f"contacts: {contacts}\nagencies:"))
    desks = load_desks([str(path)], ALL_KINDS)

    definitions = build_definitions(Settings.model_validate({}), desks)

    for spec in definitions.resolve_all_asset_specs():
        of_desk = spec.key.path[0] == "councils"
        assert list(spec.owners) == (contacts if of_desk else ["team:newsroom"])


def test_jobs_and_sensors_and_schedules_that_are_running_by_default(
    definitions: dg.Definitions,
) -> None:
    jobs = {
        job.name
        for job in definitions.resolve_all_job_defs()
        if not job.name.startswith("__")
    }
    of_desk, shared = (
        {"poll", "articles", "checks"},
        {"freshness", "daily_report", "lake_maintenance"},
    )
    assert jobs == {
        *(f"sample_{name}" for name in of_desk),
        *shared,
        "enrichment_batches",
        "alerts",
        "stories",
        "dataset",
    }
    sensors, schedules = (
        list(definitions.sensors or ()),
        list(definitions.schedules or ()),
    )
    assert [sensor.name for sensor in sensors] == SENSORS
    assert [schedule.name for schedule in schedules] == SCHEDULES
    assert {sensor.default_status for sensor in sensors} == {
        dg.DefaultSensorStatus.RUNNING
    }
    assert {schedule.default_status for schedule in schedules} == {
        dg.DefaultScheduleStatus.RUNNING
    }


def test_every_asset_is_described_owned_and_has_its_columns(
    definitions: dg.Definitions,
) -> None:
    for spec in definitions.resolve_all_asset_specs():
        assert spec.description
        # else Dagster's UI shows it as a block of code
        assert "\n    " not in spec.description, spec.key
        assert spec.owners == ["team:newsroom"]
        assert spec.kinds
        if spec.key.path[0] == "sample" and spec.key.path[1] not in (
            "sources",
            "pages",
        ):
            columns = spec.metadata["dagster/column_schema"].columns
            assert all(column.description for column in columns)


def test_article_stages_share_one_partition_grid_and_run_a_range_in_one_run(
    definitions: dg.Definitions,
) -> None:
    graph = definitions.resolve_asset_graph()
    stages = [dg.AssetKey(["sample", name]) for name in SNAPSHOT_STAGES]
    grids = {graph.get(key).partitions_def for key in stages}
    assert len(grids) == 1
    assert {graph.get(key).backfill_policy for key in stages} == {
        dg.BackfillPolicy.single_run()
    }


SNAPSHOT_STAGES = (
    "raw_articles",
    "enriched_articles",
    "article_embeddings",
    "search_index",
)


def test_loading_imports_no_model_library_and_no_extractor() -> None:
    heavy = "torch, trafilatura, onnxruntime, sentence_transformers, sklearn, news_assets.pipeline.articles.fetch"
    loaded = f"print([m for m in '{heavy}'.split(', ') if m in sys.modules])"
    code = f"import sys, news_assets.definitions as d; d.defs(); {loaded}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("select", "partition", "says"),
    [
        ("key:sample/feed_entries", "nowhere", "nowhere"),
        ("key:sample/raw_articles", "gazeta|1999-01-01", "gazeta|1999-01-01"),
    ],
)
@pytest.mark.slow  # starts dagster twice
def test_an_unknown_partition_fails_with_its_name(
    tmp_path: Path, select: str, partition: str, says: str
) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "dagster",
        "asset",
        "materialize",
        "-m",
        "news_assets.definitions",
    ]
    done = subprocess.run(
        [*command, "--select", select, "--partition", partition],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode != 0
    assert says in done.stderr + done.stdout


def test_runs_of_all_jobs_have_the_time_limit_of_the_settings(
    definitions: dg.Definitions,
) -> None:
    jobs = [
        job
        for job in definitions.resolve_all_job_defs()
        if not job.name.startswith("__")
    ]
    assert {job.tags["dagster/max_runtime"] for job in jobs} == {"86400"}
