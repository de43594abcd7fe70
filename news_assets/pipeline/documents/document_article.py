"""Makes the article of a page that is a document: a PDF, or an Office document."""

import re

from news_assets.pipeline.documents.read import read_document
from news_assets.records.reading import ExtractedArticle, Page, ReadDocument
from news_assets.text.language import language_of
from news_assets.text.limits import clean_text, line, most
from news_assets.text.prose import strip_emphasis
from news_assets.text.urls import served_url

DOCUMENT_TYPE = "DigitalDocument"  # schema.org
# Titles that programs write by themselves: names of files, of programs and of
# templates.
_NO_TITLE = re.compile(
    r"(?:microsoft|powerpoint|adobe|untitled|sem"
    r" t[ií]tulo|slide|document|documento|apresenta[çc][ãa]o)\b.*"
    r"|.*\.(?:docx?|odt|pdf|rtf|xlsx?|pptx?|indd|p65|cdr|qxd)|\S*",
    re.IGNORECASE,
)
_MIN_TITLE_LETTERS = 3


def document_article(
    page: Page, timezone: str, language: str | None = None
) -> ExtractedArticle:
    """Return the article of a page that is a document; see `PageReader`.

    A document states no time of publication: what its file states is when it was
    typeset.
    """
    found = page.document or read_document(page.body, page.content_type)
    article = ExtractedArticle(
        url=page.url,
        canonical_url=served_url(page.final_url),
        outcome=found.outcome,
        reason=line(_reason(found), "title"),
        article_type=DOCUMENT_TYPE,
    )
    text = clean_text(found.text[: most("text")]) if found.outcome == "ok" else ""
    if not text:
        return article
    return ExtractedArticle(
        url=article.url,
        canonical_url=article.canonical_url,
        outcome="ok",
        reason=article.reason,
        article_type=DOCUMENT_TYPE,
        title=_stated_title(found) or _first_line(text),
        language=language_of(text, language),
        text=text,
    )


def _reason(found: ReadDocument) -> str | None:
    if found.reason and found.kind != "unknown":
        return f"{found.kind}: {found.reason}"
    return found.reason


def _stated_title(found: ReadDocument) -> str | None:
    title = line(found.title, "title")
    return title if title and not _NO_TITLE.fullmatch(title) else None


def _first_line(text: str) -> str | None:
    """Return the first line of a text that has a few letters, without its markup."""
    for one in text[:2000].splitlines():
        bare = strip_emphasis(one).lstrip("#->| ").rstrip("| ")
        if sum(map(str.isalpha, bare)) >= _MIN_TITLE_LETTERS:
            return line(bare, "title")
    return None
