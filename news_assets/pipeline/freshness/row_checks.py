"""Verdicts over stored rows: what is wrong with them, row by row. What a finding leads to is not decided here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from news_assets.ports import Reader
from news_assets.records import ArticleEmbedding, EnrichedArticle, RawArticle

if TYPE_CHECKING:
    import polars as pl

_UNIT_TOLERANCE = 1e-3  # float32 sums of 384 to 1,024 squares stay within 1e-5


@dataclass(frozen=True, slots=True)
class Findings:
    """How many rows were looked at, and those that are wrong; or why it cannot be told."""

    checked: int
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    unknown: str = ""


def repeated_keys(frame: "pl.DataFrame", key: Sequence[str]) -> Findings:
    """Return keys that more than one row has."""
    import polars as pl

    repeated = frame.group_by(key).agg(pl.len().alias("rows")).filter(pl.col("rows") > 1).sort(key)
    return Findings(frame.height, (*key, "rows"), tuple(repeated.rows()))


def articles_without_text(lake: Reader, desk: str) -> Findings:
    """Every article whose outcome is ok has a text."""
    import polars as pl

    frame = lake.frame(RawArticle, None, ("article_id", "url", "text_chars"), desk=[desk], outcome=["ok"])
    return _findings(frame, frame.filter(pl.col("text_chars") == 0))


def articles_without_summary(lake: Reader, desk: str) -> Findings:
    """Every enriched article has a summary."""
    import polars as pl

    columns = ("article_id", "summary", "word_count", "enricher")
    frame = lake.frame(EnrichedArticle, None, columns, desk=[desk], outcome=["ok"])
    return _findings(frame, frame.filter(pl.col("summary").fill_null("") == ""))


def vectors_off_unit(lake: Reader, desk: str) -> Findings:
    """Every vector has unit length and as many numbers as its row says."""
    import polars as pl

    frame = lake.frame(ArticleEmbedding, None, ("article_id", "model", "dim", "vector"), desk=[desk], outcome=["ok"])
    measured = frame.with_columns(
        pl.col("vector").list.eval(pl.element().pow(2)).list.sum().sqrt().alias("length"),
        pl.col("vector").list.len().alias("numbers"),
    ).drop("vector")
    is_right = ((pl.col("length") - 1).abs() <= _UNIT_TOLERANCE) & (pl.col("numbers") == pl.col("dim"))
    return _findings(measured, measured.filter(~is_right.fill_null(value=False)))


def _findings(checked: "pl.DataFrame", wrong: "pl.DataFrame") -> Findings:
    return Findings(checked.height, tuple(wrong.columns), tuple(wrong.rows()))
