"""What is stored of agenda items once their articles are enriched: their topics, and
the summaries of their matters.
"""

from collections.abc import Sequence
from dataclasses import replace

from news_assets.pipeline.civic.items import is_minutes, is_whole_agenda
from news_assets.pipeline.civic.matters import refresh_matters_of
from news_assets.pipeline.civic.topics import topics_of_item
from news_assets.ports.lake import Rows
from news_assets.records.derived import EnrichedArticle
from news_assets.records.meetings import StoredItem


def refresh_items_of(rows: Rows, enriched: Sequence[EnrichedArticle]) -> None:
    """Store the topics of the items of these articles, by title and summary, and make
    their matters again.
    """
    summaries = {row.article_id: row.summary for row in enriched}
    items = rows.read(StoredItem, article_id=summaries) if summaries else []
    if not items:  # articles of news
        return
    now = [
        replace(
            item,
            topics=topics_of_item(item.title, summaries[item.article_id or ""] or ""),
        )
        for item in items
        if summaries[item.article_id or ""]
        and not is_whole_agenda(item)
        and not is_minutes(item)
    ]
    before = {item.item_id: item for item in items}
    if changed := [item for item in now if item != before[item.item_id]]:
        rows.upsert(changed)
    refresh_matters_of(rows, enriched)
