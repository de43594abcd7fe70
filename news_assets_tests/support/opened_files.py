"""Which data files an operation of the lake opens: what it costs as the archive grows,
without a clock.
"""

import re
from collections import defaultdict
from collections.abc import Callable

from news_assets.store.lake import Lake
from news_assets.store.maintenance import FLUSH
from news_assets.store.tables import TABLES

_MONTH = re.compile(r"/(?P<table>\w+)/year=(?P<year>\d+)/month=(?P<month>\d+)/")
_OPENED = """
    SELECT DISTINCT path FROM duckdb_logs_parsed('FileSystem')
    WHERE op = 'OPEN' AND path LIKE '%.parquet'
"""


def write_files(lake: Lake) -> None:
    """Write the rows of the catalog to files, as maintenance does."""
    for table in TABLES:
        statement = FLUSH.format(table.name)
        lake.transact(lambda rows, sql=statement: rows.cursor.execute(sql).fetchall())  # type: ignore[misc]


def opened_months(lake: Lake, work: Callable[[], object]) -> dict[str, set[str]]:
    """Run `work` and return table -> months ("2026-11") of the files that it opened."""
    with lake._connection.cursor() as cursor:
        cursor.execute("CALL truncate_duckdb_logs()")
        cursor.execute("CALL enable_logging('FileSystem')")
        work()
        cursor.execute("CALL disable_logging()")
        paths = cursor.execute(_OPENED).fetchall()
    found: dict[str, set[str]] = defaultdict(set)
    for (path,) in paths:
        month = _MONTH.search(path)
        if month:
            name = f"{month['year']}-{int(month['month']):02}"
            found[month["table"]].add(name)
    return found
