"""Enrich articles.

    plan      what is due, with the local enricher's result          plan.py
    | store   the local rows, so that the later stages go on
    | request language models, directly or in a batch                model/direct.py, model/batches.py
    | store   each answer, its cost and its row, in one transaction

Results are cached by their input (title, text, enricher, model, prompt and taxonomy version), so an edited text is
enriched again and an unchanged one is not. Failures are not cached. A duplicate reuses its original's result, unless
its text is only nearly the same. Where no model gives a usable answer, the local result stays, with the reason; unless
the reason is in the article, the row is provisional, and requested again until a model answers.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.labels import labelled
from news_assets.pipeline.enrich.model.batches import BatchRequests
from news_assets.pipeline.enrich.model.direct import DirectRequests, ModelResults
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.model.ledger import Ledger
from news_assets.pipeline.enrich.model.reading.answer import Question
from news_assets.pipeline.enrich.model.themes import is_descended
from news_assets.pipeline.enrich.plan import DUE_NOW, Chain, Draft, Plan, plan_batch, reused
from news_assets.pipeline.enrich.rows import cached_results, enriched_row, unenriched_row
from news_assets.pipeline.stage_state.declaration import Stage, sha256
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports.enrichment import Enricher, LanguageModel, ModelRequest
from news_assets.ports.lake import Lake, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Enrichment

_Made = tuple[EnrichedArticle, str | None]  # a row, and why it is made again; None for a row that stays


def enrich_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Callable[[], datetime],
    *,
    enricher: Enricher | ModelEnricher,
    only: Collection[str] | None = None,
    re_enrich: bool = False,
    local_only: bool = False,
) -> int:
    """Enrich the stale articles of these agency-days; return how many rows were written.

    Local rows are stored first. With `local_only` the language models are left to another run.

    Raises:
        EnrichError: No model is available, and the desk wants no rows of the local enricher instead.
    """
    chain = Chain.of(enricher, desk)
    plan = plan_batch(lake, desk, keys, chain, clock(), only, re_enrich=re_enrich)
    run = _Run(stage, lake, desk, keys, clock, chain, plan)
    run.store_local()
    if chain.models is None or local_only:
        return len(run.written)
    unavailable = run.request(chain.models, is_backfill=re_enrich)
    if unavailable and desk.enrich.fallback == "none":
        raise EnrichError(unavailable)
    return len(run.written)


class _Run:
    """One call of `enrich_batch`: its plan becomes rows."""

    def __init__(
        self,
        stage: Stage,
        lake: Lake,
        desk: Desk,
        keys: AgencyDays,
        clock: Callable[[], datetime],
        chain: Chain,
        plan: Plan,
    ) -> None:
        self._stage, self._lake, self._desk, self._keys, self._clock = stage, lake, desk, keys, clock
        self._chain, self._plan, self._drafts = chain, plan, plan.drafts
        self._locals = {article.article_id: plan.local(article) for article in plan.readable}
        self._by_id = {article.article_id: article for article in plan.articles}
        self._versions = versions_of(plan.articles)
        self._copies_of: dict[str, list[str]] = {}
        for copy, original in plan.copies.items():
            self._copies_of.setdefault(original.article_id, []).append(copy)
        self.written: set[str] = set()

    # --- rows ---------------------------------------------------------------------------------------------------------

    def store_local(self) -> None:
        """Store what the local enricher found, of every article; of those to be requested until a model answers."""
        plan, now = self._plan, self._clock()
        for article in self._waiting():
            self._without_answer(article, "the language model has not answered yet", again=DUE_NOW)
        made = self._rows(self._drafts)
        made += [(self._labelled(unenriched_row(article, now)), None) for article in plan.filtered]
        changed = [one for one in made if not self._is_stored(*one)]
        lost = plan.stored.keys() - self._by_id.keys()
        if not (changed or plan.new_cache or lost):
            return

        def store(transaction: Rows) -> None:
            if plan.new_cache:
                transaction.upsert(plan.new_cache)
            self._store(transaction, changed)

        self._lake.transact(store)

    def _waiting(self) -> list[RawArticle]:
        """Return the articles of which a model is to be requested."""
        models = self._chain.models
        if models and models.entity_model(self._desk.enrich):
            return self._plan.readable
        return self._plan.requested

    def _draft_of(self, article_id: str) -> Draft:
        original = self._plan.copies.get(article_id)
        if original is None:
            return self._drafts[article_id]
        draft = self._draft_of(original.article_id)
        article = self._by_id[article_id]
        return reused(draft, article, original.article_id, original.text or "", self._chain.local)

    def _rows(self, article_ids: Iterable[str]) -> list[_Made]:
        """Return the rows of articles and of their copies, and why they are made again."""
        found: list[_Made] = []
        for article_id in article_ids:
            draft = self._draft_of(article_id)
            row = self._labelled(_row_of(self._by_id[article_id], draft, self._clock()))
            found.append((row, draft.again))
            found += self._rows(self._copies_of.get(article_id, ()))
        return found

    def _labelled(self, row: EnrichedArticle) -> EnrichedArticle:
        return labelled(row, self._plan.labels.get(row.article_id))

    def _store(self, transaction: Rows, made: Sequence[_Made]) -> None:
        """Store the rows that are new or changed, with the reasons why some are made again."""
        changed = [(row, again) for row, again in made if not self._is_stored(row, again)]
        reasons = {row.article_id: again for row, again in changed if again is not None}
        rows = [row for row, _ in changed]
        kept = store_derived(transaction, self._stage, self._keys, rows, self._versions, self._clock(), reasons)
        self.written |= {row.article_id for row in kept}

    def _is_stored(self, row: EnrichedArticle, again: str | None) -> bool:
        """Whether a row is stored already; what failed, or is made again, is stored again with the next attempt.

        A row of the article's present state stays until all of the next one is there.
        """
        stored = self._plan.stored.get(row.article_id)
        if stored is None:
            return False
        if again == DUE_NOW:
            same = replace(row, enriched_at=stored.enriched_at, local_reason=stored.local_reason)
            return self._plan.is_current(self._by_id[row.article_id]) or same == stored
        is_settled = row.outcome == "ok" and not row.is_provisional
        return is_settled and replace(row, enriched_at=stored.enriched_at) == stored

    # --- requests -----------------------------------------------------------------------------------------------------

    def request(self, models: ModelEnricher, *, is_backfill: bool) -> str:
        """Request the models of the chain, each for what the ones before left open, and then the entities.

        Return why no model is available, if none is.
        """
        models.budget.is_backfill |= is_backfill
        ledger = Ledger(self._lake, models.budget, self._clock)
        still, unavailable = self._plan.requested, []
        for model in models.models:
            answers = self._enrichments(models, model, ledger, still)
            still = [article for article in still if not self._has_answer(article)]
            unavailable += [answers] if answers else []
        self._add_entities(models, ledger)
        if made := self._rows([one.article_id for one in self._waiting() if self._is_open(one)]):
            self._lake.transact(lambda transaction: self._store(transaction, made))
        is_down = still and unavailable and len(unavailable) == len(models.models)
        return unavailable[-1] if is_down else ""

    def _is_open(self, article: RawArticle) -> bool:
        """Whether an article got no answer; a row of its present state stays then."""
        is_answered = self._has_answer(article) and self._drafts[article.article_id].again is None
        return not is_answered and not self._plan.is_current(article)

    def _has_answer(self, article: RawArticle) -> bool:
        """Whether a language model made the article's result."""
        return self._drafts[article.article_id].made_by.enricher != self._chain.local.name

    def _enrichments(
        self, models: ModelEnricher, model: LanguageModel, ledger: Ledger, articles: Sequence[RawArticle]
    ) -> str:
        """Request the enrichment of these articles by one model; return why it is unavailable, if it is."""
        if is_descended(models.taxonomy):
            branches, unavailable = self._branches(models, model, ledger, articles)
        else:
            branches, unavailable = dict.fromkeys((article.article_id for article in articles), None), ""
        articles = [article for article in articles if article.article_id in branches]
        prompts = models.prompts_of(articles, self._desk.enrich.depth)
        requests = {
            a.article_id: models.request(
                a, model.name, prompts[a.article_id], branches[a.article_id], self._desk.enrich
            )
            for a in articles
        }
        made_by = {a.article_id: models.made_by(model.name, prompts[a.article_id]) for a in articles}
        wants_entities = models.entity_model(self._desk.enrich) is not None

        def draft(article: RawArticle, key: str, found: Enrichment) -> Draft:
            again = DUE_NOW if wants_entities else None
            return Draft(key, found, made_by[article.article_id], again=again)

        answers = self._cached_or_requested(models, model, ledger, articles, requests, draft)
        for article in articles:
            key = requests[article.article_id].input_hash
            if key not in answers.results:
                reason = answers.reason(key, model.name)
                of_earlier_models = self._drafts[article.article_id].again or None
                self._without_answer(article, reason, again=of_earlier_models if key in answers.closed else reason)
        return answers.unavailable or unavailable

    def _branches(
        self, models: ModelEnricher, model: LanguageModel, ledger: Ledger, articles: Sequence[RawArticle]
    ) -> tuple[dict[str, str | None], str]:
        """Return the branch of a large taxonomy that a first call chooses, by article id; None where none fits.

        Articles whose first call has no answer yet are left out. Besides, why the model is unavailable, if it is.
        """
        requests = {a.article_id: models.theme_request(a, model.name, self._desk.enrich) for a in articles}
        answers = self._cached_or_requested(models, model, ledger, articles, requests, None)
        found: dict[str, str | None] = {}
        for article in articles:
            key = requests[article.article_id].input_hash
            chosen = answers.results.get(key)
            if chosen or key in answers.closed:
                found[article.article_id] = chosen.theme_path[-1] if chosen and chosen.theme_path else None
            else:
                reason = answers.reason(key, model.name)
                self._without_answer(article, reason, again=reason)
        return found, answers.unavailable

    def _add_entities(self, models: ModelEnricher, ledger: Ledger) -> None:
        """Request the entities of all articles that may be sent; without an answer a row has none."""
        model = models.entity_model(self._desk.enrich)
        if model is None or not self._plan.readable:
            return
        articles = self._plan.readable
        requests = {a.article_id: models.entities_request(a, model.name, self._desk.enrich) for a in articles}
        before = {a.article_id: self._drafts[a.article_id] for a in articles}

        def draft(article: RawArticle, key: str, found: Enrichment) -> Draft:
            former = before[article.article_id]
            if isinstance(former.enrichment, EnrichError):
                return former
            both = replace(former.enrichment, entities=found.entities, entities_json=found.entities_json)
            return replace(former, key=sha256(f"{former.key}\n{key}"), enrichment=both, again=former.again or None)

        answers = self._cached_or_requested(models, model, ledger, articles, requests, draft)
        for article in articles:
            former, key = self._drafts[article.article_id], requests[article.article_id].input_hash
            if key in answers.results:
                continue
            reason = None if key in answers.closed else f"no entities: {answers.reason(key, model.name)}"
            self._drafts[article.article_id] = replace(former, again=former.again or reason)

    def _cached_or_requested(
        self,
        models: ModelEnricher,
        model: LanguageModel,
        ledger: Ledger,
        articles: Sequence[RawArticle],
        requests: Mapping[str, ModelRequest],
        draft: Callable[[RawArticle, str, Enrichment], Draft] | None,
    ) -> ModelResults:
        """Return what a model says, now or before; rows are stored with each answer as `draft` makes them."""
        by_key: dict[str, list[RawArticle]] = {}
        for article in articles:
            by_key.setdefault(requests[article.article_id].input_hash, []).append(article)

        def store(transaction: Rows, results: Mapping[str, Enrichment]) -> None:
            if draft is None:
                return
            found: dict[str, Draft] = {}
            for key, result in results.items():
                found |= {one.article_id: draft(one, key, result) for one in by_key[key]}
            self._drafts |= found
            self._store(transaction, self._rows(found))

        known = cached_results(self._lake, by_key.keys())
        if known:
            self._lake.transact(lambda transaction: store(transaction, known))
        new = {
            key: Question(requests[first.article_id], first, self._locals[first.article_id])
            for key, (first, *_) in by_key.items()
            if key not in known
        }
        if not new:
            return ModelResults(known)
        direct = DirectRequests(self._lake, model, ledger, models.read, store, models.max_failures)
        sends_batches = partial(models.sends_batches, self._desk.enrich, model.name)
        if sends_batches(is_backfill=True):  # else no run does, and nothing can have to be sent so again
            only_again = not sends_batches(is_backfill=models.budget.is_backfill)
            batches = models.open_batches(model.name)
            answers = BatchRequests(self._lake, batches, direct, ledger, only_again=only_again).answer(new)
        else:
            answers = direct.answer(new)
        answers.results |= known
        return answers

    def _without_answer(self, article: RawArticle, reason: str, *, again: str | None) -> None:
        """Let the local result stay, or fail, as the desk file says."""
        before = self._drafts[article.article_id]
        if article not in self._plan.requested:  # only its entities are requested
            self._drafts[article.article_id] = replace(before, again=again)
        elif self._desk.enrich.fallback == "none":
            self._drafts[article.article_id] = replace(before, enrichment=EnrichError(reason), again=again)
        else:
            self._drafts[article.article_id] = replace(before, local_reason=reason, again=again)


def _row_of(article: RawArticle, draft: Draft, now: datetime) -> EnrichedArticle:
    row = enriched_row(
        article,
        draft.key,
        draft.enrichment,
        draft.made_by,
        now,
        reused_from=draft.reused_from,
        local_reason=draft.local_reason,
    )
    is_settled = draft.again is None or (row.outcome != "ok" and draft.again != DUE_NOW)
    return row if is_settled else replace(row, is_provisional=True)
