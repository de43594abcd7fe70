"""What a backfill would send to language models, found out by the enrichment itself, with models that only count.

Nothing is sent and nothing is stored. The local enricher reads the texts that it has not read before.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from news_assets.pipeline.enrich.model.budget import Budget, sent_chars
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.model.prices import price_usd
from news_assets.pipeline.enrich.model.requests import ENRICHER
from news_assets.pipeline.enrich.rows import NOT_ENRICHED
from news_assets.pipeline.enrich.with_models import enrich_with_models
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.ports.enrichment import Answered, LanguageModel, ModelRequest
from news_assets.ports.lake import Lake, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.model_calls import DIRECT, Kind, Tokens, total_usd
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl

Row = TypeVar("Row")
Result = TypeVar("Result")

CHARS_PER_TOKEN = 3.5  # of news in Portuguese and English with the instructions and the schema around it
OUTPUT_TOKENS = 450  # a summary of two sentences, five key points and their quotes


@dataclass(frozen=True, slots=True)
class Sent:
    """Calls that would be made, and what they are estimated to take. `usd` is None if the price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


@dataclass(slots=True)
class Found:
    """The articles with a text of some agency-days, each counted once, and the calls that would be made.

    `new` have no row of their present state: any run sends them. `again` have one, of another model, prompt or
    taxonomy, and are sent with `re_enrich` only. `not_sent` counts by reason.
    """

    articles: int = 0
    copies: int = 0
    cached: int = 0
    sure: int = 0
    failed: int = 0
    not_sent: Counter[str] = field(default_factory=Counter)
    new: list[tuple[str, ModelRequest]] = field(default_factory=list)
    again: list[tuple[str, ModelRequest]] = field(default_factory=list)


class _Counting:
    """A language model that takes every request once and answers none."""

    def __init__(self, name: str, taken: dict[str, tuple[str, ModelRequest]]) -> None:
        self.name = name
        self._taken = taken

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        for request in requests:
            self._taken.setdefault(request.input_hash, (self.name, request))
        return iter(())


class _Unwritten:
    """A lake that keeps what is written beside it, and is read as it was."""

    records: tuple[type[Any], ...] = (EnrichedArticle,)

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self.enriched: dict[str, EnrichedArticle] = {}

    def read(self, record: type[Row], keys: AgencyDays | None = None, **isin: Collection[Any]) -> list[Row]:
        """Return the rows of the lake, enriched articles as they would be."""
        rows = self._lake.read(record, keys, **isin)
        if record is not EnrichedArticle or keys is not None:
            return rows
        made = {key: self.enriched[key] for key in isin.get("article_id", ()) if key in self.enriched}
        merged: Any = {row.article_id: row for row in rows if isinstance(row, EnrichedArticle)} | made
        return list(merged.values())

    def frame(
        self,
        record: type[Any],
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "pl.DataFrame":
        return self._lake.frame(record, keys, columns, **isin)

    def transact(self, work: Callable[[Rows], Result]) -> Result:
        return work(self)

    def upsert(self, rows: Sequence[Any]) -> None:
        self.enriched |= {row.article_id: row for row in rows if isinstance(row, EnrichedArticle)}

    def append(self, rows: Sequence[Any]) -> None:
        pass

    def delete(self, record: type[Any], keys: AgencyDays | None = None, **isin: Collection[Any]) -> int:
        return 0

    def snapshot(self) -> int:
        return 0


class Preview:
    """Counts, a batch of agency-days after the other, what a run over them would send, also with `re_enrich`.

    Of a chain the first model is counted: it is asked for everything, and the others for what it leaves.
    """

    def __init__(
        self, stage: Stage, lake: Lake, desk: Desk, enricher: ModelEnricher, clock: Callable[[], datetime]
    ) -> None:
        self.found = Found()
        self._stage, self._lake, self._clock = stage, lake, clock
        self._desk = replace(desk, enrich=replace(desk.enrich, via=DIRECT))  # so that no batch is opened
        self._unwritten = _Unwritten(lake)
        self._taken: dict[str, tuple[str, ModelRequest]] = {}  # by input hash
        self._enricher = replace(
            enricher.for_desk(desk),
            models=tuple(self._counting(model.name) for model in enricher.models[:1]),
            open_model=self._counting,
            budget=Budget(),
        )

    def _counting(self, name: str) -> LanguageModel:
        return _Counting(name, self._taken)

    def add(self, keys: AgencyDays) -> None:
        """Count these agency-days."""
        before = set(self._taken)
        enrich_with_models(
            self._stage, self._unwritten, self._desk, keys, self._clock, self._enricher, None, re_enrich=True
        )
        taken = [one for key, one in self._taken.items() if key not in before]
        articles = [a for a in self._lake.read(RawArticle, keys, outcome=["ok"]) if (a.text or "").strip()]
        stored = {row.article_id: row for row in self._lake.read(EnrichedArticle, keys)}
        current = {a.article_id for a in articles if _is_current(stored.get(a.article_id), a)}
        found = self.found
        found.articles += len(articles)
        found.new += [one for one in taken if one[1].article_id not in current]
        found.again += [one for one in taken if one[1].article_id in current]
        asked = {request.article_id for _, request in taken if request.kind == "enrich"}
        for article in articles:
            if article.article_id not in asked:
                row = self._unwritten.enriched.get(article.article_id) or stored.get(article.article_id)
                _count(found, row)


def _is_current(row: EnrichedArticle | None, article: RawArticle) -> bool:
    return row is not None and row.outcome == "ok" and row.content_hash == article.content_hash


def _count(found: Found, row: EnrichedArticle | None) -> None:
    """Count an article for whose enrichment no model would be asked, by the row that it would have."""
    reason = (row.local_reason or "") if row else ""
    if row is None or row.outcome != "ok":
        found.failed += 1
    elif row.enricher == NOT_ENRICHED:
        found.not_sent["left out by the filters of the desk"] += 1
    elif row.reused_from:
        found.copies += 1
    elif row.enricher == ENRICHER:
        found.cached += 1
    elif reason.startswith("sure"):
        found.sure += 1
    elif reason.endswith("did not answer"):  # the same text is asked for once
        found.copies += 1
    else:
        found.not_sent[_kind_of(reason)] += 1


def _kind_of(reason: str) -> str:
    """Return a reason without what is particular to one article: its first two parts, without numbers and quotes."""
    general = reason.removeprefix("not sent: ").partition("“")[0].partition(", as ")[0].strip(" ,:")
    return " ".join(word for word in general.split() if not word.isdigit()) or "only the local enricher"


def estimated(
    calls: Sequence[tuple[str, ModelRequest]],
    known: Mapping[tuple[str, Kind], Tokens],
    at: datetime,
    *,
    is_batch: Callable[[str], bool],
) -> Sent:
    """Return what these calls are estimated to take, and to cost; `is_batch` of a model's calls.

    `known` has the mean tokens of earlier calls of the same model, kind and prompt; without any, characters are
    counted.
    """
    prices, inputs, outputs = [], 0, 0
    for model, request in calls:
        mean = known.get((model, request.kind))
        tokens_in = mean.input if mean else round(sent_chars(request) / CHARS_PER_TOKEN)
        tokens_out = mean.output if mean else OUTPUT_TOKENS
        prices.append(price_usd(model, tokens_in, tokens_out, mean.cached if mean else 0, at, is_batch=is_batch(model)))
        inputs, outputs = inputs + tokens_in, outputs + tokens_out
    usd = None if None in prices else total_usd(prices) or 0.0
    return Sent(len(calls), inputs, outputs, usd)
