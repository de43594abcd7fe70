"""What a backfill would request of language models: the plan of the enrichment, counted
and priced.

Nothing is sent and nothing is stored. The local enricher reads the texts that it has
not read before.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from news_assets.pipeline.enrich.enriched_rows import cached_results
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.model_requests import is_descended
from news_assets.pipeline.enrich.model.prices import expected_tokens, price_usd
from news_assets.pipeline.enrich.plan import (
    COPY,
    CURRENT,
    FAILED,
    SURE,
    Chain,
    Plan,
    counts_of,
    plan_batch,
)
from news_assets.ports.services import Clock, Lake, ModelRequest
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk
from news_assets.records.model_calls import Kind, Tokens, total_usd
from news_assets.records.reading import AgencyDays

_ModelCalls = list[tuple[str, ModelRequest]]  # model and request


@dataclass(frozen=True, slots=True)
class Sent:
    """Calls that would be made, and what they are estimated to take.

    `usd` is None if the price is not known.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0


@dataclass(slots=True)
class Found:
    """The articles with a text, each counted once, and the calls that would be made.

    `new` have no row of their present state: any run sends them. `again` have one, of
    another model, prompt or taxonomy, and are sent with `re_enrich` only. `not_sent`
    counts by reason.
    """

    articles: int = 0
    copies: int = 0
    cached: int = 0
    sure: int = 0
    failed: int = 0
    not_sent: Counter[str] = field(default_factory=Counter)
    new: _ModelCalls = field(default_factory=list)
    again: _ModelCalls = field(default_factory=list)


class Preview:
    """Counts what a run over agency-days would send, a batch after the other.

    Of a chain the first model is counted: it is requested for everything, and the
    others for what it leaves.
    """

    def __init__(
        self,
        lake: Lake,
        desk: Desk,
        enricher: Enrichers,
        clock: Clock,
    ) -> None:
        self.found = Found()
        self._lake = lake
        self._desk = desk
        self._clock = clock
        self._chain = Chain.of(enricher, desk)
        self._seen: set[str] = set()  # input hashes

    def add(self, keys: AgencyDays) -> None:
        """Count these agency-days."""
        plan = plan_batch(
            self._lake, self._desk, keys, self._chain, self._clock(), re_enrich=True
        )
        self._count_unsent(plan)
        self._count_requests(plan)

    def _count_unsent(self, plan: Plan) -> None:
        counts, found = counts_of(plan), self.found
        found.articles += len(plan.articles)
        found.copies += counts.pop(COPY, 0)
        found.sure += counts.pop(SURE, 0)
        found.failed += counts.pop(FAILED, 0)
        counts.pop(CURRENT, 0)
        found.not_sent += counts

    def _count_requests(self, plan: Plan) -> None:
        found = self.found
        requests = list(self._requests(plan))
        hashes = {request.input_hash for _, _, request in requests}
        known = cached_results(self._lake, hashes)
        for article, model, request in requests:
            key = request.input_hash
            if key in known:
                found.cached += request.kind == "enrich"
            elif key in self._seen:
                found.copies += request.kind == "enrich"
            else:
                calls = found.again if plan.is_current(article) else found.new
                calls.append((model, request))
            self._seen.add(key)

    def _requests(self, plan: Plan) -> Iterator[tuple[RawArticle, str, ModelRequest]]:
        enrichers = self._chain.with_models
        rules = self._desk.enrich
        if enrichers is None:
            return
        prompts = enrichers.prompts_of(plan.requested, rules.depth)
        for article in plan.requested:
            name = enrichers.models[0].name
            if is_descended(enrichers.taxonomy):
                request = enrichers.request(
                    article, name, enrichers.theme_prompt, None, rules
                )
                yield article, name, request
            prompt = prompts[article.article_id]
            request = enrichers.request(article, name, prompt, None, rules)
            yield article, name, request
        if entity_model := enrichers.entity_model(rules):
            name = entity_model.name
            prompt = enrichers.entities_prompt
            for article in plan.readable:
                request = enrichers.request(article, name, prompt, None, rules)
                yield article, name, request


def estimated(
    calls: Sequence[tuple[str, ModelRequest]],
    known: Mapping[tuple[str, Kind], Tokens],
    at: datetime,
    *,
    is_batch: Callable[[str], bool],
) -> Sent:
    """Return what these calls are estimated to take, and to cost; `is_batch` of a
    model's calls.

    `known` has what earlier calls of the same model, kind and prompt took; without any,
    characters are counted.
    """
    prices: list[float | None] = []
    inputs, outputs = 0, 0
    for model, request in calls:
        tokens = expected_tokens(request, known.get((model, request.kind)))
        prices.append(price_usd(model, *tokens, at, is_batch=is_batch(model)))
        inputs += tokens[0]
        outputs += tokens[1]
    usd = total_usd(prices) or 0.0
    return Sent(len(calls), inputs, outputs, None if None in prices else usd)
