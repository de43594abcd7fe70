"""Stored fields, refusals, lines, and addresses of a server."""

import json
import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.search.index_texts import Float64s
from news_assets.clients.search.typesense.documents import (
    day_number,
    day_of,
    in_nfc,
    language_levels,
    partial_line,
    reason_refused,
    sent_vectors,
    stems_of_texts,
    stored_forms,
    value_key,
    vector_hash,
    whole_lines,
)
from news_assets.clients.search.typesense.server import TypesenseAddress, id_filters
from news_assets.ports.search_index import SearchDocument
from news_assets_tests.clients.search.typesense.samples import document


def stored_form(document: SearchDocument, languages: tuple[str, ...]) -> dict[str, Any]:
    (form,) = stored_forms([document], languages)
    return form


def sent(vector: Sequence[float]) -> Float64s:
    (values,) = sent_vectors([vector])
    assert values is not None
    return values


def test_a_document_is_stored_with_its_stems_keys_and_languages() -> None:
    one = document(
        1,
        "Eleições",
        "As vacinas",
        summary="Resumo",
        tags=("saúde",),
        text_hash="abc",
        trace_id="trace",
        matter="m",
    )
    assert stored_form(one, ("pt", "en")) == {
        "id": "mec-1",
        "desk": "govbr",
        "agency": "mec",
        "agency_name": "Ministério da Educação",
        "day": 20260102,
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
        "facet_keys": ["6d6174746572206d"],
        "value_keys": [
            value_key("publisher", value)
            for value in (
                "da",
                "educacao",
                "mec",
                "ministerio",
                "ministerio da educacao",
            )
        ],
        "matter": "m",
        "languages": ["pt", "pt-br"],
        "published_ts": 1_767_225_601,
        "text_hash": "abc",
        "document_hash": "hash-1",
    }


def test_a_partial_line_erases_empty_fields_and_keeps_the_vector() -> None:
    line = json.loads(partial_line(stored_form(document(1), ())))
    erased = ("summary", "theme_path", "duplicate_of", "matter", "facet_keys")
    assert [line[name] for name in erased] == [None] * len(erased)
    assert "vector" not in line
    assert "vector_hash" not in line


def test_a_whole_line_has_the_unit_vector_and_its_hash() -> None:
    values = sent((3.0, 4.0))
    line = json.loads(*whole_lines([stored_form(document(1), ())], [values]))
    assert (line["vector"], line["vector_hash"]) == ([0.6, 0.8], vector_hash(values))
    assert (
        vector_hash(sent((6.0, 8.0))) == vector_hash(values) != vector_hash(None) == ""
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"article_id": " "}, "the article_id is empty"),
        (
            {"article_id": "a`b"},
            "the article_id has a backtick or a line break, which filters cannot contain",
        ),
        ({"vector": (1.0, 0.0)}, "the vector has 2 dimensions, the index has 3"),
        (
            {"vector": (math.nan, 0.0, 1.0)},
            "the vector is empty or holds a value that is not finite",
        ),
        (
            {"vector": (1e39, 0.0, 1.0)},
            "the vector is empty or holds a value that is not finite",
        ),
        ({"vector": (0.0, 0.0, 0.0)}, "the vector is all zeros"),
        ({"vector": (0.0, 1e-30, 0.0)}, None),
        ({}, None),
    ],
)
def test_documents_that_the_server_would_store_wrongly_are_refused(
    changes: dict[str, object], reason: str | None
) -> None:
    assert reason_refused(document(1, **changes), 3) == reason  # type: ignore[arg-type]


@given(
    st.lists(
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        min_size=1,
        max_size=8,
    )
)
def test_every_accepted_vector_is_sent_as_a_unit_vector(vector: list[float]) -> None:
    one = document(1, vector=tuple(vector))
    if reason_refused(one, None) is None:
        assert math.isclose(math.hypot(*sent(vector).tolist()), 1.0, abs_tol=1e-5)


@given(st.text(max_size=40))
def test_any_text_can_be_sent_and_decomposed_accents_have_the_same_stems(
    text: str,
) -> None:
    json.dumps(in_nfc(text), ensure_ascii=False).encode()
    assert in_nfc(in_nfc(text)) == in_nfc(text)
    decomposed, composed = stems_of_texts(
        ["Educac\u0327a\u0303o", "educação"], ("pt", "en")
    )
    assert decomposed == composed


@given(st.dates(min_value=date(1, 1, 1)))
def test_a_day_survives_being_stored_as_a_number(day: date) -> None:
    assert day_of(day_number(day)) == day


def test_language_levels_are_the_prefixes_of_a_tag() -> None:
    assert language_levels("zh-Hant-TW") == ("zh", "zh-hant", "zh-hant-tw")
    assert language_levels(None) == language_levels("") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("typesense://search.example:8108", TypesenseAddress("search.example", 8108)),
        ("typesense://search.example", TypesenseAddress("search.example", 8108)),
        (
            "typesense+https://search.example/other",
            TypesenseAddress("search.example", 443, "https", "other"),
        ),
        ("typesense://[::1]:80/", TypesenseAddress("::1", 80)),
    ],
)
def test_an_address_names_host_port_protocol_and_alias(
    text: str, expected: TypesenseAddress
) -> None:
    assert TypesenseAddress.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://a",
        "typesense://",
        "typesense://a:0",
        "typesense://u:p@a",
        "typesense://a/b/c",
    ],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be typesense://host:port"):
        TypesenseAddress.parse(text)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="`"), min_size=1, max_size=30),
        unique=True,
        max_size=40,
    )
)
def test_filters_of_ids_stay_short_and_lose_none(ids: list[str]) -> None:
    filters = list(
        id_filters([one.encode("utf-8", "replace").decode() for one in ids], 300)
    )
    assert sum(one.count(",") + 1 for one in filters) >= len(ids)
    assert all(one.startswith("id:[") and one.endswith("]") for one in filters)
