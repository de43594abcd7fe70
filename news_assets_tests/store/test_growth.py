"""In a lake of many months, an operation on some days opens the files of these."""

import itertools
from pathlib import Path

import pytest

from news_assets_tests.bench.large_lake import (
    Place,
    Size,
    Writes,
    fill,
    pages,
    reads,
)
from news_assets_tests.support.opened_files import opened_months

SIZE = Size(articles=720, days=360)
# near the days of the operation: an article that moved, or was first seen later
NEAR_MONTHS = 5
OF_ALL_DAYS = {
    "backlog of all days",
    "list page, of an agency",  # which has fewer articles than a page
    "maintenance after these",
    "maintenance, nothing to do",
}


@pytest.mark.slow  # fills a lake of 13 months, which takes 8 s
def test_no_operation_on_some_days_opens_the_files_of_all_months(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, str(tmp_path / "catalog.sqlite"), str(tmp_path / "data"))
    fill(place, SIZE)
    found: dict[str, int] = {}
    with place.open() as lake:
        operations = itertools.chain(
            reads(lake, SIZE),
            pages(lake, tmp_path, SIZE),
            Writes(lake, SIZE).operations(),
        )
        for one in operations:
            one.prepare()
            if one.name not in OF_ALL_DAYS:
                opened = opened_months(lake, one.work)
                found[one.name] = max(map(len, opened.values()))

    assert {name for name, months in found.items() if months > NEAR_MONTHS} == set()
    assert {"coverage", "store a new article", "place another"} <= found.keys()
