"""What is stored of a document, what is refused, and which documents are one story."""

import json
import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.search.typesense.connection import TypesenseAddress, id_filters
from news_assets.clients.search.typesense.documents import (
    day_number,
    day_of,
    language_levels,
    reason_refused,
    stems_of_texts,
    stored_form,
    stories_of,
)
from news_assets.clients.search.typesense.lines import clean, partial_line, unit_values, vector_hash, whole_line
from news_assets.clients.search.typesense.writing import mended_stories
from news_assets_tests.clients.search.typesense.samples import document


def test_a_document_is_stored_with_its_stems_story_month_and_languages() -> None:
    one = document(1, "Eleições", "As vacinas", summary="Resumo", tags=("saúde",), text_hash="abc", trace_id="trace")
    assert stored_form(one, ("pt", "en"), "abc") == {
        "id": "mec-1",
        "desk": "govbr",
        "agency": "mec",
        "agency_name": "Ministério da Educação",
        "day": 20260102,
        "month": "2026-01",
        "url": "https://example.org/1",
        "title": "Eleições",
        "title_stems": "eleica",
        "text": "As vacinas",
        "stems": "as vacin resum saud",
        "summary": "Resumo",
        "tags": ("saúde",),
        "language": "pt-BR",
        "desk_key": "676f766272",
        "agency_key": "6d6563",
        "languages": ["pt", "pt-br"],
        "published_ts": 1_767_225_601,
        "text_hash": "abc",
        "story": "abc",
        "document_hash": "hash-1",
    }


def test_a_partial_line_erases_by_name_what_is_empty_now_and_leaves_the_vector_alone() -> None:
    line = json.loads(partial_line(stored_form(document(1), (), "mec-1")))
    assert (line["summary"], line["theme_path"], line["duplicate_of"]) == (None, None, None)
    assert "vector" not in line
    assert "vector_hash" not in line


def test_a_whole_line_carries_the_vector_at_length_one_and_its_hash() -> None:
    values = unit_values((3.0, 4.0))
    line = json.loads(whole_line(stored_form(document(1), (), "mec-1"), values))
    assert (line["vector"], line["vector_hash"]) == ([0.6, 0.8], vector_hash(values))
    assert vector_hash(unit_values((6.0, 8.0))) == vector_hash(values) != vector_hash(None) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"article_id": " "}, "the article_id is empty"),
        ({"article_id": "a`b"}, "the article_id holds a backtick or a line break, by which it could not be asked for"),
        ({"vector": (1.0, 0.0)}, "the vector has 2 dimensions, the index has 3"),
        ({"vector": (math.nan, 0.0, 1.0)}, "the vector is empty or holds a value that is not finite"),
        ({"vector": (1e39, 0.0, 1.0)}, "the vector is empty or holds a value that is not finite"),
        ({"vector": (0.0, 0.0, 0.0)}, "the vector is all zeros"),
        ({"vector": (0.0, 1e-30, 0.0)}, None),
        ({}, None),
    ],
)
def test_what_the_server_would_take_and_store_wrongly_is_refused_before(
    changes: dict[str, object], reason: str | None
) -> None:
    assert reason_refused(document(1, **changes), 3) == reason  # type: ignore[arg-type]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_every_usable_vector_is_sent_at_length_one(vector: list[float]) -> None:
    one = document(1, vector=tuple(vector))
    if reason_refused(one, None) is None:
        assert math.isclose(math.hypot(*unit_values(vector).tolist()), 1.0, abs_tol=1e-5)


@given(st.text(max_size=40))
def test_any_text_can_be_sent_and_is_stemmed_alike_however_its_accents_are_written(text: str) -> None:
    json.dumps(clean(text), ensure_ascii=False).encode()
    assert clean(clean(text)) == clean(text)
    decomposed, composed = stems_of_texts(["Educac\u0327a\u0303o", "educação"], ("pt", "en"))
    assert decomposed == composed


@given(st.dates(min_value=date(1, 1, 1)))
def test_a_day_is_the_same_after_it_was_stored(day: date) -> None:
    assert day_of(day_number(day)) == day


def test_a_language_is_a_kind_of_each_shorter_one() -> None:
    assert language_levels("zh-Hant-TW") == ("zh", "zh-hant", "zh-hant-tw")
    assert language_levels(None) == language_levels("") == ()


def test_duplicates_join_their_originals_story_in_any_order() -> None:
    original = document(1, text_hash="a")
    copy = document(2, duplicate_of="mec-1", text_hash="b")
    copy_of_copy = document(3, duplicate_of="mec-2")
    orphan = document(4, duplicate_of="elsewhere")
    expected = {"mec-1": "a", "mec-2": "a", "mec-3": "a", "mec-4": "elsewhere"}
    assert stories_of([original, copy, copy_of_copy, orphan], {}) == expected
    assert stories_of([orphan, copy_of_copy, copy, original], {}) == expected
    assert stories_of([copy], {"mec-1": "a"}) == {"mec-2": "a"}


def test_circles_of_duplicates_end() -> None:
    circle = [document(1, duplicate_of="mec-2"), document(2, duplicate_of="mec-1")]
    assert set(stories_of(circle, {})) == {"mec-1", "mec-2"}
    assert mended_stories([{"id": "a", "duplicate_of": "a", "story": "a"}]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("typesense://search.example:8108", TypesenseAddress("search.example", 8108)),
        ("typesense://search.example", TypesenseAddress("search.example", 8108)),
        ("typesense+https://search.example/other", TypesenseAddress("search.example", 443, "https", "other")),
        ("typesense://[::1]:80/", TypesenseAddress("::1", 80)),
    ],
)
def test_an_address_names_host_port_protocol_and_alias(text: str, expected: TypesenseAddress) -> None:
    assert TypesenseAddress.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "http://a", "typesense://", "typesense://a:0", "typesense://u:p@a", "typesense://a/b/c"]
)
def test_what_is_no_address_is_said_so(text: str) -> None:
    with pytest.raises(ValueError, match="takes typesense://host:port"):
        TypesenseAddress.parse(text)


@given(st.lists(st.text(st.characters(exclude_characters="`"), min_size=1, max_size=30), unique=True, max_size=40))
def test_a_filter_of_ids_in_an_address_stays_short_and_loses_none(ids: list[str]) -> None:
    filters = list(id_filters([one.encode("utf-8", "replace").decode() for one in ids], 300))
    assert sum(one.count(",") + 1 for one in filters) >= len(ids)
    assert all(one.startswith("id:[") and one.endswith("]") for one in filters)
