import pytest

from news_assets.pipeline.enrich.plan import is_sure
from news_assets.records.reading import Enrichment


@pytest.mark.parametrize(
    ("path", "score", "expected"),
    [(("health",), 0.95, True), (("health",), 0.94, False), ((), 0.99, False)],
)
def test_a_theme_is_sure_if_its_probability_of_error_is_at_most_the_wanted_rate(
    path, score, expected
):
    assert is_sure(Enrichment(theme_path=path, theme_score=score), 0.05) is expected
