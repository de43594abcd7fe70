"""Matters: the same file in several meetings of an agency."""

from collections.abc import Collection, Iterable
from datetime import date
from typing import Final

from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.ports.lake import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.meetings import AgendaItem, Matter, StoredItem
from news_assets.text.fingerprint import normal_words

MIN_TITLE_CHARS: Final = 30  # shorter titles, such as "Budget update", are those of several matters


def matter_key(item: AgendaItem) -> str:
    """Return the key of an item's matter within its agency: by public number, vendor's id or title; empty without."""
    if item.matter_file and item.matter_file.strip():
        return f"file:{' '.join(item.matter_file.split())}"
    if item.matter_id:
        return f"id:{item.matter_id}"
    title = " ".join(normal_words(item.title))
    return f"title:{sha256(title)[:16]}" if len(title) >= MIN_TITLE_CHARS else ""


def refresh_matters(rows: Rows, desk: str, agency: str, keys: Collection[str]) -> list[Matter]:
    """Make the rows of these matters of an agency again from their items and enriched articles, and store them."""
    if not keys:
        return []
    items: dict[str, list[StoredItem]] = {}
    for item in rows.read(StoredItem, desk=[desk], agency=[agency], matter=keys):
        items.setdefault(item.matter, []).append(item)
    ids = {item.article_id for of_matter in items.values() for item in of_matter if item.article_id}
    found = rows.frame(EnrichedArticle, None, ("article_id", "summary"), article_id=ids, outcome=["ok"])
    summaries = {article_id: summary for article_id, summary in found.iter_rows() if summary}
    made = [_matter(of_matter, summaries) for of_matter in items.values()]
    if made:
        rows.upsert(made)
    return made


def refresh_matters_of(rows: Rows, articles: Iterable[RawArticle | EnrichedArticle]) -> None:
    """Make the matters of these articles again; articles of news have none."""
    keys: dict[tuple[str, str], set[str]] = {}
    columns = ("desk", "agency", "matter")
    found = rows.frame(StoredItem, None, columns, article_id=[article.article_id for article in articles])
    for desk, agency, matter in found.iter_rows():
        keys.setdefault((desk, agency), set()).add(matter)
    for (desk, agency), of_agency in keys.items():
        refresh_matters(rows, desk, agency, of_agency - {""})


def _matter(items: Iterable[StoredItem], summaries: dict[str, str]) -> Matter:
    ordered = sorted(items, key=lambda item: (item.day or date.max, item.item_id))
    last = ordered[-1]
    articles = tuple(item.article_id for item in ordered if item.article_id)
    summary_of = next((article_id for article_id in reversed(articles) if article_id in summaries), None)
    days = [item.day for item in ordered if item.day]
    return Matter(
        desk=last.desk,
        agency=last.agency,
        matter=last.matter,
        title=last.title,
        matter_file=last.matter_file,
        matter_type=last.matter_type,
        item_ids=tuple(item.item_id for item in ordered),
        article_ids=articles,
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
        attachment_hash=sha256("\n".join(sorted(last.document_ids))) if last.document_ids else "",
        summary=summaries.get(summary_of or ""),
        summary_of=summary_of,
    )
