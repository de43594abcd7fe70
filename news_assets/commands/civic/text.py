"""The command `text`: the whole text of a document, an article or a meeting, in a file."""

from pathlib import Path

from news_assets.commands.lake import open_lake
from news_assets.errors import NewsAssetsError
from news_assets.records.articles import RawArticle
from news_assets.records.documents import StoredDocument
from news_assets.store.lake import Lake
from news_assets.store.queries.civic.meetings import (
    MeetingDetails,
    meeting_details,
    with_text,
)
from news_assets.terminal import write_document

_SHORTEST_ID = 8  # of a document's id, which is a hash


def text(text_id: str, output: Path | None) -> None:
    """Write the text with this id; an existing file is replaced at once or not at all.

    Raises:
        NewsAssetsError: Nothing has this id, it has no text, or the file cannot be
            written.
    """
    with open_lake() as lake:
        found = _text_of(lake, text_id)
    if not found.strip():
        raise NewsAssetsError(
            f"`{text_id}` has no text; `news-assets meeting ID` shows the outcome of documents"
        )
    write_document((found.rstrip("\n") + "\n").encode(), output)


def _text_of(lake: Lake, text_id: str) -> str:
    if read := with_text(lake, _documents(lake, text_id)):
        return read[0].text or ""
    if articles := lake.read(RawArticle, article_id=[text_id]):
        return articles[0].text or ""
    if (details := meeting_details(lake, text_id)) is not None:
        return _of_meeting(details)
    raise NewsAssetsError(
        f"no document, article or meeting `{text_id}`; `news-assets meeting ID` shows the documents"
        " of a meeting"
    )


def _documents(lake: Lake, text_id: str) -> list[StoredDocument]:
    """Return the document whose id begins so."""
    if len(text_id) < _SHORTEST_ID:
        return []
    found = lake.query(
        "SELECT document_id FROM documents WHERE starts_with(document_id, ?) LIMIT 2",
        [text_id],
    )
    if found.height > 1:
        raise NewsAssetsError(
            f"several documents begin with `{text_id}`; write more of the id"
        )
    return (
        lake.read(StoredDocument, document_id=found["document_id"].to_list())
        if found.height
        else []
    )


def _of_meeting(details: MeetingDetails) -> str:
    """Return the agenda with the texts of its documents, each document once, as
    Markdown.
    """
    parts, written = [f"# {details.meeting.title or details.meeting.body}"], set[str]()
    for one in details.items:
        parts.append(f"## {one.item.number} {one.item.title}".replace("##  ", "## "))
        for document in one.documents:
            key = document.copy_of or document.document_id
            if document.text and key not in written:
                written.add(key)
                parts += [f"### {document.name}", document.text]
    return "\n\n".join(parts)
