"""What actions need beyond the archive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final


def _nothing(article_ids: Sequence[str]) -> None:
    """Leave the documents to the next run of `search_index`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The operators' token, empty for read-only pages, and the addresses of Dagster's
    web server, empty if unknown.

    `dagster_url` is its address for this process, `dagster_public_url` that in browsers
    if it is another one. `delete_documents` removes articles from the search index.
    """

    token: str = ""
    dagster_url: str = ""
    dagster_public_url: str = ""
    delete_documents: Callable[[Sequence[str]], None] = _nothing

    @property
    def links_url(self) -> str:
        """The address of Dagster's web server that links begin with, without a slash at
        its end.
        """
        return (self.dagster_public_url or self.dagster_url).rstrip("/")


READ_ONLY: Final = Access()
