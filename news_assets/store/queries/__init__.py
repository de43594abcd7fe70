"""Queries across tables. Rows are joined and counted in SQL, and only results leave the
lake.

    backlog (declared stages in SQL: what to fetch or make again) and poll_health (polls of
    each source, silent agencies, failing sources) -> freshness (the index against the lake,
    and the findings that checks, `news-assets gaps` and the report show)

The others stand alone: `report` (counts of a day), `url_history`, `changes`, `spending`,
`listed_articles`, `listed_failures`, `copies`, `story_lists`, `story_contents`, `names`,
`stored_meetings`.
"""
