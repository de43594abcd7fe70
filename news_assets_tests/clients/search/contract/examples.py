"""Documents for the tests of the contract, and what a search finds."""

from dataclasses import replace
from datetime import date

from news_assets.ports.search_index import (
    SearchAnswer,
    SearchDocument,
    SearchIndex,
    SearchQuery,
)


def document(
    number: int, title: str = "", text: str = "texto", **changes: object
) -> SearchDocument:
    valid = SearchDocument(
        article_id=f"mec-{number}",
        desk="govbr",
        agency="mec",
        agency_name="Ministério da Educação",
        day=date(2026, 1, number % 28 + 1),
        url=f"https://example.org/{number}",
        title=title,
        text=text,
        language="pt-BR",
        published_ts=1_767_225_600 + number,
        document_hash=f"hash-{number}",
    )
    return replace(valid, **changes)  # type: ignore[arg-type]


def ids(answer: SearchAnswer) -> list[str]:
    return [hit.article_id for hit in answer.hits]


def found(index: SearchIndex, text: str, **filters: object) -> list[str]:
    return ids(index.search(SearchQuery(text=text, mode="keyword", **filters)))  # type: ignore[arg-type]
