import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from news_assets.errors import LakeError
from news_assets.records.alerts import (
    ChangeHit,
    Condition,
    Follower,
    Message,
    OperatorAction,
    QueryHit,
    StoredQuery,
    Subscription,
)
from news_assets.records.articles import (
    ArticleRevision,
    CopyKey,
    FeedEntry,
    MovedArticle,
    Poll,
    RawArticle,
    SourceState,
    StoredPage,
)
from news_assets.records.councils import (
    StoredBody,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.records.derived import (
    CachedEnrichment,
    Change,
    CivicMention,
    EnrichedArticle,
    Failure,
    NameMerge,
    Story,
    StoryChange,
    StoryMember,
    ThemeLabel,
)
from news_assets.records.meetings import (
    Matter,
    MeetingChange,
    StoredDocument,
    StoredItem,
    StoredMeeting,
)
from news_assets.records.model_calls import EnrichmentBatch, ModelCall, ModelState
from news_assets.store import upgrade as module
from news_assets.store.address import Address
from news_assets.store.backup import back_up, plan_restore, restore
from news_assets.store.connection import pending_changes
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES, create_statements
from news_assets.store.upgrade import MIGRATIONS, Migration, read_identity, upgrade
from news_assets_tests.store.examples import full
from news_assets_tests.support.lakes import Place, copy_lake

RENAME = Migration(
    "call an outcome a result",
    ('ALTER TABLE "polls" RENAME COLUMN "outcome" TO "result"',),
)

# What that lake lacks: columns that were declared later, with their types and their
# values in its rows.
ADDED_COLUMNS: dict[type, dict[str, tuple[str, Any]]] = {
    SourceState: {
        "elapsed_ms": ("BIGINT", None),
        "left_urls": ("VARCHAR[]", ()),
        "signals": ("VARCHAR[]", ()),
        "passed_at": ("TIMESTAMPTZ", None),
    },
    FeedEntry: {"news_hash": ("VARCHAR", ""), "precedence_at": ("TIMESTAMPTZ", None)},
    StoredPage: {"etag": ("VARCHAR", None), "last_modified": ("VARCHAR", None)},
    RawArticle: {
        "news_hash": ("VARCHAR", ""),
        "relisted": ("BIGINT", 0),
        "address_owner": ("VARCHAR", ""),
        "precedence_at": ("TIMESTAMPTZ", None),
        "page_hash": ("VARCHAR", None),
        "lead_minhash": ("BLOB", None),
        "duplicate_reason": ("VARCHAR", None),
        "duplicate_score": ("DOUBLE", None),
        "refusals": ("BIGINT", 0),
        "failed_attempts": ("BIGINT", 0),
        "last_failure": ("VARCHAR", None),
        "removed_at": ("TIMESTAMPTZ", None),
        "withdrawn_at": ("TIMESTAMPTZ", None),
        "withdrawn_after": ("BIGINT", 0),
        "body": ("VARCHAR", ""),
        "matter": ("VARCHAR", ""),
        "meeting_id": ("VARCHAR", ""),
        "meeting_status": ("VARCHAR", ""),
        "filter_reason": ("VARCHAR", ""),
    },
    ArticleRevision: {"cause": ("VARCHAR", "")},
    EnrichedArticle: {
        "is_provisional": ("BOOLEAN", False),
        "theme_reason": ("VARCHAR", None),
        "summary_spans": ("VARCHAR[]", ()),
        "key_points": ("VARCHAR[]", ()),
        "key_point_spans": ("VARCHAR[]", ()),
        "sentiment": ("VARCHAR", None),
        "sentiment_score": ("DOUBLE", None),
        "article_type": ("VARCHAR", None),
        "entities": ("VARCHAR[]", ()),
        "entities_json": ("VARCHAR", None),
        "entity_ids": ("VARCHAR[]", ()),
        "unsure_reason": ("VARCHAR", None),
        "local_reason": ("VARCHAR", None),
    },
    CachedEnrichment: {"article_id": ("VARCHAR", None)},
}
ADDED_TABLES = (
    *(CopyKey, MovedArticle, ModelCall, ModelState, ThemeLabel, EnrichmentBatch),
    *(StoredMeeting, StoredItem, MeetingChange, Matter, StoredDocument),
    *(StoredVote, StoredMember, StoredBody, StoredOffice),
    *(StoryMember, CivicMention, Story, StoryChange, NameMerge),
    *(
        Change,
        Follower,
        StoredQuery,
        Subscription,
        QueryHit,
        ChangeHit,
        Message,
        Condition,
        OperatorAction,
    ),
)
ADDED = tuple(
    statement
    for table in TABLES
    for statement in (
        create_statements(table)
        if table.record in ADDED_TABLES
        else (
            f'ALTER TABLE "{table.name}" ADD COLUMN IF NOT EXISTS "{name}" {sql_type}'
            for name, (sql_type, _) in ADDED_COLUMNS.get(table.record, {}).items()
        )
    )
)


@pytest.fixture
def old(tmp_path: Path) -> Address:
    """A lake without id and version, made by the program before there were any, with
    rows in files and inlined.
    """
    with tarfile.open(
        Path(__file__).parent / "data" / "lake_without_id.tar.gz"
    ) as archive:
        # Python before 3.11.4 has no filters, and later ones warn without
        is_filtered = hasattr(tarfile, "data_filter")
        options: dict[str, Any] = {"filter": "data"} if is_filtered else {}
        archive.extractall(tmp_path / "archive", **options)
    copy_lake(tmp_path / "archive", tmp_path)
    return Address(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data"))


def test_a_lake_from_before_ids_gets_one_and_keeps_its_rows(old: Address) -> None:
    with Lake.open(old.catalog, old.data) as lake:
        for table in TABLES:
            found = lake.read(table.record)
            old_values = {
                name: value
                for name, (_, value) in ADDED_COLUMNS.get(table.record, {}).items()
            }
            expected = replace(full(table.record), **old_values)
            count = 0 if table.record in ADDED_TABLES else 1 if table.key else 3
            assert found == [expected] * count or table.record is Failure
        assert lake.read(Failure) == [full(Failure)] * 2
        identity = read_identity(lake._connection)

    assert identity is not None
    assert (identity.lake_id, identity.schema_version) == (
        (Path(old.data) / "lake_id").read_text().strip(),
        1,
    )


def test_a_dry_run_shows_the_changes_and_makes_none(old: Address) -> None:
    before = Path(old.catalog).read_bytes()

    assert pending_changes(old) == ("give the lake an id", *ADDED)

    assert not (Path(old.data) / "lake_id").exists()
    assert pending_changes(old) == ("give the lake an id", *ADDED)
    assert len(Path(old.catalog).read_bytes()) == len(before)
    Lake.open(old.catalog, old.data).close()
    assert pending_changes(old) == ()


@pytest.mark.on_postgres_too
def test_migrations_run_once_and_their_version_is_stored(lake: Lake) -> None:
    lake.transact(lambda transaction: transaction.append([full(Poll)]))

    done = lake.transact(
        lambda transaction: upgrade(transaction.cursor, (*MIGRATIONS, RENAME))
    )
    again = lake.transact(
        lambda transaction: upgrade(transaction.cursor, (*MIGRATIONS, RENAME))
    )

    # The column is declared as `outcome` here, so it is added again.
    added = 'ALTER TABLE "polls" ADD COLUMN IF NOT EXISTS "outcome" VARCHAR'
    assert done.changes == (RENAME.name, *RENAME.statements, added)
    assert (done.identity.schema_version, again.changes) == (2, ())
    assert lake.query("SELECT result, outcome FROM polls").rows() == [
        (full(Poll).outcome, None)
    ]


@pytest.mark.on_postgres_too
def test_a_migration_that_fails_changes_nothing(lake: Lake) -> None:
    broken = Migration(
        "break", (*RENAME.statements, "ALTER TABLE nowhere ADD COLUMN a INTEGER")
    )
    before = read_identity(lake._connection)

    with pytest.raises(LakeError, match="nowhere"):
        lake.transact(
            lambda transaction: upgrade(transaction.cursor, (*MIGRATIONS, broken))
        )

    assert read_identity(lake._connection) == before
    assert "result" not in lake.frame(Poll).columns


@pytest.mark.on_postgres_too
def test_a_lake_of_a_newer_program_is_refused(
    address: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lake.open(*address) as lake:
        lake.transact(
            lambda transaction: upgrade(transaction.cursor, (*MIGRATIONS, RENAME))
        )

    with pytest.raises(
        LakeError,
        match="schema version 2, and this program knows 1; install the newer news_assets",
    ):
        Lake.open(*address)


@pytest.mark.on_postgres_too
def test_a_backup_from_before_an_upgrade_takes_it_back(
    address: Place, tmp_path: Path
) -> None:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    with Lake.open(*address) as lake:
        lake.transact(lambda transaction: transaction.append([full(Poll)]))
        backup = back_up(Address(*address), tmp_path / "backups", now)
        lake.transact(
            lambda transaction: upgrade(transaction.cursor, (*MIGRATIONS, RENAME))
        )
    with pytest.raises(LakeError, match="restore a backup from before its first start"):
        Lake.open(*address)

    restore(Address(*address), plan_restore(Address(*address), backup.file), now)

    with Lake.open(*address) as lake:
        assert lake.read(Poll) == [full(Poll)]


def test_a_migration_renames_a_table_with_its_rows(lake: Lake) -> None:
    lake.transact(lambda transaction: transaction.append([full(Poll)]))
    rename = Migration("call polls looks", ('ALTER TABLE "polls" RENAME TO "looks"',))

    lake.transact(
        lambda transaction: upgrade(transaction.cursor, (*MIGRATIONS, rename))
    )

    assert lake.query("SELECT outcome FROM looks").rows() == [(full(Poll).outcome,)]
    assert lake.read(Poll) == []  # declared as `polls` here, so it is made again


def test_a_new_lake_needs_no_migration(lake: Lake) -> None:
    assert module.is_current(lake._connection, read_identity(lake._connection))
