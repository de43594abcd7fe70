"""The versions of an article: its text now and the earlier ones, each with an address to cite that
leads to the same text for as long as the archive keeps it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from news_assets.ports.services import Reader
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.web.parameters import ArticleAddress

_HASH_CHARS: Final = 16  # of the hash, in addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A text of an article; `text_hash` is the SHA-256 of its UTF-8 bytes, in hex.

    `replaced_at` is the time of the next text; None for the text of now.
    """

    article_id: str
    rev_n: int
    title: str | None
    text: str
    text_hash: str
    fetched_at: datetime
    replaced_at: datetime | None

    @property
    def query(self) -> str:
        """The parameters of its address."""
        return urlencode({"rev": self.rev_n, "hash": self.text_hash[:_HASH_CHARS]})


def version_query(row: RawArticle | ArticleRevision) -> str:
    """Return the parameters of the address of a row's text."""
    return _version(row, row.text or "", None).query


def versions_of(
    article: RawArticle, revisions: Iterable[ArticleRevision]
) -> Iterator[Version]:
    """Yield the texts of an article, the newest first."""
    if article.text:
        yield _version(article, article.text, None)
    newest_first = sorted(revisions, key=lambda row: row.replaced_at, reverse=True)
    for row in newest_first:
        if row.text:
            yield _version(row, row.text, row.replaced_at)


def stored_version(
    lake: Reader, article_id: str, address: ArticleAddress
) -> tuple[RawArticle, Version] | None:
    """Return an article and the version of it that an address cites, without number and
    hash the text of now; None if there is none such.

    Several texts have one number where another method read the same page: without a
    hash, it is the newest of them.
    """
    articles = lake.read(RawArticle, article_id=[article_id])
    if not articles:
        return None
    [article] = articles
    revisions = lake.read(ArticleRevision, article_id=[article_id])
    for version in versions_of(article, revisions):
        if _is_cited(version, address):
            return article, version
    return None


def _is_cited(version: Version, address: ArticleAddress) -> bool:
    if address.rev is None and not address.hash:
        return version.replaced_at is None
    is_same = version.text_hash.startswith(address.hash.lower())
    return is_same and address.rev in (None, version.rev_n)


def _version(
    row: RawArticle | ArticleRevision, text: str, replaced_at: datetime | None
) -> Version:
    return Version(
        article_id=row.article_id,
        rev_n=row.rev_n,
        title=row.title,
        text=text,
        text_hash=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        fetched_at=row.fetched_at,
        replaced_at=replaced_at,
    )
