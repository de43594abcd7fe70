"""The earlier texts of an article, each at an address of its own."""

from datetime import UTC, datetime, timedelta

from news_assets.ports.services import Reader
from news_assets.records.articles import ArticleRevision, RawArticle

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def revision_number(revision: ArticleRevision) -> int:
    """Return what names a revision in addresses: when it was replaced, in microseconds
    since 1970.
    """
    return (revision.replaced_at - _EPOCH) // timedelta(microseconds=1)


def revision_and_successor(
    lake: Reader, article_id: str, number: int
) -> tuple[ArticleRevision, ArticleRevision | RawArticle] | None:
    """Return a revision and the text that replaced it; None if it is not stored."""
    articles = lake.read(RawArticle, article_id=[article_id])
    found = sorted(
        lake.read(ArticleRevision, article_id=[article_id]),
        key=lambda one: one.replaced_at,
    )
    texts: list[ArticleRevision | RawArticle] = [*found, *articles]
    numbers = [revision_number(one) for one in found]
    if number not in numbers or not articles:
        return None
    place = numbers.index(number)
    return found[place], texts[place + 1]
