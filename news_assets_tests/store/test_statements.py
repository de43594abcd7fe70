"""Rows selected by agency and day, or by values of columns."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure, StoryMember
from news_assets.records.reading import AgencyDays
from news_assets.store.address import METADATA
from news_assets.store.lake import Lake
from news_assets.store.statements import literal, with_values
from news_assets.store.tables import table_of
from news_assets_tests.store.examples import DAY, MANY, article, upsert
from news_assets_tests.support.small_desk import NOW


@pytest.mark.parametrize(
    ("record", "isin", "pruning"),
    [
        (RawArticle, {}, {"day", "agency"}),
        (RawArticle, {"outcome": ["ok", "failed"]}, {"day", "agency"}),
        (StoryMember, {"story_id": ["a", "b"]}, {"day", "agency", "story_id"}),
        (Failure, {"stage": ["raw_articles"], "article_id": ["a"]}, set()),
    ],
)
def test_files_are_pruned_by_no_column_that_does_not_tell_them_apart(
    lake: Lake, record: type, isin: dict[str, list[str]], pruning: set[str]
) -> None:
    keys = AgencyDays("govbr", frozenset({("mec", DAY)})) if pruning else None
    with lake.latest() as snapshot:
        run = snapshot.cursor.execute
        run("CALL enable_logging('QueryLog')")
        snapshot.frame(record, keys, **isin)
        logged = run("SELECT message FROM duckdb_logs").fetchall()
        names = dict(
            run(
                f"""SELECT column_id, column_name FROM {METADATA}.ducklake_column
                JOIN {METADATA}.ducklake_table USING (table_id) WHERE table_name = ?""",
                [table_of(record).name],
            ).fetchall()
        )

    found = re.findall(r"WHERE column_id = (\d+)", "".join(text for (text,) in logged))
    assert {names[int(number)] for number in found} == pruning


def test_rows_are_read_by_agency_day_and_desk(lake: Lake) -> None:
    rows = [
        article(
            n, article_id=f"{desk}-{agency}-{day}", desk=desk, agency=agency, day=day
        )
        for n, (desk, agency, day) in enumerate(
            (desk, agency, DAY - timedelta(days=days))
            for desk in ("govbr", "world")
            for agency in ("mec", "mj", "ms")
            for days in (0, 1, 40)
        )
    ]
    upsert(lake, rows)
    wanted = frozenset({("mec", DAY), ("ms", DAY - timedelta(days=40))})

    found = lake.read(RawArticle, AgencyDays("govbr", wanted))

    assert {(row.desk, row.agency, row.day) for row in found} == {
        ("govbr", *pair) for pair in wanted
    }
    assert lake.read(RawArticle, AgencyDays("govbr", frozenset())) == []
    assert (
        len(lake.read(RawArticle, AgencyDays("world", frozenset({("mj", DAY)})))) == 1
    )


def test_rows_are_read_by_values_of_any_columns(lake: Lake) -> None:
    upsert(
        lake,
        [
            article(n, url_hash=f"{n % 5}", duplicate_of=f"{n}" if n % 2 else None)
            for n in range(40)
        ],
    )

    def numbers(**isin: Any) -> list[int]:
        return [int(row.article_id[-5:]) for row in lake.read(RawArticle, **isin)]

    assert numbers(url_hash=["3"]) == list(range(3, 40, 5))
    assert numbers(url_hash={"3", "4", "none"}) == [
        n for n in range(40) if n % 5 in (3, 4)
    ]
    assert numbers(url_hash=["3", "4"], duplicate_of=[None, "9"]) == [
        4,
        8,
        9,
        14,
        18,
        24,
        28,
        34,
        38,
    ]
    assert numbers(url_hash=["3", "3"], duplicate_of=[None]) == [8, 18, 28, 38]
    assert numbers(url_hash=[]) == []
    assert numbers(url_hash=["nothing", "at all"]) == []
    assert numbers(url_hash=["1", *map(str, range(5, 100))]) == [
        n for n in range(40) if n % 5 == 1
    ]


@pytest.mark.parametrize("count", [2, 20, 21, 60])
@pytest.mark.parametrize(
    "name", ["article_id", "day", "first_seen_at", "lead_minhash", "rev_n"]
)
def test_lists_of_any_length_and_type_select_the_same_rows(
    lake: Lake, name: str, count: int
) -> None:
    rows = [
        article(
            n,
            day=DAY - timedelta(days=2 * n),
            first_seen_at=NOW - timedelta(hours=n),
            lead_minhash=n.to_bytes(4),
            rev_n=n,
        )
        for n in range(70)
    ]
    upsert(lake, rows)
    wanted = {getattr(row, name) for row in rows[5 : 5 + count]}
    assert {
        getattr(row, name) for row in lake.read(RawArticle, **{name: wanted})
    } == wanted


@pytest.mark.parametrize("text", ["\ud800half", "nul\0", "\ud83c\udf89 two halves"])
def test_a_text_that_is_stored_otherwise_is_found_by_its_own_value(
    lake: Lake, text: str
) -> None:
    upsert(lake, [article(1, url_hash=text), article(2, url_hash="other")])
    for values in ([text], [text, "another"], {text, None}):
        assert [
            row.article_id[-1] for row in lake.read(RawArticle, url_hash=values)
        ] == ["1"]


def test_files_of_other_months_are_not_opened(lake: Lake) -> None:
    past = DAY - timedelta(days=90)
    upsert(lake, [article(n, day=DAY if n < MANY else past) for n in range(2 * MANY)])
    (file,) = Path(lake.address.data).glob(
        f"**/raw_articles/**/month={past.month}/*.parquet"
    )
    file.unlink()
    keys = AgencyDays("govbr", frozenset({("mec", DAY)}))
    assert len(lake.read(RawArticle, keys)) == MANY
    assert (
        len(
            lake.read(
                RawArticle,
                day=[DAY],
                article_id=[article(n).article_id for n in range(9)],
            )
        )
        == 9
    )
    assert (
        lake.query(
            "SELECT url FROM raw_articles WHERE day >= $day", {"day": DAY}
        ).height
        == MANY
    )


@pytest.mark.parametrize("wrong", [{"no_such": ["x"]}, {"tags": ["x"]}])
def test_an_unknown_column_is_named(lake: Lake, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        lake.read(RawArticle, **wrong)
    with pytest.raises(ValueError, match="no_such"):
        lake.frame(RawArticle, None, ["no_such"])


VALUES = st.one_of(
    st.text(),
    st.integers(),
    st.booleans(),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3))])),
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@given(st.one_of(VALUES, st.lists(st.text(max_size=5), max_size=4)))
def test_a_literal_is_read_as_the_value(
    database: duckdb.DuckDBPyConnection, value: object
) -> None:
    text = literal(value)
    if text is not None:
        assert database.execute(f"SELECT {text} = ?", [value]).fetchone() == (True,)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("it's", "VARCHAR"),
        (7, "INTEGER"),
        (2**40, "BIGINT"),
        (True, "BOOLEAN"),
        (date(2026, 3, 1), "DATE"),
        (datetime(2026, 3, 1, tzinfo=UTC), "TIMESTAMP WITH TIME ZONE"),
        (["a", "b"], "VARCHAR[]"),
    ],
)
def test_a_literal_has_the_type_of_a_parameter(
    database: duckdb.DuckDBPyConnection, value: object, type_: str
) -> None:
    assert database.execute(f"SELECT typeof({literal(value)})").fetchone() == (type_,)


@pytest.mark.parametrize(
    "value",
    [None, [], [1, "a"], ["a", None], 0.5, b"a", "a\0b", "a\nb", "a" * 1001, 2**63],
)
def test_other_values_have_none(value: object) -> None:
    assert literal(value) is None


def test_a_quote_does_not_end_the_text(database: duckdb.DuckDBPyConnection) -> None:
    text = "'; DROP TABLE articles; --"
    assert database.execute(f"SELECT {literal(text)}").fetchone() == (text,)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT $a, $b", "SELECT 1, 'x $a'"),
        ("SELECT 'it''s $a ?' || $a", "SELECT 'it''s $a ?' || 1"),
        ('SELECT "$a?" -- why $a?\n, $a', 'SELECT "$a?" -- why $a?\n, 1'),
    ],
)
def test_only_parameters_are_replaced(sql: str, expected: str) -> None:
    assert with_values(sql, {"a": "1", "b": "'x $a'"}) == expected


def test_marks_are_replaced_in_order() -> None:
    sql = "SELECT ?, '?', ?"
    assert with_values(sql, {"1": "7", "2": "'?'"}) == "SELECT 7, '?', '?'"
