"""What both backends store of a document, how they compare it with what the lake has,
and the unit vectors that they store.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchDocument
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl


MAX_TEXT_WORDS = 20_000  # a longer document is found by its first 20,000 words
MAX_WORD_CHARS = 64  # longer "words" are encoded data
# entities and matters that an answer counts, of possibly as many as there are documents
MAX_NAMES = 100


def secondary_text(document: SearchDocument) -> str:
    """Return what is searched besides title and text: summary, section, tags and
    keywords.
    """
    return f"{document.summary or ''}\n{labels(document)}"


def labels(document: SearchDocument) -> str:
    """Return section, tags and keywords, one a line."""
    return "\n".join((document.section or "", *document.tags, *document.keywords))


def is_stored(document: SearchDocument, hashes: Mapping[str, str]) -> bool:
    """Return whether the document is stored in this state, by the stored document
    hashes; an empty hash never is.
    """
    if not document.document_hash:
        return False
    return hashes.get(document.article_id) == document.document_hash


def of_partitions(stored: "pl.DataFrame", keys: AgencyDays | None) -> "pl.DataFrame":
    """Return the rows of these agency-days; all rows if `keys` is None."""
    import polars as pl

    if keys is None:
        return stored
    pairs = pl.DataFrame(
        list(keys.pairs), {"agency": pl.String, "day": pl.Date}, orient="row"
    )
    return stored.join(pairs, on=("agency", "day"), how="semi")


def most_first(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return counts by value: the most frequent first, then in alphabetical order."""
    return dict(sorted(counts, key=lambda pair: (-pair[1], pair[0])))


def month_counts(days: Mapping[str, int]) -> dict[str, int]:
    """Return counts by month from those by day (ISO, in order), in their order."""
    months: dict[str, int] = {}
    for day, count in days.items():
        month = day[:7]
        months[month] = months.get(month, 0) + count
    return months


Float64s = npt.NDArray[np.float64]


def unit_vectors(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return each vector scaled to length 1; None for None and for a vector without a
    direction.

    A vector has no direction if it is empty, all zeros, or holds a value that is not
    finite.
    """
    units: list[Float64s | None] = [None] * len(vectors)
    for positions, rows in _matrices(vectors):
        highest = np.abs(rows).max(axis=1, keepdims=True)
        has_direction = np.isfinite(highest) & (highest > 0)
        # Divided by its highest value first, so that no square overflows or vanishes.
        scaled = np.divide(rows, highest, out=np.zeros_like(rows), where=has_direction)
        norms = np.sqrt(np.vecdot(scaled, scaled))[:, None]
        np.divide(scaled, norms, out=scaled, where=has_direction)
        usable = has_direction[:, 0].tolist()
        for row, position in enumerate(positions):
            if usable[row]:
                units[position] = scaled[row]
    return units


def _matrices(
    vectors: Sequence[Sequence[float] | None],
) -> Iterator[tuple[list[int], Float64s]]:
    """Yield the non-empty vectors of each dimension as the rows of one matrix, with
    their positions.
    """
    of_dim: dict[int, list[int]] = {}
    for position, vector in enumerate(vectors):
        if vector:
            of_dim.setdefault(len(vector), []).append(position)
    for dim, positions in of_dim.items():
        values = chain.from_iterable(vectors[position] or () for position in positions)
        matrix = np.fromiter(values, np.float64, dim * len(positions))
        yield positions, matrix.reshape(-1, dim)


def check_query_vector(where: object, vector: Sequence[float], dim: int | None) -> None:
    """Raise IndexingError, which names the index by `where`, if the query's vector does
    not fit its vectors.
    """
    if dim is not None and len(vector) != dim:
        raise IndexingError(
            f"{where}: the query has {len(vector)} dimensions, the index has {dim}; use the model"
            " the index was made with, or embed everything with the other model, then run"
            " `news-assets rebuild search`"
        )
    if unit_vectors([vector])[0] is None:
        raise IndexingError(
            f"{where}: the query's vector is empty, all zeros or holds a value that is not finite"
        )


_SHOWN_IDS = 3


def parity_problems(
    expected: Mapping[str, Mapping[str, str]],
    stored: "Callable[[str], pl.DataFrame]",
    count: int,
) -> list[str]:
    """Return a sentence per kind of difference: missing, unexpected or outdated
    documents; none if both are equal.

    Args:
        expected: By desk, the document hash of each article.
        stored: Returns article_id and document_hash of a desk's documents in the index.
        count: Number of documents in the index.
    """
    problems = []
    for desk, hashes in expected.items():
        found = dict(stored(desk).select("article_id", "document_hash").iter_rows())
        both = hashes.keys() & found.keys()
        outdated = {one for one in both if hashes[one] != found[one]}
        problems += _listed(f"{desk}: {{}} missing", hashes.keys() - found.keys())
        problems += _listed(f"{desk}: {{}} unexpected", found.keys() - hashes.keys())
        problems += _listed(f"{desk}: {{}} outdated", outdated)
    total = sum(map(len, expected.values()))
    if not problems and count != total:
        return [f"{count} documents stored, {total} expected"]
    return problems


def _listed(text: str, article_ids: set[str]) -> list[str]:
    if not article_ids:
        return []
    shown = ", ".join(sorted(article_ids)[:_SHOWN_IDS])
    more = ", ..." if len(article_ids) > _SHOWN_IDS else ""
    return [f"{text.format(len(article_ids))} ({shown}{more})"]
