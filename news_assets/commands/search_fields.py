"""The command `search-fields`: what a newer program writes and the search index has no field for, shown or added.

Only the index's fields change. Documents get what is new in them when they are sent again: as they change, or all of
them by `rebuild search`.
"""

from collections.abc import Iterator
from contextlib import closing

from rich.console import Console

from news_assets.clients.search.backends import SQLITE, open_index, unopened_typesense
from news_assets.settings import Settings

_NOTHING = "the index has every field that this program writes"


def add_fields(*, dry_run: bool) -> None:
    """Add the fields that are missing, or only show where fields differ.

    Raises:
        NewsAssetsError: The index is away, or a field differs in a way that needs a rebuild; nothing was changed then.
    """
    for line in _said(Settings.read(), dry_run=dry_run):
        Console().print(line, markup=False, highlight=False, soft_wrap=True)


def _said(settings: Settings, *, dry_run: bool) -> Iterator[str]:
    if settings.search == SQLITE:  # a file of another version is refused, and rebuilt
        with open_index(*settings.search_place):
            yield _NOTHING
        return
    with closing(unopened_typesense(*settings.search_place)) as index:
        changes = index.schema_changes() if dry_run else index.apply_schema_changes()
    yield from (str(change) if dry_run else f"{change.field}: {change.wanted} was added" for change in changes)
    if not changes:
        yield _NOTHING
