import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import Poll, RawArticle
from news_assets.store import connection
from news_assets.store.address import without_password
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES, columns, table_of
from news_assets_tests.store.examples import MANY, full
from news_assets_tests.support.lakes import Place
from news_assets_tests.support.servers import Postgres
from news_assets_tests.support.waiting import HANG_S

pytestmark = pytest.mark.on_postgres_too


def test_a_lake_is_created_with_its_folders_and_opened_again(tmp_path: Path) -> None:
    catalog, data = (
        tmp_path / "new" / "catalog.sqlite",
        tmp_path / "other" / "it's data",
    )

    with Lake.open(catalog, data) as lake:
        lake.transact(lambda transaction: transaction.append([full(Poll)] * 25))
    with Lake.open(catalog, data) as lake:
        assert lake.read(Poll) == [full(Poll)] * 25

    assert list(data.rglob("*.parquet"))


def test_an_open_lake_keeps_its_catalog_open_and_lets_the_log_be_written_back(
    tmp_path: Path,
) -> None:
    """If each transaction opens and closes the file, the last one deletes the log, and
    another that opens the file at that moment waits for a second.
    """
    catalog, log = tmp_path / "catalog.sqlite", tmp_path / "catalog.sqlite-wal"
    checkpoint = """if True:
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1])
        print(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    """

    with Lake.open(catalog, tmp_path / "data") as lake:
        lake.transact(lambda transaction: transaction.append([full(Poll)]))
        assert lake.read(Poll)
        assert log.stat().st_size
        was_busy = subprocess.check_output(
            [sys.executable, "-c", checkpoint, catalog], text=True
        )
        assert was_busy.strip() == "0"
        assert log.stat().st_size == 0

    assert not log.exists()


def test_a_file_that_is_no_catalog_is_refused_and_left_alone(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.sqlite"
    catalog.write_bytes(b"rubbish" * 1000)

    with pytest.raises(
        LakeError, match=r"catalog\.sqlite: the catalog cannot be opened; .*restore it"
    ) as raised:
        Lake.open(catalog, tmp_path / "data")

    assert "\n" not in str(raised.value)
    assert catalog.read_bytes() == b"rubbish" * 1000


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")

    with pytest.raises(LakeError, match=r"file.*cannot be created"):
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "file" / "data")


def test_a_missing_extension_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda _: None)
    with pytest.raises(LakeError, match="pip install duckdb-extension-ducklake=="):
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data")


def test_an_unreachable_postgres_is_a_transient_error_without_the_password(
    tmp_path: Path,
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]

    with pytest.raises(LakeError) as raised:
        Lake.open(f"postgresql://me:geheim@127.0.0.1:{port}/news", tmp_path / "data")

    said = str(raised.value)
    assert said.startswith(
        f"postgresql://me:***@127.0.0.1:{port}/news: the catalog cannot be opened; check that"
    )
    assert "geheim" not in said + str(raised.value.__cause__)
    assert raised.value.is_transient


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://me:a:b/c@host/x", "postgresql://me:***@host/x"),
        (
            "postgresql://host/x?user=me&password=secret&port=1",
            "postgresql://host/x?user=me&password=***&port=1",
        ),
        ("host=h password='a b' user=u", "host=h password=*** user=u"),
        ("postgresql://me@host:5432/x", "postgresql://me@host:5432/x"),
        ("/home/me/catalog.sqlite", "/home/me/catalog.sqlite"),
    ],
)
def test_passwords_are_hidden(text: str, hidden: str) -> None:
    assert without_password(text) == hidden


def test_a_data_folder_other_than_the_catalogs_is_refused(
    begun: Place, tmp_path: Path
) -> None:
    with pytest.raises(LakeError, match="belongs to another data folder"):
        Lake.open(begun[0], tmp_path / "elsewhere")


def test_a_new_column_is_added_to_an_old_table(begun: Place) -> None:
    with Lake.open(*begun) as lake:
        lake.transact(lambda transaction: transaction.upsert([full(RawArticle)]))
        lake.transact(
            lambda transaction: transaction.cursor.execute(
                "ALTER TABLE raw_articles DROP COLUMN title"
            )
        )
        lake.transact(
            lambda transaction: transaction.cursor.execute(
                "ALTER TABLE raw_articles DROP COLUMN word_count"
            )
        )
        lake.transact(
            lambda transaction: transaction.cursor.execute(
                "ALTER TABLE raw_articles DROP published_origin"
            )
        )
        lake.transact(
            lambda transaction: transaction.cursor.execute("DROP TABLE polls")
        )

    with Lake.open(*begun) as lake:
        assert lake.read(RawArticle) == [
            full(RawArticle, title=None, word_count=0, published_origin=None)
        ]
        lake.transact(lambda transaction: transaction.upsert([full(RawArticle)]))
        assert lake.read(RawArticle) == [full(RawArticle)]
        assert lake.read(Poll) == []


def test_a_lake_with_a_column_that_is_no_longer_declared_is_read_and_written(
    begun: Place,
) -> None:
    kept, replaced, added = (full(RawArticle, article_id=key) for key in "abc")
    with Lake.open(*begun) as lake:
        lake.transact(
            lambda transaction: transaction.cursor.execute(
                "ALTER TABLE raw_articles ADD minhash BLOB"
            )
        )
        lake.transact(lambda transaction: transaction.upsert([kept, replaced]))
        lake.transact(
            lambda transaction: transaction.cursor.execute(
                "UPDATE raw_articles SET minhash = 'old'"
            )
        )

    with Lake.open(*begun) as lake:
        lake.transact(lambda transaction: transaction.upsert([replaced, added]))
        assert lake.read(RawArticle) == [kept, replaced, added]
        assert [frame.columns for frame in lake.stream(RawArticle)] == [
            [column.name for column in columns(table_of(RawArticle))]
        ]
        assert lake.query(
            "SELECT article_id, minhash FROM raw_articles ORDER BY article_id"
        ).rows() == [
            ("a", b"old"),
            ("b", None),
            ("c", None),
        ]


def test_a_process_keeps_nothing_of_the_files_that_it_has_read(lake: Lake) -> None:
    for _ in range(2):
        lake.transact(lambda rows: rows.append([full(RawArticle)] * MANY))
        assert lake.read(RawArticle)

    kept = "SELECT count(*) AS ranges FROM duckdb_external_file_cache()"
    assert lake.query(kept)["ranges"].to_list() == [0]


def test_the_tables_carry_the_declared_types(lake: Lake) -> None:
    found = lake.query(
        "SELECT column_name, data_type FROM (DESCRIBE raw_articles) t(column_name, data_type)"
    ).rows()

    assert [
        (name, kind.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"))
        for name, kind in found
    ] == [(column.name, column.sql_type) for column in columns(table_of(RawArticle))]


_OPEN = """
import sys
from news_assets.store.lake import Lake
with Lake.open(*sys.argv[1:]) as lake:
    print(lake.query("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake'").item())
"""


@pytest.mark.slow  # four processes
def test_several_processes_can_create_a_lake_at_once(address: Place) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN, *address], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]

    assert [process.communicate(timeout=HANG_S)[0] for process in processes] == [
        f"{len(TABLES)}\n"
    ] * 4


def test_a_lake_is_opened_while_another_one_writes(begun: Place) -> None:
    with Lake.open(*begun) as writer:

        def work(_: object) -> None:
            with Lake.open(*begun, wait_s=HANG_S) as reader:
                assert reader.read(Poll) == []

        writer.transact(work)


def test_a_lost_postgres_connection_is_a_transient_error_and_the_lake_works_afterwards(
    postgres: Postgres, tmp_path: Path
) -> None:
    with (
        Lake.open(postgres.url("disconnected"), tmp_path / "data") as lake,
        closing(psycopg2.connect(postgres.url("postgres"))) as admin,
    ):
        lake.transact(lambda transaction: transaction.append([full(Poll)]))
        admin.cursor().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'disconnected'"
        )
        _until_it_answers(lake)

        assert lake.read(Poll) == [full(Poll)]


def _until_it_answers(lake: Lake) -> None:
    for _ in range(10):
        try:
            lake.transact(lambda transaction: transaction.read(Poll))
        except LakeError as error:
            assert error.is_transient  # noqa: PT017 - the number of errors varies, each has to be transient
        else:
            return
