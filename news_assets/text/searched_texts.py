"""The texts of a document that are searched by words."""

from news_assets.ports.search_index import SearchDocument

MAX_TEXT_WORDS = 20_000  # a longer text is found by its first 20,000 words


def secondary_text(document: SearchDocument) -> str:
    """Return what is searched besides title and text: summary, section, tags and
    keywords.
    """
    return f"{document.summary or ''}\n{labels(document)}"


def labels(document: SearchDocument) -> str:
    """Return section, tags and keywords, one a line."""
    return "\n".join((document.section or "", *document.tags, *document.keywords))
