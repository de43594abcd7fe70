"""What actions need beyond the archive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final


def _nothing(article_ids: Sequence[str]) -> None:
    """Leave the documents to the next run of `search_index`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The operators' token, empty for read-only pages; the address of Dagster's web server, empty if unknown.

    `delete_documents` removes articles from the search index.
    """

    token: str = ""
    dagster_url: str = ""
    delete_documents: Callable[[Sequence[str]], None] = _nothing


READ_ONLY: Final = Access()
