"""Enrich articles.

    plan      what is due, with the local enricher's result               plan.py
    | store   the local rows, so that the later stages go on
    | request language models, one by one or in batches                   model/
    | store   each answer, its cost and its row, in one transaction

Results are cached by their input (title, text, enricher, model, prompt and taxonomy
version), so an edited text is enriched again and an unchanged one is not. Failures are
not cached. A duplicate reuses its original's result, unless its text is only nearly the
same. Where no model gives a usable answer, the local result stays, with the reason;
unless the reason is in the article, the row is provisional, and requested again until a
model answers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.enriched_rows import (
    cached_results,
    enriched_row,
    labelled,
    theme_of,
    unenriched_row,
)
from news_assets.pipeline.enrich.model.answer_checks import Question
from news_assets.pipeline.enrich.model.direct_requests import (
    DirectRequests,
    ModelResults,
    Storing,
)
from news_assets.pipeline.enrich.model.ledger import Clock, Ledger
from news_assets.pipeline.enrich.model.model_batches import BatchRequests
from news_assets.pipeline.enrich.model.model_enricher import ModelEnricher
from news_assets.pipeline.enrich.model.model_requests import is_descended
from news_assets.pipeline.enrich.plan import (
    DUE_NOW,
    Chain,
    Draft,
    Plan,
    plan_batch,
    reused,
)
from news_assets.pipeline.stage_state.declaration import Stage, sha256
from news_assets.pipeline.stage_state.rows import store_derived, versions_of
from news_assets.ports.enrichment import Enricher, LanguageModel, ModelRequest
from news_assets.ports.lake import Lake, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Enrichment

_Made = tuple[EnrichedArticle, str | None]  # a row, and why it is made again, if it is


def enrich_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Clock,
    *,
    enricher: Enricher | ModelEnricher,
    only: Collection[str] | None = None,
    re_enrich: bool = False,
    local_only: bool = False,
) -> int:
    """Enrich the stale articles of these agency-days; return how many rows were
    written.

    Local rows are stored first. With `local_only` the language models are left to
    another run.

    Raises:
        EnrichError: No model is available, and the desk wants no rows of the local
            enricher instead.
    """
    chain = Chain.of(enricher, desk)
    plan = plan_batch(lake, desk, keys, chain, clock(), only, re_enrich=re_enrich)
    drafts = _Drafts(stage, lake, desk, keys, clock, chain, plan)
    drafts.store_local()
    if chain.models is None or local_only:
        return len(drafts.written)
    unavailable = _Requests(drafts, chain.models, is_backfill=re_enrich).run()
    if unavailable and desk.enrich.fallback == "none":
        raise EnrichError(unavailable)
    return len(drafts.written)


class _Drafts:
    """The drafts of a plan, and the rows that they become.

    `written` has the ids of the articles whose rows were stored.
    """

    def __init__(
        self,
        stage: Stage,
        lake: Lake,
        desk: Desk,
        keys: AgencyDays,
        clock: Clock,
        chain: Chain,
        plan: Plan,
    ) -> None:
        self._stage, self._keys, self._chain = stage, keys, chain
        self.lake, self.desk, self.clock, self.plan = lake, desk, clock, plan
        self._by_id = {article.article_id: article for article in plan.articles}
        self._requested = {article.article_id for article in plan.requested}
        self._versions = versions_of(plan.articles)
        self._copies_of: dict[str, list[str]] = {}
        for copy, original in plan.copies.items():
            self._copies_of.setdefault(original.article_id, []).append(copy)
        self.written: set[str] = set()

    def __getitem__(self, article: RawArticle) -> Draft:
        return self.plan.drafts[article.article_id]

    def __setitem__(self, article: RawArticle, draft: Draft) -> None:
        self.plan.drafts[article.article_id] = draft

    def has_answer(self, article: RawArticle) -> bool:
        """Whether a language model made the article's result."""
        return self[article].made_by.enricher != self._chain.local.name

    def without_answer(
        self, article: RawArticle, reason: str, *, again: str | None
    ) -> None:
        """Let the local result stay, or fail, as the desk file says."""
        before = self[article]
        if article.article_id not in self._requested:  # only its entities are requested
            self[article] = replace(before, again=again)
        elif self.desk.enrich.fallback == "none":
            self[article] = replace(before, enrichment=EnrichError(reason), again=again)
        else:
            self[article] = replace(before, local_reason=reason, again=again)

    def store_local(self) -> None:
        """Store what the local enricher found, of every article, until a model answers."""
        plan, now = self.plan, self.clock()
        for article in self._waiting():
            self.without_answer(
                article, "the language model has not answered yet", again=DUE_NOW
            )
        made = self._rows(plan.drafts)
        made += [
            (self._labelled(unenriched_row(article, now)), None)
            for article in plan.filtered
        ]
        changed = [one for one in made if not self._is_stored(*one)]
        lost = plan.stored.keys() - self._by_id.keys()
        if not (changed or plan.new_cache or lost):
            return

        def store(transaction: Rows) -> None:
            if plan.new_cache:
                transaction.upsert(plan.new_cache)
            self._store(transaction, changed)

        self.lake.transact(store)

    def store_answered(self, transaction: Rows, found: Mapping[str, Draft]) -> None:
        """Store the rows of these drafts, by article id, and those of their copies."""
        self.plan.drafts |= found
        self._store(transaction, self._rows(found))

    def store_open(self) -> None:
        """Store why articles got no answer; a row of its present state stays then."""
        ids = [
            article.article_id for article in self._waiting() if self._is_open(article)
        ]
        if made := self._rows(ids):
            self.lake.transact(lambda transaction: self._store(transaction, made))

    def _waiting(self) -> list[RawArticle]:
        """Return the articles of which a model is to be requested."""
        models = self._chain.models
        if models and models.entity_model(self.desk.enrich):
            return self.plan.readable
        return self.plan.requested

    def _is_open(self, article: RawArticle) -> bool:
        is_answered = self.has_answer(article) and self[article].again is None
        return not is_answered and not self.plan.is_current(article)

    def _draft_of(self, article_id: str) -> Draft:
        original = self.plan.copies.get(article_id)
        if original is None:
            return self.plan.drafts[article_id]
        draft = self._draft_of(original.article_id)
        article = self._by_id[article_id]
        return reused(
            draft, article, original.article_id, original.text or "", self._chain.local
        )

    def _rows(self, article_ids: Iterable[str]) -> list[_Made]:
        """Return the rows of articles and of their copies, and why they are made again."""
        found: list[_Made] = []
        for article_id in article_ids:
            draft = self._draft_of(article_id)
            row = self._labelled(_row_of(self._by_id[article_id], draft, self.clock()))
            found.append((row, draft.again))
            found += self._rows(self._copies_of.get(article_id, ()))
        return found

    def _labelled(self, row: EnrichedArticle) -> EnrichedArticle:
        return labelled(row, self.plan.labels.get(row.article_id))

    def _store(self, transaction: Rows, made: Sequence[_Made]) -> None:
        """Store the rows that are new or changed, with the reasons why some are made
        again.
        """
        changed = [one for one in made if not self._is_stored(*one)]
        reasons = {row.article_id: again for row, again in changed if again is not None}
        rows = [row for row, _ in changed]
        kept = store_derived(
            transaction,
            self._stage,
            self._keys,
            rows,
            self._versions,
            self.clock(),
            reasons,
        )
        self.written |= {row.article_id for row in kept}

    def _is_stored(self, row: EnrichedArticle, again: str | None) -> bool:
        """Whether a row is stored already.

        What failed, or is made again, is stored again with the next attempt.

        A row of the article's present state stays until all of the next one is there.
        """
        stored = self.plan.stored.get(row.article_id)
        if stored is None:
            return False
        if again == DUE_NOW:
            same = replace(
                row, enriched_at=stored.enriched_at, local_reason=stored.local_reason
            )
            return self.plan.is_current(self._by_id[row.article_id]) or same == stored
        is_settled = row.outcome == "ok" and not row.is_provisional
        return is_settled and replace(row, enriched_at=stored.enriched_at) == stored


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


class _Requests:
    """The requests of one run to the language models of a desk, whose answers replace
    drafts.
    """

    def __init__(
        self, drafts: _Drafts, models: ModelEnricher, *, is_backfill: bool
    ) -> None:
        models.budget.is_backfill |= is_backfill
        self._drafts, self._models, self._rules = drafts, models, drafts.desk.enrich
        self._ledger = Ledger(drafts.lake, models.budget, drafts.clock)

    def run(self) -> str:
        """Request the models of the chain, each for what is still open, and then the
        entities.

        Return why no model is available, if none is.
        """
        still = self._drafts.plan.requested
        reasons: list[str] = []
        for model in self._models.models:
            reasons.append(self._enrich(model, still))
            still = [
                article for article in still if not self._drafts.has_answer(article)
            ]
        self._add_entities()
        self._drafts.store_open()
        return reasons[-1] if still and reasons and all(reasons) else ""

    def _enrich(self, model: LanguageModel, articles: Sequence[RawArticle]) -> str:
        """Request the enrichment of these articles by one model.

        Return why it is unavailable, if it is.
        """
        branches, unavailable = self._branches(model, articles)
        chosen = [article for article in articles if article.article_id in branches]
        prompts = self._models.prompts_of(chosen, self._rules.depth)
        requests = {}
        for article in chosen:
            prompt, branch = prompts[article.article_id], branches[article.article_id]
            request = self._models.request(
                article, model.name, prompt, branch, self._rules
            )
            requests[article.article_id] = request
        again = DUE_NOW if self._models.entity_model(self._rules) else None

        def draft(article: RawArticle, key: str, found: Enrichment) -> Draft:
            made_by = self._models.made_by(model.name, prompts[article.article_id])
            return Draft(key, found, made_by, again=again)

        answers = self._answers(model, chosen, requests, draft)
        for article, reason, is_closed in _unanswered(chosen, requests, answers, model):
            of_earlier_models = self._drafts[article].again or None
            self._drafts.without_answer(
                article, reason, again=of_earlier_models if is_closed else reason
            )
        return answers.unavailable or unavailable

    def _branches(
        self, model: LanguageModel, articles: Sequence[RawArticle]
    ) -> tuple[dict[str, str | None], str]:
        """Return the branch of a large taxonomy that a first call chooses, by article
        id.

        It is None where none fits; articles whose first call has no answer yet are left
        out. Besides, why the model is unavailable, if it is.
        """
        if not is_descended(self._models.taxonomy):
            return {article.article_id: None for article in articles}, ""
        request = partial(
            self._models.theme_request, model=model.name, rules=self._rules
        )
        requests = {article.article_id: request(article) for article in articles}
        answers = self._answers(model, articles, requests)
        found: dict[str, str | None] = {}
        for article_id, sent in requests.items():
            found[article_id] = theme_of(answers.results.get(sent.input_hash))
        for article, reason, is_closed in _unanswered(
            articles, requests, answers, model
        ):
            if not is_closed:
                del found[article.article_id]
                self._drafts.without_answer(article, reason, again=reason)
        return found, answers.unavailable

    def _add_entities(self) -> None:
        """Request the entities of all articles that may be sent.

        Without an answer a row has none.
        """
        model = self._models.entity_model(self._rules)
        if model is None:
            return
        articles = self._drafts.plan.readable
        request = partial(
            self._models.entities_request, model=model.name, rules=self._rules
        )
        requests = {article.article_id: request(article) for article in articles}
        before = {article.article_id: self._drafts[article] for article in articles}

        def draft(article: RawArticle, key: str, found: Enrichment) -> Draft:
            return _with_entities(before[article.article_id], key, found)

        answers = self._answers(model, articles, requests, draft)
        for article, reason, is_closed in _unanswered(
            articles, requests, answers, model
        ):
            former = self._drafts[article]
            no_entities = None if is_closed else f"no entities: {reason}"
            self._drafts[article] = replace(former, again=former.again or no_entities)

    def _answers(
        self,
        model: LanguageModel,
        articles: Sequence[RawArticle],
        requests: Mapping[str, ModelRequest],
        draft: Callable[[RawArticle, str, Enrichment], Draft] | None = None,
    ) -> ModelResults:
        """Return what a model says, now or before.

        Rows are stored with each answer as `draft` makes them.
        """
        lake, locals_ = self._drafts.lake, self._drafts.plan.locals
        by_key: dict[str, list[RawArticle]] = {}
        for article in articles:
            by_key.setdefault(requests[article.article_id].input_hash, []).append(
                article
            )

        def store(transaction: Rows, results: Mapping[str, Enrichment]) -> None:
            if draft is None:
                return
            found: dict[str, Draft] = {}
            for key, result in results.items():
                found |= {
                    one.article_id: draft(one, key, result) for one in by_key[key]
                }
            self._drafts.store_answered(transaction, found)

        known = cached_results(lake, by_key.keys())
        if known:
            lake.transact(lambda transaction: store(transaction, known))
        new: dict[str, Question] = {}
        for key, (first, *_) in by_key.items():
            if key not in known:
                new[key] = Question(
                    requests[first.article_id], first, locals_[first.article_id]
                )
        answers = self._sender(model, store).answer(new) if new else ModelResults()
        answers.results |= known
        return answers

    def _sender(
        self, model: LanguageModel, store: Storing
    ) -> DirectRequests | BatchRequests:
        """Return what sends the requests to a model: one by one, or in batches."""
        models, lake = self._models, self._drafts.lake
        direct = DirectRequests(
            lake, model, self._ledger, models.read, store, models.max_failures
        )
        sends_batches = partial(models.sends_batches, self._rules, model.name)
        # no run does, so nothing is sent so again
        if not sends_batches(is_backfill=True):
            return direct
        only_again = not sends_batches(is_backfill=models.budget.is_backfill)
        return BatchRequests(
            lake,
            models.open_batches(model.name),
            direct,
            self._ledger,
            only_again=only_again,
        )


def _unanswered(
    articles: Iterable[RawArticle],
    requests: Mapping[str, ModelRequest],
    answers: ModelResults,
    model: LanguageModel,
) -> Iterator[tuple[RawArticle, str, bool]]:
    """Yield the articles without a result, with the reason, and whether their input is
    closed.
    """
    for article in articles:
        key = requests[article.article_id].input_hash
        if key not in answers.results:
            yield article, answers.reason(key, model.name), key in answers.closed


def _with_entities(former: Draft, key: str, found: Enrichment) -> Draft:
    """Return a draft with the entities of another answer, whose input has the hash
    `key`.
    """
    if isinstance(former.enrichment, EnrichError):
        return former
    both = replace(
        former.enrichment, entities=found.entities, entities_json=found.entities_json
    )
    both_keys = sha256(f"{former.key}\n{key}")
    return replace(former, key=both_keys, enrichment=both, again=former.again or None)
