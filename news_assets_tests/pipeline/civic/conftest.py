"""A council with a meeting and two documents, and the room of its desk."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from news_assets.clients.factory import open_index
from news_assets.store.lake import Lake
from news_assets_tests.support.council import Council, served
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.pdfs import pdf_of

MEETING = date(2026, 3, 10)
REPORT = pdf_of(
    "The contract for the night buses costs four million dollars a year and runs until 2030."
)
MAP = pdf_of(
    "A map of all stops of the night buses, with the times of the first and the last bus."
)


@pytest.fixture
def council() -> Council:
    council = Council()
    council.files = {"/files/report.pdf": REPORT, "/files/map.pdf": MAP}
    council.meet(1, MEETING)
    return council


@pytest.fixture
def room(lake: Lake, council: Council, tmp_path: Path) -> Iterator[CouncilRoom]:
    with served(council) as base:
        yield CouncilRoom(
            lake,
            open_index("embedded", tmp_path / "search.sqlite", ""),
            f"{base}/v1/springfield",
            tmp_path,
        )


def attachment(room: CouncilRoom, name: str) -> tuple[str, str]:
    return name.title(), f"{room.url.partition('/v1')[0]}/files/{name}.pdf"
