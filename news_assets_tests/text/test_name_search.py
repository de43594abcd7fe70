"""Names of publishers as people write them."""

import pytest

from news_assets.text.fingerprint import fitness

NAMES = {
    "mec": "Ministério da Educação",
    "ms": "Ministério da Saúde",
    "seattleWA": "City of Seattle",
    "camara": "Câmara Municipal de Vila Serena",
}


def best(wanted: str) -> str | None:
    fits = {key: fitness(wanted, (key, name)) for key, name in NAMES.items()}
    key = max(fits, key=lambda one: fits[one])
    return key if fits[key] else None


@pytest.mark.parametrize(
    ("wanted", "key"),
    [
        ("Ministério da Educação", "mec"),
        ("ministerio da educacao", "mec"),
        ("EDUCAÇÃO", "mec"),
        ("educa", "mec"),
        ("ministerio saude", "ms"),
        ("minsterio da saúde", "ms"),
        ("MEC", "mec"),
        ("seatle", "seattleWA"),
        ("camara vila serena", "camara"),
        ("weather", None),
        ("   ", None),
        ("—", None),
    ],
)
def test_a_name_is_found_in_part_without_accents_and_misspelt(
    wanted: str, key: str | None
) -> None:
    assert best(wanted) == key


def test_the_same_words_fit_better_than_a_part_and_a_part_better_than_a_mistake() -> (
    None
):
    same, part, misspelt = (
        fitness(wanted, ["City of Seattle"])
        for wanted in ("city of seattle", "seattle", "seatle")
    )
    assert 1.0 == same > part > misspelt > 0
