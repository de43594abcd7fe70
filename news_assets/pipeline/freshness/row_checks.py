"""Data quality checks of stored rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets.records.model_calls import ModelCall

if TYPE_CHECKING:
    import polars as pl

_ACCEPTED_UNSUPPORTED = 0.1  # of a model's answers
_UNSUPPORTED = "evidence:"  # how the reason of a refused answer begins

_UNIT_TOLERANCE = 1e-3  # float32 sums of 384 to 1,024 squares stay within 1e-5


@dataclass(frozen=True, slots=True)
class Findings:
    """How many rows were checked, and the wrong ones; or in `unknown` why they could
    not be checked.

    A check passes with at most `accepted` wrong rows.
    """

    checked: int
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    unknown: str = ""
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check of a desk's rows: its name, the sentence that has to hold, and the
    function that finds exceptions.
    """

    name: str
    sentence: str
    find: Callable[[Reader, str], Findings]


def repeated_keys(frame: "pl.DataFrame", key: Sequence[str]) -> Findings:
    """Return the keys of more than one row."""
    import polars as pl

    repeated = (
        frame.group_by(key)
        .agg(pl.len().alias("rows"))
        .filter(pl.col("rows") > 1)
        .sort(key)
    )
    return Findings(frame.height, (*key, "rows"), tuple(repeated.rows()))


def articles_without_text(lake: Reader, desk: str) -> Findings:
    """Return the articles of outcome ok that have no text."""
    import polars as pl

    frame = lake.frame(
        RawArticle,
        None,
        ("article_id", "url", "text_chars"),
        desk=[desk],
        outcome=["ok"],
    )
    return _findings(frame, frame.filter(pl.col("text_chars") == 0))


def articles_without_summary(lake: Reader, desk: str) -> Findings:
    """Return the enriched articles that have no summary, but for those that the filters
    of their desk leave out.
    """
    import polars as pl

    from news_assets.pipeline.enrich.enriched_rows import NOT_ENRICHED

    columns = ("article_id", "summary", "word_count", "enricher")
    frame = lake.frame(EnrichedArticle, None, columns, desk=[desk], outcome=["ok"])
    enriched = frame.filter(pl.col("enricher") != NOT_ENRICHED)
    return _findings(enriched, enriched.filter(pl.col("summary").fill_null("") == ""))


def unsupported_answers(lake: Reader, desk: str) -> Findings:
    """Return the answers of language models that say something which nothing in their
    article supports.

    Those with such a summary were refused, and are in the ledger; those with such a key
    point are rows. Some are accepted: models err.
    """
    import polars as pl

    from news_assets.pipeline.enrich.model.model_requests import ENRICHER

    rows = lake.frame(
        EnrichedArticle,
        None,
        ("article_id", "model", "key_points", "key_point_spans"),
        desk=[desk],
        outcome=["ok"],
        enricher=[ENRICHER],
        reused_from=[None],
    )
    spans = pl.col("key_point_spans").list
    counted = rows.select(
        "article_id",
        "model",
        pl.col("key_points").list.len(),
        spans.eval(pl.element() == "").list.sum().alias("empty"),
    )
    calls = lake.frame(
        ModelCall,
        None,
        ("article_id", "model", "reason"),
        desk=[desk],
        outcome=["refused"],
    )
    found = calls.filter(pl.col("reason").str.starts_with(_UNSUPPORTED)).rows()
    checked = rows.height + len(found)
    for article_id, model, total, empty in counted.iter_rows():
        if empty:
            found.append((article_id, model, f"{empty} of {total} key points"))
    return Findings(
        checked,
        ("article_id", "model", "what is unsupported"),
        tuple(found),
        accepted=int(checked * _ACCEPTED_UNSUPPORTED),
    )


def vectors_off_unit(lake: Reader, desk: str) -> Findings:
    """Return the vectors of another length than 1, or of other dimensions than their
    row states.
    """
    import polars as pl

    columns = ("article_id", "model", "dim", "vector")
    frame = lake.frame(ArticleEmbedding, None, columns, desk=[desk], outcome=["ok"])
    vector = pl.col("vector").list
    squares = vector.eval(pl.element().pow(2)).list.sum()
    measured = frame.with_columns(
        squares.sqrt().alias("length"), vector.len().alias("dimensions")
    ).drop("vector")
    is_unit = (pl.col("length") - 1).abs() <= _UNIT_TOLERANCE
    is_sound = is_unit & (pl.col("dimensions") == pl.col("dim"))
    return _findings(measured, measured.filter(~is_sound.fill_null(value=False)))


def _findings(checked: "pl.DataFrame", wrong: "pl.DataFrame") -> Findings:
    return Findings(checked.height, tuple(wrong.columns), tuple(wrong.rows()))
