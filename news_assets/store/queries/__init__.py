"""Queries across tables. Rows are joined and counted in SQL, and only results leave the
lake.

    states (declared stages in SQL) -> backlog (what to fetch or make again),
    index_drift (index against lake)
    poll_history -> health (silent agencies, failing sources)
    backlog, index_drift, health -> freshness (the findings that checks, `news-assets
    gaps` and the report show)

The others stand alone: `overview` (counts by agency), `report` (counts of a day),
`source_status`, `url_history`.
"""
