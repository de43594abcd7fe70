"""Counts over time: bars, and searches on the page, in the table and the answer of the API."""

import csv
import io
from collections.abc import Iterator
from datetime import date, timedelta

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web.archive import Archive
from news_assets.web.parameters import ParameterError, TrendAddress
from news_assets.web.trends import Bar, Trends, bars_of, read_trends
from news_assets_tests.clients.search.contract.examples import document
from news_assets_tests.support.small_desk import DESK

MONDAY = date(2026, 1, 5)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """Of two weeks: two of five articles are copies, on two days of the first."""
    folder = tmp_path_factory.mktemp("trends")
    found = [
        document(1, "vacina", day=MONDAY),
        document(2, "vacina", day=MONDAY + timedelta(days=1), text_hash="same"),
        document(3, "vacina", day=MONDAY + timedelta(days=4), text_hash="same"),
        document(4, "estrada", day=MONDAY, agency="dnit"),
        document(5, "vacina", day=MONDAY + timedelta(days=9), agency="dnit"),
    ]
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        index.upsert(found)
        yield Archive(Index(index, _no_model, index.close), lake, [DESK], {})


def _no_model() -> None:
    raise AssertionError("searches over time are by words")


def trends(archive: Archive, **parameters: str) -> Trends:
    return read_trends(archive, TrendAddress.of(parameters))


def counts(found: Trends) -> list[list[int]]:
    return [[point.articles for point in one.points] for one in found.series]


def test_days_without_articles_are_points_too(archive: Archive) -> None:
    found = trends(archive, q="vacina")
    assert found.step == "day"
    assert counts(found) == [[1, 1, 0, 0, 1, 0, 0, 0, 0, 1]]


@pytest.mark.parametrize("by", ["day", "week", "month"])
def test_a_point_has_as_many_articles_as_a_search_for_its_days(
    archive: Archive, by: str
) -> None:
    address = TrendAddress.of({"q": "vacina\nestrada\nvacina estrada", "by": by})
    for one in read_trends(archive, address).series:
        search = address.search_for(one.query)
        for point in one.points:
            of_days = {"from_day": point.first, "to_day": point.last}
            assert archive.search(search.model_copy(update=of_days)).found == (
                point.articles
            )


def test_copies_of_a_week_count_once(archive: Archive) -> None:
    assert counts(trends(archive, q="vacina", by="week")) == [[2, 1]]


def test_first_and_last_points_have_the_days_of_the_address_only(
    archive: Archive,
) -> None:
    found = trends(archive, q="vacina", by="week", **{"from": "2026-01-07"})
    [first, last] = found.series[0].points
    assert (first.first, first.last) == (date(2026, 1, 7), date(2026, 1, 11))
    assert (last.first, last.last) == (date(2026, 1, 12), date(2026, 1, 14))


def test_shares_are_of_all_articles_that_pass_the_filters(archive: Archive) -> None:
    whole = trends(archive, q="vacina", by="week", measure="share")
    narrowed = trends(archive, q="vacina", by="week", measure="share", agency="dnit")
    assert [point.share for point in whole.series[0].points] == [2 / 3, 1.0]
    assert [point.share for point in narrowed.series[0].points] == [1.0]


def test_a_search_is_compared_by_its_publishers_with_the_most_articles(
    archive: Archive,
) -> None:
    found = trends(archive, q="vacina\nestrada", by="week", split="publisher")
    assert [(one.query, one.agency, one.found) for one in found.series] == [
        ("vacina", "mec", 2),
        ("vacina", "dnit", 1),
    ]
    assert counts(found) == [[2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("last", "wanted", "by"),
    [
        ("2026-04-02", "", "day"),
        ("2026-04-03", "", "week"),
        ("2026-04-03", "day", "week"),
        ("2026-02-01", "week", "week"),
        ("2028-04-03", "week", "month"),
    ],
)
def test_a_long_time_has_longer_steps(
    archive: Archive, last: str, wanted: str, by: str
) -> None:
    time = {"from": "2026-01-01", "to": last, "by": wanted}
    assert trends(archive, q="vacina", **time).step == by


def test_what_nothing_is_found_of_has_no_points_without_a_time(
    archive: Archive,
) -> None:
    assert counts(trends(archive, q="nothing")) == [[]]
    time = {"from": "2026-01-05", "to": "2026-01-06"}
    assert counts(trends(archive, q="nothing", **time)) == [[0, 0]]
    impossible = {"from": "2026-01-06", "to": "2026-01-05"}
    assert counts(trends(archive, q="vacina", **impossible)) == [[]]


@pytest.mark.parametrize(
    ("first", "last", "points"),
    [("0001-01-01", "9999-12-31", 252), ("9999-12-01", "9999-12-31", 5)],
)
def test_a_time_of_ages_has_the_points_of_its_last_twenty_years(
    archive: Archive, first: str, last: str, points: int
) -> None:
    time = {"from": first, "to": last, "by": "week"}
    assert len(counts(trends(archive, q="vacina", **time))[0]) == points


def test_more_than_five_searches_are_a_mistake(archive: Archive) -> None:
    with pytest.raises(ParameterError, match="at most 5 searches"):
        trends(archive, q="a\nb\nc\nd\ne\nf")


def test_the_page_has_a_line_and_a_column_of_the_table_for_each_search(
    browser: httpx.Client,
) -> None:
    page = browser.get("/trends", params={"q": "bus\nline1 <b>"}).text
    assert page.count("<path class=") == 4  # two lines, and two in the legend
    assert '<th scope="col">line1 &lt;b&gt;</th>' in page
    assert '<a href="/search?q=bus&amp;mode=keyword">bus</a>' in page
    assert "No article has been found." in browser.get("/trends?language=fr").text


def test_the_table_as_csv_has_the_points_of_the_api(browser: httpx.Client) -> None:
    query = {"q": "bus", "measure": "share", "split": "publisher"}
    answer = browser.get("/trends.csv", params=query)
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    series = browser.get("/api/v1/trends", params=query).json()["series"]
    points = [point for one in series for point in one["points"]]
    assert [int(row["articles"]) for row in rows] == [p["articles"] for p in points]
    assert [float(row["share"]) for row in rows] == [p["share"] for p in points]
    assert {row["publisher"] for row in rows} <= {"Câmara a", "Câmara b"}


def test_a_search_of_several_days_leads_to_its_chart_with_its_filters(
    served_days: str,
) -> None:
    page = httpx.get(f"{served_days}/search?q=bus&desk=d&mode=keyword").text
    assert 'href="/trends?q=bus&amp;desk=d"' in page


def test_days_between_are_bars_too() -> None:
    assert bars_of({"2026-01-03": 2, "2026-01-01": 1}) == [
        Bar("2026-01-01", date(2026, 1, 1), date(2026, 1, 1), 1),
        Bar("2026-01-02", date(2026, 1, 2), date(2026, 1, 2), 0),
        Bar("2026-01-03", date(2026, 1, 3), date(2026, 1, 3), 2),
    ]


@pytest.mark.parametrize(
    ("days", "label", "count", "last"),
    [
        (61, "2024-01-31", 62, date(2024, 3, 31)),
        (62, "2024-01", 4, date(2024, 4, 30)),
        (1_700, "2024-01", 57, date(2028, 9, 30)),
        (2_000, "2024", 6, date(2029, 12, 31)),
    ],
)
def test_a_longer_time_has_longer_bars(
    days: int, label: str, count: int, last: date
) -> None:
    first = date(2024, 1, 31)
    counts = {
        first.isoformat(): 1,
        (first + timedelta(days=days)).isoformat(): 3,
        "2024-02-29": 1,
    }
    bars = bars_of(counts)
    assert (bars[0].label, len(bars), sum(bar.count for bar in bars)) == (
        label,
        count,
        5,
    )
    assert bars[-1].last >= first + timedelta(days=days)
    if days != 61:
        assert bars[-1].last == last


def test_no_hits_have_no_bars() -> None:
    assert bars_of({}) == ()
