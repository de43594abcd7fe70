"""Compares a rebuilt index with what the lake expects, before it is swapped in."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

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
        outdated = {
            one for one in hashes.keys() & found.keys() if hashes[one] != found[one]
        }
        problems += _listed(f"{desk}: {{}} missing", hashes.keys() - found.keys())
        problems += _listed(f"{desk}: {{}} unexpected", found.keys() - hashes.keys())
        problems += _listed(f"{desk}: {{}} outdated", outdated)
    total = sum(map(len, expected.values()))
    return problems or (
        [f"{count} documents stored, {total} expected"] if count != total else []
    )


def _listed(text: str, article_ids: set[str]) -> list[str]:
    if not article_ids:
        return []
    shown = ", ".join(sorted(article_ids)[:_SHOWN_IDS])
    return [
        f"{text.format(len(article_ids))} ({shown}{', ...' if len(article_ids) > _SHOWN_IDS else ''})"
    ]
