"""What is missing, lost, silent or failing: the desk's freshness, by row and not by partition.

In: an open lake, the search index, a desk, `now`. Out: one table of findings for each true sentence that should hold.
The asset checks, `news-assets gaps` and the daily report show these tables, and the sensors ask for what stands in the
first five of them. What to do about a finding is not decided here.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from news_assets.errors import IndexingError
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.ports import SearchIndex
from news_assets.records import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import articles_behind, documents_lost, entries_pending
from news_assets.store.queries.health import failing_sources, silent_agencies

if TYPE_CHECKING:
    import polars as pl

GAP_DAYS = 30
GRACE = timedelta(minutes=10)  # what came in a moment ago is on its way

# check: the asset it speaks of, and what it says
SENTENCES: Mapping[str, tuple[str, str]] = {
    "every_entry_is_fetched": (
        "raw_articles",
        "Every entry of the last days has been fetched, or its failure is known.",
    ),
    "every_article_is_enriched": ("enriched_articles", "Every article is enriched as it is now."),
    "every_article_is_embedded": ("article_embeddings", "Every article is embedded as it is now."),
    "every_article_is_indexed": (
        "search_index",
        "Every article has a receipt for the document that it would make now.",
    ),
    "index_equals_lake": ("search_index", "Index and lake hold the same documents: the same ids with the same hashes."),
    "agencies_are_heard": ("feed_entries", "No agency is silent for longer than its own habit explains."),
    "sources_answer": ("feed_entries", "Every source answers, lists something, and is asked when it is due."),
}

_HEADER = ("article_id", "agency", "day", "why", "since")
_BY_STAGE = {asset: name for name, (asset, _) in SENTENCES.items() if name.startswith("every")}

_CHECKED = """
    SELECT (SELECT count(*) FROM entries WHERE desk = $desk AND day >= $first_day) AS entries,
        (SELECT count(*) FROM raw_articles WHERE desk = $desk AND day >= $first_day AND outcome = 'ok') AS articles
"""


def desk_gaps(
    lake: Lake, index: SearchIndex, desk: Desk, now: datetime, days: int = GAP_DAYS, grace: timedelta = GRACE
) -> dict[str, Findings]:
    """Return the findings under each name of SENTENCES; those over articles look `days` back."""
    import polars as pl

    first_day = (now - timedelta(days=days)).date()
    pending = entries_pending(lake, desk, now, first_day)
    work = pl.concat([pending, articles_behind(lake, desk, now, first_day)]).filter(pl.col("since") <= now - grace)
    entries, articles = lake.query(_CHECKED, {"desk": desk.key, "first_day": first_day}).row(0)
    unfinished = {
        name: _findings(work.filter(pl.col("stage") == stage), entries if stage == "raw_articles" else articles)
        for stage, name in _BY_STAGE.items()
    }
    found = {
        **unfinished,
        "index_equals_lake": _lost(lake, index, desk, now, first_day, articles),
        "agencies_are_heard": silent_agencies(lake, desk, now),
        "sources_answer": failing_sources(lake, desk, now),
    }
    return {name: found[name] for name in SENTENCES}


def _lost(lake: Lake, index: SearchIndex, desk: Desk, now: datetime, first_day: date, articles: int) -> Findings:
    """Return what index and lake do not share; an index that is away or starting says nothing about what it has."""
    try:
        return _findings(documents_lost(lake, index, desk, now, first_day), articles)
    except IndexingError as error:
        return Findings(0, _HEADER, (), unknown=str(error))


def _findings(work: "pl.DataFrame", checked: int) -> Findings:
    return Findings(checked, _HEADER, tuple(work.select(_HEADER).rows()))
