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

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.ledger import Ledger
from news_assets.pipeline.enrich.model.model_batches import BatchRequests
from news_assets.pipeline.enrich.model.model_requests import Prompt, is_descended
from news_assets.pipeline.enrich.plan import (
    Chain,
    Draft,
    Plan,
    plan_batch,
    reused,
)
from news_assets.pipeline.stage_declaration import Stage
from news_assets.pipeline.storing import states_of, store_derived
from news_assets.ports.services import (
    Clock,
    Enricher,
    Lake,
    LanguageModel,
    ModelRequest,
    Rows,
)
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Enrichment
from news_assets.text.fingerprint import sha256

_LOG = logging.getLogger(__name__)


def enrich_batch(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Clock,
    *,
    enricher: Enricher | Enrichers,
    only: Collection[str] | None = None,
    re_enrich: bool = False,
    local_only: bool = False,
) -> int:
    """Enrich the stale articles of these agency-days; return how many rows were
    written.

    Local rows are stored first.

    Args:
        stage: That of enriched articles.
        lake: Has the articles, the cache and the ledger.
        desk: Whose rules apply.
        keys: The agency-days.
        clock: Returns the present time.
        enricher: The local one, alone or with language models after it.
        only: The ids of the articles; all where it is None.
        re_enrich: Whether articles are enriched again that models answered for.
        local_only: Whether the language models are called by another run.

    Raises:
        EnrichError: No model is available, and the desk wants no rows of the local
            enricher instead.
    """
    chain = Chain.of(enricher, desk)
    plan = plan_batch(lake, desk, keys, chain, clock(), only, re_enrich=re_enrich)
    drafts = _Drafts(stage, lake, desk, keys, clock, chain, plan)
    drafts.store_local()
    if chain.with_models is None or local_only:
        return len(drafts.written)
    unavailable = _ModelRun(drafts, chain.with_models, is_backfill=re_enrich).run()
    if unavailable and desk.enrich.fallback == "none":
        raise EnrichError(unavailable)
    return len(drafts.written)


class _NewRow(NamedTuple):
    """A row that is new or changed, with `retry_reason` and `awaits_model` of its
    draft.
    """

    row: EnrichedArticle
    retry_reason: str | None = None
    awaits_model: bool = False


@dataclass(slots=True)
class _Drafts:
    """The drafts of a plan, and the rows that they become.

    `written` has the ids of the articles whose rows were stored.
    """

    stage: Stage
    lake: Lake
    desk: Desk
    keys: AgencyDays
    clock: Clock
    chain: Chain
    plan: Plan
    written: set[str] = field(default_factory=set)
    _articles: dict[str, RawArticle] = field(default_factory=dict)
    _requested: set[str] = field(default_factory=set)
    _copies_of: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for article in self.plan.articles:
            self._articles[article.article_id] = article
        self._requested.update(article.article_id for article in self.plan.requested)
        for copy, original in self.plan.copies.items():
            self._copies_of.setdefault(original.article_id, []).append(copy)

    def __getitem__(self, article: RawArticle) -> Draft:
        return self.plan.drafts[article.article_id]

    def __setitem__(self, article: RawArticle, draft: Draft) -> None:
        self.plan.drafts[article.article_id] = draft

    def has_answer(self, article: RawArticle) -> bool:
        """Whether a language model made the article's result."""
        return self[article].made_by.enricher != self.chain.local.name

    def mark_unanswered(
        self,
        article: RawArticle,
        reason: str,
        retry_reason: str | None,
        *,
        awaits_model: bool = False,
    ) -> None:
        """Let the local result stay, or fail, as the desk file says."""
        draft = replace(
            self[article], retry_reason=retry_reason, awaits_model=awaits_model
        )
        if article.article_id not in self._requested:  # only its entities are requested
            self[article] = draft
        elif self.desk.enrich.fallback == "none":
            self[article] = replace(draft, enrichment=EnrichError(reason))
        else:
            self[article] = replace(draft, local_reason=reason)

    def store_local(self) -> None:
        """Store what the local enricher found, of every article, until a model answers."""
        plan, now = self.plan, self.clock()
        for article in self._sent_to_models():
            reason = "the language model has not answered yet"
            self.mark_unanswered(article, reason, None, awaits_model=True)
        changed = self._changed(plan.drafts)
        for article in plan.filtered:
            self._add(changed, _NewRow(unenriched_row(article, now)))
        has_lost_articles = not plan.stored.keys() <= self._articles.keys()
        if not (changed or plan.new_cache or has_lost_articles):
            return

        def store(rows: Rows) -> None:
            if plan.new_cache:
                rows.upsert(plan.new_cache)
            self._store(rows, changed)

        self.lake.transact(store)

    def store_answered(self, rows: Rows, found: Mapping[str, Draft]) -> None:
        """Store the rows of these drafts, by article id, and those of their copies."""
        self.plan.drafts |= found
        self._store(rows, self._changed(found))

    def store_unanswered(self) -> None:
        """Store why articles got no answer; a row of its present state stays then."""
        unanswered: list[str] = []
        for article in self._sent_to_models():
            draft = self[article]
            stays = draft.retry_reason is None and not draft.awaits_model
            if stays and self.has_answer(article):
                continue
            if not self.plan.is_current(article):
                unanswered.append(article.article_id)
        if changed := self._changed(unanswered):
            self.lake.transact(lambda rows: self._store(rows, changed))

    def _sent_to_models(self) -> list[RawArticle]:
        """Return the articles for which a model is called; none without models."""
        enrichers = self.chain.with_models
        if enrichers and enrichers.entity_model(self.desk.enrich):
            return self.plan.readable
        return self.plan.requested

    def _own_or_reused(self, article_id: str) -> Draft:
        """Return the draft of an article, of a copy made from that of its original."""
        original = self.plan.copies.get(article_id)
        if original is None:
            return self.plan.drafts[article_id]
        return reused(
            self._own_or_reused(original.article_id),
            self._articles[article_id],
            original.article_id,
            original.text or "",
            self.chain.local,
        )

    def _changed(self, article_ids: Iterable[str]) -> list[_NewRow]:
        """Return the rows of articles and of their copies that are not stored so."""
        changed: list[_NewRow] = []
        for article_id in article_ids:
            draft = self._own_or_reused(article_id)
            article = self._articles[article_id]
            row = enriched_row(
                article,
                draft.key,
                draft.enrichment,
                draft.made_by,
                self.clock(),
                reused_from=draft.reused_from,
                local_reason=draft.local_reason,
            )
            is_retried = draft.retry_reason is not None and row.outcome == "ok"
            if draft.awaits_model or is_retried:
                row = replace(row, is_provisional=True)
            self._add(changed, _NewRow(row, draft.retry_reason, draft.awaits_model))
            changed += self._changed(self._copies_of.get(article_id, ()))
        return changed

    def _add(self, changed: list[_NewRow], new: _NewRow) -> None:
        """Add a row with the theme that a person gave, unless it is stored so."""
        row = labelled(new.row, self.plan.labels.get(new.row.article_id))
        if not self._is_stored(row, awaits_model=new.awaits_model):
            changed.append(new._replace(row=row))

    def _store(self, rows: Rows, changed: Sequence[_NewRow]) -> None:
        """Store rows, with the reasons why some are made again."""
        reasons: dict[str, str | None] = {}
        for row, retry_reason, awaits_model in changed:
            if retry_reason is not None or awaits_model:
                reasons[row.article_id] = retry_reason
        kept = store_derived(
            rows,
            self.stage,
            self.keys,
            [new.row for new in changed],
            states_of(self.plan.articles),
            self.clock(),
            reasons,
        )
        self.written.update(row.article_id for row in kept)

    def _is_stored(self, row: EnrichedArticle, *, awaits_model: bool) -> bool:
        """Whether a row is stored already.

        What failed, or is made again, is stored again with the next attempt.

        A row of the article's present state stays until all of the next one is there.
        """
        stored = self.plan.stored.get(row.article_id)
        if stored is None:
            return False
        same = replace(row, enriched_at=stored.enriched_at)
        if awaits_model:
            if self.plan.is_current(self._articles[row.article_id]):
                return True
            return replace(same, local_reason=stored.local_reason) == stored
        is_settled = row.outcome == "ok" and not row.is_provisional
        if not is_settled:
            return False
        return same == stored


class _Unanswered(NamedTuple):
    """An article without a result, why, and whether its input is never sent again."""

    article: RawArticle
    reason: str
    is_closed: bool


class _ModelRun:
    """One run of the language models of a desk over what is open: their answers replace
    drafts.
    """

    def __init__(
        self, drafts: _Drafts, enrichers: Enrichers, *, is_backfill: bool
    ) -> None:
        enrichers.budget.is_backfill |= is_backfill
        self._drafts, self._enrichers = drafts, enrichers
        self._lake = drafts.lake
        self._rules = drafts.desk.enrich
        self._ledger = Ledger(drafts.lake, enrichers.budget, drafts.clock)

    def run(self) -> str:
        """Call the models of the chain, each for what is still open, and then the one
        for entities.

        Return why no model is available, if none is.
        """
        unanswered = self._drafts.plan.requested
        reasons: list[str] = []
        for model in self._enrichers.models:
            reasons.append(self._enrich(model, unanswered))
            unanswered = [
                article
                for article in unanswered
                if not self._drafts.has_answer(article)
            ]
        self._add_entities()
        self._drafts.store_unanswered()
        if not unanswered:
            return ""
        if not all(reasons):
            return ""
        return reasons[-1] if reasons else ""

    def _enrich(self, model: LanguageModel, articles: Sequence[RawArticle]) -> str:
        """Request the enrichment of these articles by one model.

        Return why it is unavailable, if it is.
        """
        branches, unavailable = self._branches(model, articles)
        chosen = [article for article in articles if article.article_id in branches]
        prompts = self._enrichers.prompts_of(chosen, self._rules.depth)
        requests: dict[str, ModelRequest] = {}
        for article in chosen:
            article_id = article.article_id
            requests[article_id] = self._request(
                article, model, prompts[article_id], branches[article_id]
            )
        awaits_entities = self._enrichers.entity_model(self._rules) is not None

        def draft(article: RawArticle, key: str, found: Enrichment) -> Draft:
            made_by = self._enrichers.made_by(model.name, prompts[article.article_id])
            return Draft(key, found, made_by, awaits_model=awaits_entities)

        answers = self._answers(model, chosen, requests, draft)
        for one in _unanswered(chosen, requests, answers, model):
            retry_reason: str | None = one.reason
            if one.is_closed:  # an earlier model may still answer
                retry_reason = self._drafts[one.article].retry_reason
            self._drafts.mark_unanswered(one.article, one.reason, retry_reason)
        return answers.unavailable or unavailable

    def _branches(
        self, model: LanguageModel, articles: Sequence[RawArticle]
    ) -> tuple[dict[str, str | None], str]:
        """Return the branch of a large taxonomy that a first call chooses, by article
        id.

        It is None where none fits; articles whose first call has no answer yet are
        missing. Besides, why the model is unavailable, if it is.
        """
        found: dict[str, str | None] = {}
        if not is_descended(self._enrichers.taxonomy):
            for article in articles:
                found[article.article_id] = None
            return found, ""
        requests: dict[str, ModelRequest] = {}
        for article in articles:
            requests[article.article_id] = self._request(
                article, model, self._enrichers.theme_prompt
            )
        answers = self._answers(model, articles, requests)
        for article_id, sent in requests.items():
            found[article_id] = theme_of(answers.results.get(sent.input_hash))
        for article, reason, is_closed in _unanswered(
            articles, requests, answers, model
        ):
            if not is_closed:
                del found[article.article_id]
                self._drafts.mark_unanswered(article, reason, reason)
        return found, answers.unavailable

    def _add_entities(self) -> None:
        """Request the entities of all articles that may be sent.

        Without an answer a row has none.
        """
        model = self._enrichers.entity_model(self._rules)
        if model is None:
            return
        articles = self._drafts.plan.readable
        requests: dict[str, ModelRequest] = {}
        before: dict[str, Draft] = {}
        for article in articles:
            requests[article.article_id] = self._request(
                article, model, self._enrichers.entities_prompt
            )
            before[article.article_id] = self._drafts[article]

        def draft(article: RawArticle, key: str, found: Enrichment) -> Draft:
            return _with_entities(before[article.article_id], key, found)

        answers = self._answers(model, articles, requests, draft)
        for article, reason, is_closed in _unanswered(
            articles, requests, answers, model
        ):
            former = self._drafts[article]
            retry_reason = former.retry_reason
            if retry_reason is None and not is_closed:
                retry_reason = f"no entities: {reason}"
            self._drafts[article] = replace(
                former, retry_reason=retry_reason, awaits_model=False
            )

    def _request(
        self,
        article: RawArticle,
        model: LanguageModel,
        prompt: Prompt,
        branch: str | None = None,
    ) -> ModelRequest:
        return self._enrichers.request(article, model.name, prompt, branch, self._rules)

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
        by_key = _by_input(articles, requests)

        def store(rows: Rows, results: Mapping[str, Enrichment]) -> None:
            if draft is None:
                return
            found: dict[str, Draft] = {}
            for key, result in results.items():
                for article in by_key[key]:
                    found[article.article_id] = draft(article, key, result)
            self._drafts.store_answered(rows, found)

        known = cached_results(self._lake, by_key.keys())
        if known:
            self._lake.transact(lambda rows: store(rows, known))
        _LOG.debug("%s is not called for %d cached answers", model.name, len(known))
        firsts = {key: found[0] for key, found in by_key.items() if key not in known}
        new = self._questions(firsts, requests)
        answers = self._sender(model, store).answer(new) if new else ModelResults()
        answers.results |= known
        return answers

    def _questions(
        self, articles: Mapping[str, RawArticle], requests: Mapping[str, ModelRequest]
    ) -> dict[str, Question]:
        """Return the questions about these articles, by input hash."""
        questions: dict[str, Question] = {}
        for key, article in articles.items():
            local = self._drafts.plan.locals[article.article_id]
            questions[key] = Question(requests[article.article_id], article, local)
        return questions

    def _sender(
        self, model: LanguageModel, store: Storing
    ) -> DirectRequests | BatchRequests:
        """Return what sends the requests to a model: one by one, or in batches."""
        enrichers = self._enrichers
        rules = self._rules
        lake = self._lake
        direct = DirectRequests(
            lake, model, self._ledger, enrichers.read, store, enrichers.max_failures
        )
        if not enrichers.sends_batches(rules, model.name, is_backfill=True):
            return direct  # no run sends batches, so none is repeated
        sends_all = enrichers.sends_batches(
            rules, model.name, is_backfill=enrichers.budget.is_backfill
        )
        batches = enrichers.open_batches(model.name)
        return BatchRequests(
            lake, batches, direct, self._ledger, only_again=not sends_all
        )


def _by_input(
    articles: Iterable[RawArticle], requests: Mapping[str, ModelRequest]
) -> dict[str, list[RawArticle]]:
    """Return the articles by the input hash of their requests: equal texts have one."""
    found: dict[str, list[RawArticle]] = {}
    for article in articles:
        key = requests[article.article_id].input_hash
        found.setdefault(key, []).append(article)
    return found


def _unanswered(
    articles: Iterable[RawArticle],
    requests: Mapping[str, ModelRequest],
    answers: ModelResults,
    model: LanguageModel,
) -> Iterator[_Unanswered]:
    for article in articles:
        key = requests[article.article_id].input_hash
        if key not in answers.results:
            reason = answers.reason(key, model.name)
            _LOG.debug(
                "%s: no answer of %s: %s", article.article_id, model.name, reason
            )
            yield _Unanswered(article, reason, key in answers.closed)


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
    return replace(former, key=both_keys, enrichment=both, awaits_model=False)
