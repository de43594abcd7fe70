"""The commands `search-key` and `search-fields`, about the index on a Typesense server.

A key that is made is printed once. The key of the server (NEWS_TYPESENSE_API_KEY) is
never printed. Stored documents get added fields when they are sent again: as they
change, or all of them by `rebuild search`.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

import typer

from news_assets.clients.factory import EMBEDDED, connect_typesense, open_index
from news_assets.commands.jsonlines import write_line
from news_assets.commands.opening import check_names
from news_assets.commands.options import Json, day_of
from news_assets.errors import NewsAssetsError
from news_assets.settings import Settings
from news_assets.terminal import Terminal

_DEFAULT_DAYS = 30
_MAX_DAYS = 3650
_NO_CHANGES = "the index has every field that this program writes"


def make_search_key(
    desk: Annotated[
        str | None, typer.Option(help="the only desk that can be searched")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_DAYS, help="valid for so many days"),
    ] = None,
    expires: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="last valid day, UTC")
    ] = None,
    description: Annotated[
        str, typer.Option(help="purpose, as listed by the server")
    ] = "news-assets search-key",
    as_json: Json = False,
) -> None:
    """Create the key on the server and print it.

    Raises:
        NewsAssetsError: An unknown desk or a past expiry.
    """
    settings = Settings.read()
    expires_at = _expiry(datetime.now(UTC), days, day_of(expires))
    with closing(connect_typesense(*settings.search_place)) as index:
        check_names(desk, None)
        key = index.search_key(desk, expires_at, description)
    if not as_json:
        Terminal().print_line(key)
        return
    about = {"desk": desk, "expires_at": expires_at, "description": description}
    write_line({"key": key, **about})


def _expiry(now: datetime, days: int | None, expires: date | None) -> datetime:
    """Return the end of the `expires` day in UTC, else `days` from now."""
    if days is not None and expires is not None:
        raise NewsAssetsError("give --days or --expires, not both")
    if expires is None:
        return now + timedelta(days=days or _DEFAULT_DAYS)
    if expires < now.date():
        raise NewsAssetsError(f"--expires {expires} is in the past")
    return datetime.combine(expires + timedelta(days=1), time(), UTC)


def add_search_fields(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show where fields differ, and do nothing")
    ] = False,
) -> None:
    """Add the missing fields, or show where fields differ.

    Raises:
        NewsAssetsError: The index is unavailable, or a field needs a rebuild; nothing
            was changed.
    """
    for line in _field_lines(Settings.read(), dry_run=dry_run):
        Terminal().print_line(line)


def _field_lines(settings: Settings, *, dry_run: bool) -> Iterator[str]:
    if settings.search == EMBEDDED:  # opening it checks its version
        with open_index(*settings.search_place):
            yield _NO_CHANGES
        return
    with closing(connect_typesense(*settings.search_place)) as index:
        changes = index.schema_changes() if dry_run else index.apply_schema_changes()
    for change in changes:
        yield str(change) if dry_run else f"{change.field}: added {change.expected}"
    if not changes:
        yield _NO_CHANGES
