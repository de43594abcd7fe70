"""The command `search-key`: create a key that can search one desk or all until it
expires.

The key is printed once. The key of the server (NEWS_TYPESENSE_API_KEY) is never
printed.
"""

from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta

from news_assets.clients.search.backends import connect_typesense
from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names
from news_assets.errors import NewsAssetsError
from news_assets.settings import Settings
from news_assets.terminal import Terminal

DEFAULT_DAYS = 30


def make_key(
    desk: str | None,
    days: int | None,
    expires: date | None,
    description: str,
    *,
    as_json: bool,
) -> None:
    """Create the key on the server and print it. Raises NewsAssetsError on an unknown
    desk or a past expiry.
    """
    settings = Settings.read()
    expires_at = _expiry(datetime.now(UTC), days, expires)
    with closing(connect_typesense(*settings.search_place)) as index:
        check_names(desk, None)
        key = index.search_key(desk, expires_at, description)
    if as_json:
        write_line(
            {
                "key": key,
                "desk": desk,
                "expires_at": expires_at,
                "description": description,
            }
        )
    else:
        Terminal().print_line(key)


def _expiry(now: datetime, days: int | None, expires: date | None) -> datetime:
    """Return the end of the `expires` day in UTC, else `days` from now."""
    if days is not None and expires is not None:
        raise NewsAssetsError("give --days or --expires, not both")
    if expires is None:
        return now + timedelta(days=days or DEFAULT_DAYS)
    if expires < now.date():
        raise NewsAssetsError(f"--expires {expires} is in the past")
    return datetime.combine(expires + timedelta(days=1), time(), UTC)
