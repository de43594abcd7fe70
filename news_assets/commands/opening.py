"""Open the lake that the settings name, and check the names of desks and agencies.

The lake is imported when it is opened: with DuckDB and the records it takes 0.1 s.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from news_assets.errors import NewsAssetsError
from news_assets.records.desks import USUAL_CAPS, Caps, Desk
from news_assets.settings import Settings

if TYPE_CHECKING:
    from news_assets.store.address import Address
    from news_assets.store.lake import Lake


def lake_address() -> "Address":
    """Return the address of the lake that the settings name."""
    from news_assets.store.address import Address

    settings = Settings.read()
    return Address(settings.catalog, settings.data, str(settings.backups_dir))


def open_lake(threads: int = 1) -> "Lake":
    """Return the lake that the settings name.

    For a few reads, a second thread costs more than it gives.
    """
    from news_assets.store.lake import Lake

    address = lake_address()
    return Lake.open(
        address.catalog, address.data, backups=address.backups, threads=threads
    )


def desks_of_files(key: str | None) -> list[Desk]:
    """Return the desks of the desk files, or the one with this key.

    Raises:
        NewsAssetsError: No desk file has the key.
    """
    chosen = desks_with_key(_desks(Settings.read().caps), key)
    if not chosen:
        raise NewsAssetsError(
            f"desk `{key}` is in the lake only; name its desk file in NEWS_DESKS"
        )
    return chosen


def desks_with_key(desks: Iterable[Desk], key: str | None) -> list[Desk]:
    """Return the desk with this key, if there is one; without a key all of them."""
    return [desk for desk in desks if key in (None, desk.key)]


def desk_named(key: str) -> Desk | None:
    """Return the desk of this key in the desk files; None for one that is in the lake
    only.
    """
    for desk in _desks():
        if desk.key == key:
            return desk
    return None


def agency_names() -> Callable[[str], str]:
    """Return what gives the name of an agency in the desk files, else its key."""
    names: dict[str, str] = {}
    for desk in _desks():
        names |= {agency.key: agency.name for agency in desk.agencies}
    return lambda key: names.get(key, key)


def check_names(desk: str | None, agency: str | None) -> None:
    """Check that the desk and the agency are in the desk files or in the lake.

    Raises:
        NewsAssetsError: One of them is not; the message lists those that exist.
    """
    if desk is None and agency is None:
        return
    known = _names_of_files()
    if not _are_known(known, desk, agency):
        with open_lake() as lake:
            rows = lake.query("SELECT DISTINCT desk, agency FROM entries")
        known |= set(rows.iter_rows())
    if not _are_known(known, desk, None):
        keys = sorted(dict(known))
        raise NewsAssetsError(f"no desk `{desk}`; there are: {', '.join(keys)}")
    if not _are_known(known, desk, agency):
        agencies = sorted(_agencies_of(known, desk))
        raise NewsAssetsError(f"no agency `{agency}`; there are: {', '.join(agencies)}")


def _names_of_files() -> set[tuple[str, str]]:
    """Return the keys of desk and agency of every agency in the desk files."""
    found: set[tuple[str, str]] = set()
    for desk in _desks():
        for agency in desk.agencies:
            found.add((desk.key, agency.key))
    return found


def _desks(caps: Caps = USUAL_CAPS) -> tuple[Desk, ...]:
    """Return the desks of the desk files.

    The kinds of source are imported for it, which takes 0.2 s.
    """
    from news_assets.desks.desk_files import load_desks
    from news_assets.sources.source_kinds import ALL_KINDS

    return load_desks(Settings.read().desks, ALL_KINDS, caps)


def _are_known(
    known: Collection[tuple[str, str]], desk: str | None, agency: str | None
) -> bool:
    agencies = _agencies_of(known, desk)
    return bool(agencies) and (agency is None or agency in agencies)


def _agencies_of(known: Collection[tuple[str, str]], desk: str | None) -> set[str]:
    """Return the agencies of a desk; without one, those of all."""
    return {agency for key, agency in known if desk in (None, key)}
