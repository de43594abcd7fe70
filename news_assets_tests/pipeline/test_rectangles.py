from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.run_planner import AgencyDay, Rectangle, rectangles

TODAY = date(2026, 11, 20)
AGENCIES = [f"a{number:03}" for number in range(160)]

agency_days = st.builds(
    lambda agency, age: AgencyDay(AGENCIES[agency], TODAY - timedelta(age)),
    st.integers(0, 159),
    st.integers(0, 599),
)


@given(st.sets(agency_days, max_size=300), st.integers(1, 500), st.integers(0, 60))
def test_rectangles_cover_every_agency_day_and_none_is_too_large(
    found: set[AgencyDay], limit: int, spare: int
) -> None:
    made = rectangles(found, AGENCIES, limit, spare)
    inside = {
        AgencyDay(AGENCIES[position], rectangle.first_day + timedelta(day))
        for rectangle in made
        for position in range(rectangle.first, rectangle.last + 1)
        for day in range((rectangle.last_day - rectangle.first_day).days + 1)
    }
    assert found <= inside
    assert all(rectangle.size <= limit for rectangle in made)
    if not spare:
        assert inside == found


def test_a_gap_is_bridged_where_that_saves_a_run() -> None:
    row = [
        AgencyDay(AGENCIES[0], TODAY),
        AgencyDay(AGENCIES[5], TODAY),
        AgencyDay(AGENCIES[150], TODAY),
    ]
    assert rectangles(row, AGENCIES, 500, 30) == [
        Rectangle(0, 5, TODAY, TODAY),
        Rectangle(150, 150, TODAY, TODAY),
    ]
    assert len(rectangles(row, AGENCIES, 500, 0)) == 3
