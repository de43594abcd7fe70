"""The texts that publishers replaced, as a list and as entries of a feed."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from news_assets.store.queries.edits import Edit, newest_edits
from news_assets.web.answers import Part, part_of
from news_assets.web.archive import Archive, revision_and_successor, revision_number
from news_assets.web.forms import Entry
from news_assets.web.markup import word_diff
from news_assets.web.parameters import EditParameters, cursor_of

_MAX_COMPARED_CHARS: Final = 20_000  # of each text
SILENT: Final = "The publisher changed the text without saying so."
STATED: Final = "The publisher changed the text, and its page says when."


def listed_edits(archive: Archive, parameters: EditParameters) -> Part[Edit]:
    """Return a part of the edits of the last days, newest first. Raises
    ParameterError.
    """
    now, limit = datetime.now(UTC), parameters.limit
    after_at, after_id = parameters.position(str, str) or (None, None)
    found = newest_edits(
        archive.lake,
        first=now - timedelta(days=parameters.days),
        silent_only=parameters.kind == "silent",
        desk=parameters.desk,
        agency=parameters.agency,
        after=(datetime.fromisoformat(after_at), after_id) if after_at else None,
        limit=limit + 1,
    )
    return part_of(
        found, limit, lambda one: cursor_of(one.replaced_at.isoformat(), one.article_id)
    )


def page_of_edit(archive: Archive, edit: Edit, base: str) -> str:
    """Return the address of the page with the words that an edit changed."""
    number = revision_number(edit.replaced_at)
    return f"{base}/articles/{edit.article_id}/revisions/{number}"


def edit_entries(archive: Archive, edits: Sequence[Edit], base: str) -> list[Entry]:
    """Return edits as entries of a feed, with the words that changed."""
    entries = []
    for edit in edits:
        page = page_of_edit(archive, edit, base)
        entry = Entry(
            key=f"edits/{edit.article_id}/{revision_number(edit.replaced_at)}",
            title=edit.title or edit.url,
            url=page,
            page=f"{base}/articles/{edit.article_id}",
            published=edit.replaced_at,
            updated=edit.replaced_at,
            summary=SILENT if edit.is_silent else STATED,
            authors=[archive.agency_name(edit.agency)],
            language=edit.language,
            content=_changed_words(archive, edit),
        )
        entries.append(entry)
    return entries


def _changed_words(archive: Archive, edit: Edit) -> str:
    """Return both texts as one piece of HTML; empty if one is not kept any more."""
    number = revision_number(edit.replaced_at)
    found = revision_and_successor(archive.lake, edit.article_id, number)
    if found is None:
        return ""
    before, after = [(one.text or "")[:_MAX_COMPARED_CHARS] for one in found]
    return f'<div style="white-space: pre-wrap">{word_diff(before, after)}</div>'
