"""Matters: the same file in several meetings of an agency, and one enrichment for all of them.

The enrichment of a matter is that of the text of its last appearance with a summary. Earlier appearances with other
texts and later ones without a summary take it, from the first with that text, so that one more meeting with the same
documents changes no row. Items that have only a title in common keep their own: monthly reports have one title.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from news_assets.pipeline.enrich.duplicates import moved
from news_assets.pipeline.enrich.labels import labelled, labels_in_force
from news_assets.pipeline.enrich.rows import enriched_row, identity_of, result_of
from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.ports.lake import Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, ThemeLabel
from news_assets.records.meetings import AgendaItem, Matter, StoredItem
from news_assets.sources.civic.reading.matter_numbers import canonical_file
from news_assets.text.fingerprint import normal_words

MIN_TITLE_CHARS: Final = 30  # shorter titles, such as "Budget update", are those of several matters
_BY_TITLE: Final = "title:"


def matter_key(item: AgendaItem) -> str:
    """Return the key of an item's matter within its agency: by public number, vendor's id or title; empty without."""
    if item.matter_file and item.matter_file.strip():
        return f"file:{canonical_file(item.matter_file)}"
    if item.matter_id:
        return f"id:{item.matter_id}"
    title = " ".join(normal_words(item.title))
    return f"{_BY_TITLE}{sha256(title)[:16]}" if len(title) >= MIN_TITLE_CHARS else ""


def _is_by_title(matter: str) -> bool:
    return matter.startswith(_BY_TITLE)


class _Text(NamedTuple):
    """The hash of a text that is enriched, and the state of its article."""

    text_hash: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class _Appearances:
    """The agenda items of one matter, by day, and the rows of their articles without the failed ones.

    `canonical` is the enrichment of the matter, None without any, and `taking` are the articles that take it.
    """

    items: Sequence[StoredItem]
    enriched: Mapping[str, EnrichedArticle]
    canonical: EnrichedArticle | None
    taking: Collection[str]


def _appearances(reader: Reader, desk: str, agency: str, keys: Collection[str]) -> list[_Appearances]:
    """Return the appearances of each of these matters that has any."""
    items: dict[str, list[StoredItem]] = {}
    for item in reader.read(StoredItem, desk=[desk], agency=[agency], matter=keys):
        items.setdefault(item.matter, []).append(item)
    ids = {item.article_id for of_matter in items.values() for item in of_matter if item.article_id}
    columns = ("article_id", "text_hash", "content_hash", "filter_reason")
    found = reader.frame(RawArticle, None, columns, article_id=ids, outcome=["ok"])
    texts = {
        article_id: _Text(text, state) for article_id, text, state, reason in found.iter_rows() if text and not reason
    }
    enriched = {row.article_id: row for row in reader.read(EnrichedArticle, article_id=ids, outcome=["ok"])}
    return [_of_matter(of_matter, texts, enriched) for of_matter in items.values()]


def _of_matter(
    items: Iterable[StoredItem], texts: Mapping[str, _Text], enriched: Mapping[str, EnrichedArticle]
) -> _Appearances:
    """Return the appearances of one matter; `texts` are by article id."""
    ordered = sorted(items, key=lambda item: (item.day or date.max, item.item_id))
    ids = [item.article_id for item in ordered if item.article_id]
    rows = {one: enriched[one] for one in ids if one in enriched}
    own = [one for one in ids if one in texts and one in rows and rows[one].summary and rows[one].reused_from is None]
    if not own:
        return _Appearances(ordered, rows, None, ())
    last, text = ids.index(own[-1]), texts[own[-1]].text_hash
    canonical = next(one for one in own if texts[one].text_hash == text)
    if _is_by_title(ordered[-1].matter):
        return _Appearances(ordered, rows, rows[canonical], ())
    earlier = {one for one in ids[:last] if one in texts and texts[one].text_hash != text}
    later = {one for one in ids[last + 1 :] if one in texts and one in rows}
    without = {one for one in later if rows[one].content_hash == texts[one].content_hash}
    return _Appearances(ordered, rows, rows[canonical], earlier | without)


def taken_rows(reader: Reader, articles: Iterable[RawArticle]) -> dict[str, EnrichedArticle]:
    """Return the rows of those of these articles that take the enrichment of their matter, by article id."""
    wanted = {article.article_id: article for article in articles if article.matter and not article.filter_reason}
    keys: dict[tuple[str, str], set[str]] = {}
    for article in wanted.values():
        keys.setdefault((article.desk, article.agency), set()).add(article.matter)
    found = [one for (desk, agency), matters in keys.items() for one in _appearances(reader, desk, agency, matters)]
    return {row.article_id: row for row in _taken(reader, found, wanted)}


def _taken(
    reader: Reader, matters: Iterable[_Appearances], articles: Mapping[str, RawArticle]
) -> Iterator[EnrichedArticle]:
    """Yield the rows of those of these articles that take the enrichment of their matter."""
    given = {
        article_id: one.canonical
        for one in matters
        for article_id in one.taking
        if one.canonical and article_id in articles
    }
    canonical_ids = {row.article_id for row in given.values()}
    texts = {row.article_id: row.text or "" for row in reader.read(RawArticle, article_id=canonical_ids)}
    for article_id, row in given.items():
        article = articles[article_id]
        yield enriched_row(
            article,
            row.input_hash,
            moved(result_of(row), texts[row.article_id], article.text or ""),
            identity_of(row),
            row.enriched_at,
            reused_from=row.article_id,
            local_reason=row.local_reason,
        )


def refresh_matters(rows: Rows, desk: str, agency: str, keys: Collection[str]) -> None:
    """Make the rows of these matters of an agency again, and those of the articles that take their enrichment.

    Matters without an item any more are deleted.
    """
    matters = _appearances(rows, desk, agency, keys) if keys else []
    if gone := set(keys) - {one.items[0].matter for one in matters}:
        rows.delete(Matter, desk=[desk], agency=[agency], matter=gone)
    if matters:
        rows.upsert([_matter_row(one) for one in matters])
        _share(rows, [one for one in matters if not _is_by_title(one.items[0].matter)])


def _share(rows: Rows, matters: Sequence[_Appearances]) -> None:
    """Store the enrichment of each matter with the articles that take it.

    The row of an article that took one and does not any more is deleted, and made again from its own text. Rows that
    are missing or of an earlier text are left to the stage.
    """
    stored = {key: row for one in matters for key, row in one.enriched.items()}
    taking = {key for one in matters for key in one.taking if key in stored}
    if lost := {key for key, row in stored.items() if row.reused_from} - taking:
        rows.delete(EnrichedArticle, article_id=lost)
    articles = {row.article_id: row for row in rows.read(RawArticle, article_id=taking)}
    current = {key: row for key, row in articles.items() if row.content_hash == stored[key].content_hash}
    labels = labels_in_force(rows.read(ThemeLabel, article_id=current))
    made = [labelled(row, labels.get(row.article_id)) for row in _taken(rows, matters, current)]
    if changed := [row for row in made if row != stored[row.article_id]]:
        rows.upsert(changed)


def refresh_matters_of(rows: Rows, articles: Iterable[RawArticle | EnrichedArticle]) -> None:
    """Make the matters of these articles again; articles of news have none."""
    keys: dict[tuple[str, str], set[str]] = {}
    columns = ("desk", "agency", "matter")
    found = rows.frame(StoredItem, None, columns, article_id=[article.article_id for article in articles])
    for desk, agency, matter in found.iter_rows():
        keys.setdefault((desk, agency), set()).add(matter)
    for (desk, agency), of_agency in keys.items():
        refresh_matters(rows, desk, agency, of_agency - {""})


def _matter_row(one: _Appearances) -> Matter:
    last = one.items[-1]
    days = [item.day for item in one.items if item.day]
    return Matter(
        desk=last.desk,
        agency=last.agency,
        matter=last.matter,
        title=last.title,
        matter_file=last.matter_file,
        matter_type=last.matter_type,
        item_ids=tuple(item.item_id for item in one.items),
        article_ids=tuple(item.article_id for item in one.items if item.article_id),
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
        attachment_hash=sha256("\n".join(sorted(last.document_ids))) if last.document_ids else "",
        summary=one.canonical.summary if one.canonical else None,
        summary_of=one.canonical.article_id if one.canonical else None,
    )
