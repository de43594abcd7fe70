"""Lines of JSON as the server takes them: whole documents, what changed of one, and vectors at length 1.

What is stored of a document enters; lines leave. What that is stands in `documents.py`.
"""

import io
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.vectors import matrices

Float64s = npt.NDArray[np.float64]

_encoded = json.JSONEncoder(ensure_ascii=False).encode
_VECTOR_DIGITS = 6  # of a unit vector: cosines differ in the sixth digit, lines are half as long
_ERASABLE = (
    "summary", "section", "tags", "keywords", "language", "theme_code", "theme_path", "theme_labels", "image_url",
    "text_hash", "duplicate_of", "languages", "title_stems", "stems",
)  # fmt: skip


def _as_json(stored: Mapping[str, Any]) -> str:
    return clean(_encoded(stored))  # at once: a document has some fifteen texts


def clean(text: str) -> str:
    """Return a text as it can be sent: composed (a decomposed one finds only its like), halves of pairs as `?`."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def unit_values(vector: Sequence[float]) -> Float64s:
    """Return a vector at length 1, as it is sent."""
    (values,) = unit_rows([vector])
    assert values is not None
    return values


def unit_rows(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return each vector at length 1, as it is sent; None where there is none."""
    made: list[Float64s | None] = [None] * len(vectors)
    for positions, values in matrices(vectors):
        values /= np.abs(values).max(axis=1, keepdims=True)  # so that squares neither vanish nor overflow
        values /= np.sqrt(np.vecdot(values, values))[:, None]
        for position, row in zip(positions, np.round(values, _VECTOR_DIGITS), strict=True):
            made[position] = row
    return made


def vector_hash(values: Float64s | None) -> str:
    """Return a short hash of a vector that tells whether it changed; empty without one."""
    return "" if values is None else sha256(values.astype("<f4").tobytes()).hexdigest()[:16]


def whole_line(stored: Mapping[str, Any], values: Float64s | None) -> str:
    """Return the line that makes a document anew."""
    (line,) = whole_lines([stored], [values])
    return line


def whole_lines(forms: Sequence[Mapping[str, Any]], rows: Sequence[Float64s | None]) -> list[str]:
    """Return the lines that make documents anew, each of its form and its vector."""
    lines = [
        _as_json(form if values is None else {**form, "vector_hash": vector_hash(values)})
        for form, values in zip(forms, rows, strict=True)
    ]
    for position, vector in _vector_lines(rows):
        lines[position] = f"{lines[position][:-1]}, {vector[1:]}"
    return lines


def _vector_lines(rows: Sequence[Float64s | None]) -> Iterator[tuple[int, str]]:
    """Yield `{"vector": ...}` for each vector with its position, in a sixth of the time that `json` takes."""
    import polars as pl

    of_dim: dict[int, list[int]] = {}
    for position, row in enumerate(rows):
        if row is not None:
            of_dim.setdefault(len(row), []).append(position)
    for positions in of_dim.values():
        file = io.BytesIO()
        matrix = np.stack([row for row in map(rows.__getitem__, positions) if row is not None])
        pl.DataFrame({"vector": pl.Series(matrix)}).write_ndjson(file)
        yield from zip(positions, file.getvalue().decode().splitlines(), strict=True)


def partial_line(stored: Mapping[str, Any]) -> str:
    """Return the line that changes everything but the vector; what is empty now is erased by name."""
    return _as_json({**dict.fromkeys(_ERASABLE), **stored})


def story_line(article_id: str, story: str) -> str:
    """Return the line that puts a stored document to another story."""
    return _as_json({"id": article_id, "story": story})
