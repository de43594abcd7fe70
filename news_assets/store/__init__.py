"""The lake: every table of the pipeline in DuckLake, with its catalog in SQLite or
Postgres and its data as Parquet.

    row types of `records` -> tables (columns, DDL) -> connection (DuckDB, catalog attached,
                                                       missing tables created)
    read:   agency-days and values -> statements -> transaction.Snapshot -> tables -> records,
                                                    or a Polars frame
    write:  records -> tables -> transaction.Transaction, under the write lock of
                                 `lake.Lake.transact`

Callers use `lake.Lake` only. `maintenance` keeps its files few and large; `backup`
copies its catalog; `queries` reads across tables.
"""
