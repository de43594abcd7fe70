"""Finds exact copies among the articles of the lake, by URL and by text.

Duplicates are kept, not deleted: the later article carries `duplicate_of`. A false match is worse than a missed one,
so the lake ignores near-duplicates (`near_duplicates.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from news_assets.pipeline.stage_state.versions import content_hash
from news_assets.ports import Reader
from news_assets.records import RawArticle

MIN_TEXT_CHARS = 100  # shorter texts ("Leia mais", "Em atualização") repeat without being copies


@dataclass(frozen=True, slots=True)
class KnownArticle:
    """The columns of a stored article that duplicates are found by."""

    article_id: str
    url_hash: str
    text_hash: str | None
    duplicate_of: str | None = None


def marked(lake: Reader, desk: str, articles: Sequence[RawArticle]) -> list[RawArticle]:
    """Return the articles as they are stored: with `duplicate_of` and `content_hash` as of the lake's present rows."""
    articles = mark_duplicates(articles, _known_articles(lake, desk, articles))
    return [replace(article, content_hash=content_hash(article)) for article in articles]


def _known_articles(lake: Reader, desk: str, articles: Sequence[RawArticle]) -> list[KnownArticle]:
    """Return the desk's articles with these URLs or texts, of any agency and day."""
    columns = ("article_id", "url_hash", "text_hash", "duplicate_of")
    urls = {article.url_hash for article in articles}
    texts = {article.text_hash for article in articles if article.text_hash}
    found: dict[str, KnownArticle] = {}
    for lookup in ({"url_hash": urls}, {"text_hash": texts}):
        frame = lake.frame(RawArticle, None, columns, desk=[desk], outcome=["ok"], **lookup)
        found |= {row[0]: KnownArticle(*row) for row in frame.iter_rows()}
    return list(found.values())


def mark_duplicates(rows: Sequence[RawArticle], known: Sequence[KnownArticle]) -> list[RawArticle]:
    """Return the rows in their order with `duplicate_of` recomputed: the id of the first original, or None.

    Stored articles precede new ones; new ones are ordered by time of publication. Rows without a text are ignored, and
    of texts under MIN_TEXT_CHARS only the URL is compared.
    """
    stored = {article.article_id for article in known}
    in_batch = {row.article_id for row in rows}
    index = _Index()
    duplicate_of = {article.article_id: article.duplicate_of for article in known}
    for article in sorted(known, key=lambda article: article.duplicate_of is not None):
        if article.article_id not in in_batch:
            index.add(article.url_hash, article.text_hash, _root(article.article_id, duplicate_of))
    originals: dict[str, str | None] = {}
    for row in sorted(
        rows, key=lambda r: (r.article_id not in stored, r.published_at or r.first_seen_at, r.article_id)
    ):
        if row.outcome == "ok" and row.article_id not in originals:
            originals[row.article_id] = index.original_of(row)
    return [replace(row, duplicate_of=originals.get(row.article_id)) for row in rows]


class _Index:
    """The first article of each URL and of each text."""

    def __init__(self) -> None:
        self._by_url: dict[str, str] = {}
        self._by_text: dict[str, str] = {}

    def add(self, url_hash: str, text_hash: str | None, article_id: str) -> None:
        self._by_url.setdefault(url_hash, article_id)
        if text_hash:
            self._by_text.setdefault(text_hash, article_id)

    def original_of(self, row: RawArticle) -> str | None:
        """Return the id of the row's original and add the row; None where the row is an original itself."""
        text_hash = row.text_hash if row.text_chars >= MIN_TEXT_CHARS else None
        original = self._by_url.get(row.url_hash) or (self._by_text.get(text_hash) if text_hash else None)
        original = None if original == row.article_id else original
        self.add(row.url_hash, text_hash, original or row.article_id)
        return original


def _root(article_id: str, duplicate_of: Mapping[str, str | None]) -> str:
    """Follow `duplicate_of` to the original; stop at a cycle."""
    seen = {article_id}
    while (original := duplicate_of.get(article_id)) and original not in seen:
        seen.add(original)
        article_id = original
    return article_id
