"""Documents as lines of JSON for the import API: whole documents and partial updates."""

import io
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from news_assets.clients.search.typesense.schema import fields_of
from news_assets.clients.search.vectors import Float64s, unit_vectors

_encoded = json.JSONEncoder(ensure_ascii=False).encode
_VECTOR_DIGITS = (
    6  # changes cosines in the sixth digit, and halves the length of a line
)
_ERASABLE = [
    field["name"]
    for field in fields_of(None)
    if field.get("optional") and field["name"] != "vector_hash"
]


def _as_json(stored: Mapping[str, Any]) -> str:
    return clean(_encoded(stored))  # one pass instead of one per field


def clean(text: str) -> str:
    """Return a text in NFC, which queries are in, with `?` for lone surrogates."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def sent_vectors(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return unit vectors rounded as they are sent; None for None."""
    return [
        None if unit is None else np.round(unit, _VECTOR_DIGITS)
        for unit in unit_vectors(vectors)
    ]


def vector_hash(values: Float64s | None) -> str:
    """Return a short hash of a vector, to detect changes; empty for None."""
    return (
        ""
        if values is None
        else sha256(values.astype("<f4").tobytes()).hexdigest()[:16]
    )


def whole_lines(
    forms: Sequence[Mapping[str, Any]], rows: Sequence[Float64s | None]
) -> list[str]:
    """Return the lines that create or replace documents, each from its stored fields
    and its vector.
    """
    lines = [
        _as_json(
            form if values is None else {**form, "vector_hash": vector_hash(values)}
        )
        for form, values in zip(forms, rows, strict=True)
    ]
    for position, vector in _vector_lines(rows):
        lines[position] = f"{lines[position][:-1]}, {vector[1:]}"
    return lines


def _vector_lines(rows: Sequence[Float64s | None]) -> Iterator[tuple[int, str]]:
    """Yield each vector's position and `{"vector": ...}`, written by Polars in a sixth
    of the time of `json`.
    """
    import polars as pl

    of_dim: dict[int, list[int]] = {}
    for position, row in enumerate(rows):
        if row is not None:
            of_dim.setdefault(len(row), []).append(position)
    for positions in of_dim.values():
        file = io.BytesIO()
        matrix = np.stack(
            [row for row in map(rows.__getitem__, positions) if row is not None]
        )
        pl.DataFrame({"vector": pl.Series(matrix)}).write_ndjson(file)
        yield from zip(positions, file.getvalue().decode().splitlines(), strict=True)


def partial_line(stored: Mapping[str, Any]) -> str:
    """Return the line that updates everything but the vector; fields that are empty now
    are erased by null.
    """
    return _as_json({**dict.fromkeys(_ERASABLE), **stored})
