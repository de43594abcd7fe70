"""The saved queries as the pages list them: those of the file, then those that
operators made on a page.
"""

from dataclasses import dataclass
from typing import Final

from news_assets.pipeline.alerts.query_file import SavedQuery, problem_of, query_of
from news_assets.records.alerts import StoredQuery
from news_assets.web.archive import Archive
from news_assets.web.parameters import SearchAddress

# of a saved query and of a search
FILTERS: Final = SavedQuery.model_fields.keys() & SearchAddress.model_fields.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedQuery:
    """A saved query. `row` is None for one of the file; `problem` says why a stored one
    is not followed as it is.
    """

    query: SavedQuery
    row: StoredQuery | None = None
    problem: str = ""

    @property
    def address(self) -> SearchAddress:
        """The search for what it finds, newest first."""
        filters = self.query.model_dump(include=FILTERS)
        return SearchAddress(
            text=self.query.query, mode="keyword", sort="date", **filters
        )


def listed_queries(archive: Archive) -> list[_ListedQuery]:
    """Return all saved queries. Raises LakeError."""
    of_file = [_ListedQuery(query=query) for query in archive.rules.queries]
    stored = [(row, query_of(row)) for row in archive.lake.read(StoredQuery)]
    return of_file + [
        _ListedQuery(query=query, row=row, problem=problem_of(query, archive.rules))
        for row, query in stored
    ]
