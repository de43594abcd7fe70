"""Whether an index that was built anew has exactly what is expected, before searches go to it.

Document hashes by desk and article enter; what differs leaves as words. Nothing is mended here.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_SHOWN_IDS = 3


def parity_problems(
    expected: Mapping[str, Mapping[str, str]], stored: "Callable[[str], pl.DataFrame]", count: int
) -> list[str]:
    """Return what is missing, not expected or in another state; nothing where both are equal.

    Args:
        expected: By desk, the document hash of each article.
        stored: Gives article_id and document_hash of what a desk has in the index.
        count: How many documents the index has in all.
    """
    problems = []
    for desk, wanted in expected.items():
        there = dict(stored(desk).select("article_id", "document_hash").iter_rows())
        differing = {one for one in wanted.keys() & there.keys() if wanted[one] != there[one]}
        problems += _listed(f"missing of {desk}", wanted.keys() - there.keys())
        problems += _listed(f"not expected of {desk}", there.keys() - wanted.keys())
        problems += _listed(f"in another state of {desk}", differing)
    total = sum(map(len, expected.values()))
    return problems or ([f"{count} documents there, {total} expected"] if count != total else [])


def _listed(what: str, article_ids: set[str]) -> list[str]:
    if not article_ids:
        return []
    shown = ", ".join(sorted(article_ids)[:_SHOWN_IDS])
    return [f"{len(article_ids)} {what} ({shown}{', ...' if len(article_ids) > _SHOWN_IDS else ''})"]
