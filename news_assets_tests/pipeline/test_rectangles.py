from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.run_planner import AgencyDay, Limits, Rectangle, rectangles

TODAY = date(2026, 11, 20)
AGENCIES = [f"a{number:03}" for number in range(160)]

agency_days = st.builds(
    lambda agency, age: AgencyDay(AGENCIES[agency], TODAY - timedelta(age)),
    st.integers(0, 159),
    st.integers(0, 599),
)


@given(
    st.dictionaries(agency_days, st.integers(1, 50), max_size=300),
    st.integers(1, 500),
    st.integers(1, 200),
    st.integers(0, 60),
)
def test_rectangles_cover_every_agency_day_and_none_is_too_large(
    rows_of: dict[AgencyDay, int], partitions: int, rows: int, spare: int
) -> None:
    made = rectangles(rows_of, rows_of, AGENCIES, Limits(partitions, rows, spare))
    inside = set[AgencyDay]()
    for rectangle in made:
        covered = {
            AgencyDay(AGENCIES[position], day)
            for position in range(rectangle.first, rectangle.last + 1)
            for day in rectangle.days
        }
        assert rectangle.size == len(covered) <= partitions
        if rectangle.size > 1:
            assert sum(rows_of.get(key, 0) for key in covered) <= rows
        inside |= covered
    assert rows_of.keys() <= inside
    if not spare:
        assert inside == rows_of.keys()


def test_a_gap_is_bridged_where_that_saves_a_run() -> None:
    row = {
        AgencyDay(AGENCIES[0], TODAY): 1,
        AgencyDay(AGENCIES[5], TODAY): 1,
        AgencyDay(AGENCIES[150], TODAY): 1,
    }
    assert rectangles(row, row, AGENCIES, Limits(500, 100, 30)) == [
        Rectangle(0, 5, TODAY, TODAY),
        Rectangle(150, 150, TODAY, TODAY),
    ]
    assert len(rectangles(row, row, AGENCIES, Limits(500, 100, 0))) == 3


def test_an_agency_day_with_much_work_is_a_rectangle_of_its_own() -> None:
    row = {AgencyDay(AGENCIES[n], TODAY): rows for n, rows in enumerate((5, 900, 5))}
    assert rectangles(row, row, AGENCIES, Limits(500, 100, 30)) == [
        Rectangle(0, 0, TODAY, TODAY),
        Rectangle(1, 1, TODAY, TODAY),
        Rectangle(2, 2, TODAY, TODAY),
    ]


def test_work_in_between_that_is_not_to_be_covered_counts() -> None:
    days = [AgencyDay(AGENCIES[n], TODAY) for n in range(3)]
    ends = (days[0], days[2])
    limits = Limits(500, 100, 30)
    assert len(rectangles(ends, dict.fromkeys(days, 30), AGENCIES, limits)) == 1
    assert len(rectangles(ends, dict.fromkeys(days, 40), AGENCIES, limits)) == 2
