from collections.abc import Callable

import pytest

from news_assets_tests.support.growth import grows_linearly


def pairs(count: int) -> int:
    return sum(
        one < other for one in range(count // 10) for other in range(count // 10)
    )


@pytest.mark.parametrize(
    ("work", "is_linear"), [(lambda count: sum(range(count)), True), (pairs, False)]
)
def test_quadratic_work_is_told_from_linear_work(
    work: Callable[[int], int], is_linear: bool
) -> None:
    assert grows_linearly(work, int, max_size=20_000) is is_linear
