"""Tables of lists: every row of the list is in them, and a table that is cut says so."""

import csv
import io
from collections.abc import Iterator

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.taxonomy import load_taxonomy
from news_assets.web import archive as archive_module
from news_assets.web import spreadsheets
from news_assets.web.archive import Archive
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.text.workbooks import sheets_of
from news_assets_tests.web.conftest import served

ARTICLES = 23


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a site with more articles than a page shows; the last is a copy."""
    folder = tmp_path_factory.mktemp("tables")
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.list(*(entry(number) for number in range(1, ARTICLES + 1)))
        room.run()
        copy = {"article_id": "b-1c", "url": "https://example.org/copies/1"}
        room.list(entry(1, "b", **copy))
        room.run()
        opened = Index(index, lambda: room.embedder, index.close)
        archive = Archive(opened, lake, [DESK], {DESK.key: load_taxonomy()})
        with served(archive) as address, httpx.Client(base_url=address) as browser:
            yield browser


def rows_of(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.mark.parametrize(
    "query",
    ["", "?q=bus&mode=keyword", "?q=bus", "?q=bus&limit=3&page=2", "?sort=date"],
)
def test_a_csv_of_a_search_has_every_hit_once(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(archive_module, "_HITS_AT_ONCE", 5)
    monkeypatch.setattr(spreadsheets, "_READ_AT_ONCE", 3)
    rows = rows_of(client.get(f"/search.csv{query}"))
    expected = sorted(f"a-{number}" for number in range(1, ARTICLES + 1))
    assert sorted(row["article_id"] for row in rows) == expected


def test_a_row_has_what_analysts_need_without_marks_and_scores(
    client: httpx.Client,
) -> None:
    rows = rows_of(client.get("/search.csv?q=bus&mode=keyword"))
    [row] = [row for row in rows if row["article_id"] == "a-1"]
    assert row == {
        "title": "Bus",
        "publisher": "Câmara a",
        "published_at": "2026-11-20T15:00:00+00:00",
        "first_seen_at": "2026-11-20T15:00:00+00:00",
        "day": "2026-11-20",
        "theme": "",
        "url": "https://example.org/1",
        "summary": "Bus",
        "page": f"{str(client.base_url).rstrip('/')}/articles/a-1",
        "copies": "1",
        "copied_by": "Câmara b",
        "language": "en",
        "desk": "d",
        "agency": "a",
        "article_id": "a-1",
    }


def test_texts_are_in_a_table_on_request(client: httpx.Client) -> None:
    rows = rows_of(client.get("/search.csv?with=text"))
    assert all("The city council voted" in row["text"] for row in rows)


def test_a_workbook_has_every_hit_too(client: httpx.Client) -> None:
    [rows] = sheets_of(io.BytesIO(client.get("/search.xlsx?q=bus").content))
    assert len(rows) == 1 + ARTICLES


@pytest.mark.parametrize("form", [".csv", ".xlsx"])
def test_a_table_that_is_cut_says_so_in_its_last_row(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(spreadsheets, "MAX_ROWS", 10)
    answer = client.get(f"/search{form}")
    if form == ".csv":
        titles = [row["title"] for row in rows_of(answer)]
    else:
        [rows] = sheets_of(io.BytesIO(answer.content))
        titles = [row[0][1] for row in rows[1:]]
    assert titles[:-1] == ["Bus"] * 10
    assert titles[-1] == "[cut after 10 rows: narrow the list]"


def test_a_table_of_meetings_has_all_of_them(council: str) -> None:
    rows = rows_of(httpx.get(f"{council}/meetings.csv?limit=1"))
    assert len(rows) == 3
    assert rows[0]["page"] == f"{council}/meetings/{rows[0]['meeting_id']}"
    assert {row["publisher"] for row in rows} == {"Springfield"}


def test_a_wrong_parameter_of_a_table_is_an_error_of_its_own(
    client: httpx.Client,
) -> None:
    answer = client.get("/search.csv?mode=fuzzy")
    assert (answer.status_code, answer.headers["content-type"]) == (
        400,
        "application/problem+json",
    )
