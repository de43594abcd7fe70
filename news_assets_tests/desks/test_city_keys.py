import pytest

from news_assets.desks.desk_files import CityKey, city_key
from news_assets.errors import DeskFileError


@pytest.mark.parametrize(
    ("key", "name", "state"),
    [
        ("paloaltoCA", "paloalto", "CA"),
        ("torontoON", "toronto", "ON"),
        ("29palmsCA", "29palms", "CA"),
    ],
)
def test_a_key_has_a_name_and_a_state(key: str, name: str, state: str) -> None:
    assert city_key(key) == CityKey(name, state)


@pytest.mark.parametrize(
    ("key", "mistake"),
    [
        ("PaloAltoCA", "the name is in lower case; write paloaltoCA"),
        ("palo-alto CA", "' ' '-' cannot be in it; write paloaltoCA"),
        ("peñascoNM", "'ñ' cannot be in it; write penascoNM"),
        (
            "paloaltoca",
            "no state in capitals; write paloaltoCA if CA is the state, else add it",
        ),
        ("paloaltoXX", "it ends in no state or province; write paloaltoCA"),
        ("paloalto", "it ends in no state or province; write paloaltoCA"),
        ("CA", "a name and two letters of a state, such as paloaltoCA"),
        ("", "a name and two letters of a state, such as paloaltoCA"),
    ],
)
def test_the_message_names_the_mistake(key: str, mistake: str) -> None:
    with pytest.raises(DeskFileError) as raised:
        city_key(key)
    assert str(raised.value) == f"{key!r} is not the key of a city: {mistake}"
