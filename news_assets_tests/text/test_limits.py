import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.limits import (
    LIMITS,
    address,
    clean_line,
    clean_text,
    identifier,
    line,
    lines,
    loads,
    most,
)

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\0\x01\x85\x9f\ud800\udfff\u200b\u202e\u2066\u2069\ufeff\uffff\n\t "
        ),
    )
)
REFUSED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")  # fmt: skip


@given(HOSTILE)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    for clean in (
        clean_line,
        clean_text,
        address,
        identifier,
        lambda text: line(text) or "",
    ):
        assert clean(clean(text)) == clean(text)


@given(HOSTILE)
def test_a_clean_line_has_no_control_character_and_no_change_of_direction(
    text: str,
) -> None:
    assert not REFUSED.search(clean_line(text))
    assert not REFUSED.search(address(text))
    identifier(text).encode()
    clean_text(text).encode()


@given(HOSTILE, HOSTILE)
def test_different_ids_stay_different(one: str, other: str) -> None:
    assert (identifier(one) == identifier(other)) == (one == other)


def test_a_long_id_keeps_its_beginning_and_ends_in_a_hash() -> None:
    ids = {identifier("a" * 5000 + end) for end in "xyz"}

    assert len(ids) == 3
    assert all(len(one) == most("entry_id") and one.startswith("aaaa") for one in ids)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Um\u202eDois\u2066\x00 três\ud800 ", "UmDois três"),
        ("a" * 5000, "a" * 1000),
        ("\u202e\n", None),
        (None, None),
    ],
)
def test_a_title_is_cleaned_and_cut(text: str | None, title: str | None) -> None:
    assert line(text, "title") == title


def test_names_are_cut_in_length_and_number() -> None:
    found = lines([f"{number} {'a' * 500}" for number in range(500)], "authors")

    assert len(found) == most("authors")
    assert {len(name) for name in found} == {most("name")}


def test_every_limit_has_a_reason() -> None:
    assert all(limit.most > 0 and len(limit.reason) > 10 for limit in LIMITS.values())


@pytest.mark.parametrize("digits", [5, 301, 6_000])
def test_a_number_of_many_digits_costs_no_other_value(digits: int) -> None:
    read = loads(f'{{"id": {"7" * digits}, "title": "Bus"}}')
    assert (str(read["id"]), read["title"]) == ("7" * digits, "Bus")
