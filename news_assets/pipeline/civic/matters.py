"""Matters: the same file in several meetings of an agency.

Each appearance keeps the summary of its own text, so that the past reads as it was; the
matter has the newest. An equal text is enriched once, because results are cached by
their input.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.ports.services import Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.meetings import AgendaItem, Matter, StoredItem
from news_assets.sources.civic.reading.numbering import canonical_file
from news_assets.text.fingerprint import normal_words

# shorter titles, such as "Budget update", are those of several matters
MIN_TITLE_CHARS: Final = 30
_BY_TITLE: Final = "title:"


def matter_key(item: AgendaItem) -> str:
    """Return the key of an item's matter within its agency: by public number, vendor's
    id or title; empty without.
    """
    if item.matter_file and item.matter_file.strip():
        return f"file:{canonical_file(item.matter_file)}"
    if item.matter_id:
        return f"id:{item.matter_id}"
    title = " ".join(normal_words(item.title))
    return f"{_BY_TITLE}{sha256(title)[:16]}" if len(title) >= MIN_TITLE_CHARS else ""


@dataclass(frozen=True, slots=True)
class _Appearances:
    """The agenda items of one matter, by day, and the newest of their articles that has
    a summary, if any.
    """

    items: Sequence[StoredItem]
    summarised: EnrichedArticle | None


def _appearances(
    reader: Reader, desk: str, agency: str, keys: Collection[str]
) -> list[_Appearances]:
    """Return the appearances of each of these matters that has any."""
    items: dict[str, list[StoredItem]] = {}
    articles = set[str]()
    for item in reader.read(StoredItem, desk=[desk], agency=[agency], matter=keys):
        items.setdefault(item.matter, []).append(item)
        if item.article_id:
            articles.add(item.article_id)
    found = reader.frame(
        RawArticle,
        None,
        ("article_id", "filter_reason"),
        article_id=articles,
        outcome=["ok"],
    )
    shown = {article_id for article_id, reason in found.iter_rows() if not reason}
    enriched: dict[str, EnrichedArticle] = {}
    for row in reader.read(EnrichedArticle, article_id=shown, outcome=["ok"]):
        if row.summary:
            enriched[row.article_id] = row
    return [_of_matter(of_matter, enriched) for of_matter in items.values()]


def _of_matter(
    items: Iterable[StoredItem], enriched: Mapping[str, EnrichedArticle]
) -> _Appearances:
    ordered = sorted(items, key=lambda item: (item.day or date.max, item.item_id))
    newest = None
    for item in ordered:
        newest = enriched.get(item.article_id or "", newest)
    return _Appearances(ordered, newest)


def refresh_matters(rows: Rows, desk: str, agency: str, keys: Collection[str]) -> None:
    """Make the rows of these matters of an agency again; those without an item any more
    are deleted.
    """
    matters = _appearances(rows, desk, agency, keys) if keys else []
    if gone := set(keys) - {one.items[0].matter for one in matters}:
        rows.delete(Matter, desk=[desk], agency=[agency], matter=gone)
    if matters:
        rows.upsert([_matter_row(one) for one in matters])


def refresh_matters_of(
    rows: Rows, articles: Iterable[RawArticle | EnrichedArticle]
) -> None:
    """Make the rows of the matters of these articles again; articles of news have none."""
    keys: dict[tuple[str, str], set[str]] = {}
    columns = ("desk", "agency", "matter")
    found = rows.frame(
        StoredItem,
        None,
        columns,
        article_id=[article.article_id for article in articles],
    )
    for desk, agency, matter in found.iter_rows():
        keys.setdefault((desk, agency), set()).add(matter)
    for (desk, agency), of_agency in keys.items():
        refresh_matters(rows, desk, agency, of_agency - {""})


def _matter_row(one: _Appearances) -> Matter:
    last = one.items[-1]
    days = [item.day for item in one.items if item.day]
    documents = "\n".join(sorted(last.document_ids))
    statuses = [item.matter_status for item in one.items if item.matter_status]
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
        attachment_hash=sha256(documents) if documents else "",
        summary=one.summarised.summary if one.summarised else None,
        summary_of=one.summarised.article_id if one.summarised else None,
        status=statuses[-1] if statuses else "",
    )


# --- the step of a matter's way that an appearance is ---------------------------------

Step = Literal["introduced", "referred", "heard", "voted", "scheduled", "cancelled"]

# The first that fits: "referred to committee; motion carried" is no vote on the matter
# itself.
_BY_WORDS: Final[tuple[tuple[Step, re.Pattern[str]], ...]] = (
    (
        "referred",
        re.compile(
            r"\b(?:re-?)?referr(?:ed|al)\b|\bassigned\b|\bsent to\b", re.IGNORECASE
        ),
    ),
    (
        "introduced",
        re.compile(r"\bintroduc|\bfirst reading\b|\b1st reading\b", re.IGNORECASE),
    ),
    (
        "heard",
        re.compile(
            r"\b(?:heard|held|continued|tabled|deferred|postponed|discussed|laid over|received and"
            r" filed)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "voted",
        re.compile(
            r"\b(?:adopt|approv|pass|enact|fail|den(?:y|ied)|defeat|reject|carried|award|confirm"
            r"|vote)",
            re.IGNORECASE,
        ),
    ),
)
_HEARING: Final = re.compile(r"\bhearing", re.IGNORECASE)


def step_of(item: StoredItem, meeting_status: str, *, is_first: bool) -> Step:
    """Return the step that an appearance is; one without a stated decision is a first
    or a further reading.
    """
    if meeting_status == "cancelled":
        return "cancelled"
    if meeting_status != "passed" and not item.action and not item.decision:
        return "scheduled"
    decided = f"{item.action} {item.decision}"
    for step, words in _BY_WORDS:
        if words.search(decided):
            return step
    if item.result or item.votes_json != "[]":
        return "voted"
    if _HEARING.search(f"{item.section} {item.title}"):
        return "heard"
    return "introduced" if is_first else "heard"
