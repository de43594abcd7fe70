"""What both backends store of a document, and how they compare it with what the lake
has.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from news_assets.ports.search import SearchDocument
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
    return (
        bool(document.document_hash)
        and hashes.get(document.article_id) == document.document_hash
    )


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
    return {
        month: sum(days[day] for day in group)
        for month, group in groupby(days, itemgetter(slice(7)))
    }
