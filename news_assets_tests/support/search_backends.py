"""Both search backends, configured by environment variables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from news_assets.clients.factory import OpenIndex, open_index
from news_assets.ports.search_index import SearchIndex
from news_assets_tests.support.small_desk import AGENCIES, DESK
from news_assets_tests.typesense_server import TestServer, running

ADMIN_KEY = "the-admin-key-of-this-test"
BACKENDS = ("embedded", "typesense")


@dataclass(frozen=True)
class Backend:
    """A configured search backend, and a home with the small desk's file."""

    search: str
    home: Path
    server: TestServer | None

    def open(self) -> OpenIndex:
        return open_index(self.search, self.home / "search.sqlite", ADMIN_KEY)


@contextmanager
def configured_backend(
    backend: str, home: Path, set_variable: Callable[[str, str], None]
) -> Iterator[Backend]:
    """Set the environment variables of this backend; for Typesense, run a simulated
    server.
    """
    set_variable("NEWS_HOME", str(home))
    set_variable("NEWS_DESKS", str(small_desk_file(home)))
    if backend == "embedded":
        yield Backend("embedded", home, None)
        return
    with running(admin_key=ADMIN_KEY) as server:
        address = server.url.replace("http://", "typesense://")
        set_variable("NEWS_SEARCH", address)
        set_variable("NEWS_TYPESENSE_API_KEY", ADMIN_KEY)
        yield Backend(address, home, server)


def small_desk_file(folder: Path) -> Path:
    """Write the desk file of the small desk."""
    agencies = {
        one.key: {
            "name": one.name,
            "sources": [{"kind": "feed", "url": f"https://example.org/{one.key}.xml"}],
        }
        for one in AGENCIES
    }
    desk = {
        "desk": DESK.key,
        "timezone": DESK.timezone,
        "language": DESK.language,
        "first_day": str(DESK.first_day),
        "agencies": agencies,
    }
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(desk, allow_unicode=True), encoding="utf-8")
    return path


def hashes(index: SearchIndex, desk: str) -> dict[str, str]:
    """Return the hash of each of the desk's documents in the index, by article."""
    return dict(index.stored(desk).select("article_id", "document_hash").iter_rows())
