"""Literals in place of parameters: the same value and the same type."""

from datetime import UTC, date, datetime, timedelta, timezone

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.store.literals import literal

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
