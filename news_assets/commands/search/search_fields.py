"""The command `search-fields`: show or add fields that an index of an older version
lacks.

Stored documents get the new fields when they are sent again: as they change, or all of
them by `rebuild search`.
"""

from collections.abc import Iterator
from contextlib import closing

from news_assets.clients.search.backends import EMBEDDED, connect_typesense, open_index
from news_assets.settings import Settings
from news_assets.terminal import Terminal

_NO_CHANGES = "the index has every field that this program writes"


def add_fields(*, dry_run: bool) -> None:
    """Add the missing fields, or show where fields differ.

    Raises:
        NewsAssetsError: The index is unavailable, or a field needs a rebuild; nothing
            was changed.
    """
    for line in _lines(Settings.read(), dry_run=dry_run):
        Terminal().print_line(line)


def _lines(settings: Settings, *, dry_run: bool) -> Iterator[str]:
    if settings.search == EMBEDDED:  # opening it checks its version
        with open_index(*settings.search_place):
            yield _NO_CHANGES
        return
    with closing(connect_typesense(*settings.search_place)) as index:
        changes = index.schema_changes() if dry_run else index.apply_schema_changes()
    yield from (
        str(change) if dry_run else f"{change.field}: added {change.expected}"
        for change in changes
    )
    if not changes:
        yield _NO_CHANGES
