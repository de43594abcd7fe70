import pytest

from news_assets.text.outside_json import loads


@pytest.mark.parametrize("digits", [5, 301, 6_000])
def test_a_number_of_many_digits_costs_no_other_value(digits: int) -> None:
    read = loads(f'{{"id": {"7" * digits}, "title": "Bus"}}')
    assert (str(read["id"]), read["title"]) == ("7" * digits, "Bus")
