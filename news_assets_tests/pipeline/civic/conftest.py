"""A council with a meeting and two documents, and the room of its desk."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from news_assets.clients.factory import open_index
from news_assets.store.lake import Lake
from news_assets_tests.support.council import Council, served
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.pdfs import pdf_of

MEETING = date(2026, 3, 10)
REPORT = pdf_of(
    "The contract for the night buses costs four million dollars a year and runs until 2030."
)
MAP = pdf_of(
    "A map of all stops of the night buses, with the times of the first and the last bus."
)
Prepare = Callable[[CouncilRoom, Council], None]
# of a room, besides its lake, its index and its files
_STATE = ("now", "desk", "enricher", "documents_read")


@dataclass(frozen=True)
class _Template:
    """A closed room in a folder, with its state and that of its council."""

    folder: Path
    room: dict[str, Any]
    council: dict[str, Any]


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Council, str]]:
    """The council that is served, and the origin of its server."""
    council = Council()
    with served(council) as base:
        yield council, base


@pytest.fixture
def council(site: tuple[Council, str]) -> Council:
    council, _ = site
    _begin(council)
    return council


def _begin(council: Council) -> None:
    files = {"/files/report.pdf": REPORT, "/files/map.pdf": MAP}
    vars(council).update(vars(Council(files=files)))
    council.meet(1, MEETING)


@pytest.fixture
def room(
    council: Council, site: tuple[Council, str], empty_lake: Path, tmp_path: Path
) -> Iterator[CouncilRoom]:
    copy_lake(empty_lake, tmp_path)
    with _opened(tmp_path, site[1]) as room:
        yield room


@contextmanager
def _opened(folder: Path, base: str) -> Iterator[CouncilRoom]:
    with Lake.open(folder / "catalog.sqlite", folder / "data") as lake:
        index = open_index("embedded", folder / "search.sqlite", "")
        yield CouncilRoom(lake, index, f"{base}/v1/springfield", folder)


@pytest.fixture(scope="module")
def templates() -> dict[Prepare, _Template]:
    return {}


@pytest.fixture
def prepared(
    council: Council,
    site: tuple[Council, str],
    templates: dict[Prepare, _Template],
    empty_lake: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Prepare], CouncilRoom]]:
    """Returns a room, and leaves the council, as a function made them: it runs once for
    all tests of a module.
    """
    _, base = site
    with ExitStack() as stack:

        def room_after(prepare: Prepare) -> CouncilRoom:
            if prepare not in templates:
                folder = tmp_path_factory.mktemp("room")
                copy_lake(empty_lake, folder)
                templates[prepare] = _template(council, base, folder, prepare)
            found = templates[prepare]
            copy_lake(found.folder, tmp_path)
            vars(council).update(deepcopy(found.council))
            room = stack.enter_context(_opened(tmp_path, base))
            vars(room).update(deepcopy(found.room))
            return room

        yield room_after


def _template(council: Council, base: str, folder: Path, prepare: Prepare) -> _Template:
    _begin(council)
    with _opened(folder, base) as room:
        prepare(room, council)
        room.index.close()
    state = {name: getattr(room, name) for name in _STATE}
    return _Template(folder, state, deepcopy(vars(council)))


def attachment(room: CouncilRoom, name: str) -> tuple[str, str]:
    return name.title(), f"{room.url.partition('/v1')[0]}/files/{name}.pdf"
