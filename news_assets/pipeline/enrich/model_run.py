"""The results of one run that asks language models: which of them is asked for which article, and what the rows are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from news_assets.errors import EnrichError
from news_assets.pipeline.articles.likeness import NEARLY_SAME_TEXT
from news_assets.pipeline.enrich.duplicates import leads_to, moved, originals_first
from news_assets.pipeline.enrich.model.asking import Asked, Question, cached_results, recall_or_ask
from news_assets.pipeline.enrich.model.batches import BatchSubmitter
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.model.prompt import Prompt
from news_assets.pipeline.enrich.model.requests import ENRICHER
from news_assets.pipeline.enrich.model.rules import reason_not_sent
from news_assets.pipeline.enrich.rows import (
    MadeBy,
    cache_of,
    enriched_row,
    identity,
    identity_of,
    input_hash,
    result_of,
    unenriched_row,
)
from news_assets.pipeline.enrich.sure import is_sure
from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.pipeline.stage_state.rows import PROVISIONAL
from news_assets.ports.enrichment import LanguageModel
from news_assets.ports.lake import Lake
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import Enrichment


@dataclass(slots=True)
class Made:
    """The rows of one run, why some are provisional, and why no model is available, if none is."""

    rows: list[EnrichedArticle] = field(default_factory=list)
    provisional: dict[str, str] = field(default_factory=dict)
    unavailable: str = ""


@dataclass(frozen=True, slots=True)
class _Result:
    """What an article's row is made of.

    `local_reason` says why it is the local result, `again` why the row is provisional, if it is.
    """

    key: str
    enrichment: Enrichment | EnrichError
    made_by: MadeBy
    local_reason: str | None = None
    again: str | None = None
    reused_from: str | None = None


class ModelRun:
    """One call for one batch of agency-days."""

    def __init__(self, lake: Lake, desk: Desk, enricher: ModelEnricher, clock: Callable[[], datetime]) -> None:
        self._lake = lake
        self._desk = desk
        self._enricher = enricher
        self._clock = clock
        self._local_identity = identity(enricher.local)
        self._results: dict[str, _Result] = {}  # by article id

    def rows(self, pending: Sequence[RawArticle]) -> Made:
        """Return the rows of these articles."""
        made = Made([unenriched_row(article, self._clock()) for article in pending if article.filter_reason])
        pending = [article for article in pending if not article.filter_reason]
        originals = self._originals(pending)
        own = [article for article in pending if article.article_id not in originals]
        locals_ = self._local_results(own)
        readable = [article for article in own if isinstance(locals_[article.article_id], Enrichment)]
        sendable = self._sendable(readable)
        unsure = [article for article in sendable if not self._is_sure(article)]
        made.unavailable = self._ask_in_turn(unsure, locals_)
        self._add_entities(sendable, locals_)
        for article in originals_first(pending):
            result = self._results.get(article.article_id) or self._reused(article, originals[article.article_id])
            self._results[article.article_id] = result
            made.rows.append(self._row(article, result, made.provisional))
        return made

    def _row(self, article: RawArticle, result: _Result, provisional: dict[str, str]) -> EnrichedArticle:
        row = enriched_row(
            article,
            result.key,
            result.enrichment,
            result.made_by,
            self._clock(),
            reused_from=result.reused_from,
            local_reason=result.local_reason,
        )
        if result.again is None or row.outcome != "ok":
            return row
        provisional[article.article_id] = result.again
        return replace(row, content_hash=PROVISIONAL)

    # --- duplicates ---------------------------------------------------------------------------------------------------

    def _originals(self, pending: Sequence[RawArticle]) -> dict[str, "EnrichedArticle | RawArticle"]:
        """Return the original of each exact duplicate: an article of this run, else a stored row of this chain."""
        here = {article.article_id: article for article in pending}
        wanted = {
            article.article_id: article.duplicate_of
            for article in pending
            if article.duplicate_of and article.duplicate_reason != NEARLY_SAME_TEXT  # whose text may be cut
        }
        stored = {
            row.article_id: row
            for row in self._lake.read(EnrichedArticle, article_id=set(wanted.values()) - here.keys())
        }
        usable = {article_id: row for article_id, row in stored.items() if self._is_of_this_chain(row)}
        found: dict[str, EnrichedArticle | RawArticle] = {}
        for article_id, original in wanted.items():
            if original in usable:
                found[article_id] = usable[original]
            elif original in here and not leads_to(original, article_id, wanted):  # a cycle ends here
                found[article_id] = here[original]
        return found

    def _is_of_this_chain(self, row: EnrichedArticle) -> bool:
        models = [self._made_by(model, prompt) for model in self._enricher.models for prompt in self._enricher.prompts]
        return row.outcome == "ok" and identity_of(row) in (self._local_identity, *models)

    def _reused(self, article: RawArticle, original: "EnrichedArticle | RawArticle") -> _Result:
        if isinstance(original, RawArticle):
            result, text = self._results[original.article_id], original.text or ""
        else:
            again = f"its original {original.article_id} is provisional"
            result = _Result(original.input_hash, result_of(original), identity_of(original), original.local_reason)
            result = replace(result, again=again) if original.content_hash == PROVISIONAL else result
            text = next((a.text or "" for a in self._lake.read(RawArticle, article_id=[original.article_id])), "")
        if isinstance(result.enrichment, EnrichError):
            return result
        enrichment = moved(result.enrichment, text, article.text or "")
        return replace(result, enrichment=enrichment, reused_from=original.article_id)

    # --- the local enricher -------------------------------------------------------------------------------------------

    def _local_results(self, articles: Sequence[RawArticle]) -> dict[str, Enrichment | EnrichError]:
        """Return what the local enricher finds, by article id: the result of every article until a model answers."""
        local = self._enricher.local
        hashes = {a.article_id: input_hash(a.title or "", a.text or "", local) for a in articles}
        known = cached_results(self._lake, set(hashes.values()))
        new: dict[str, CachedEnrichment] = {}
        found: dict[str, Enrichment | EnrichError] = {}
        for article in articles:
            key = hashes[article.article_id]
            result = known.get(key) or self._enriched(article)
            if isinstance(result, Enrichment) and key not in known:
                known[key] = result
                new[key] = cache_of(key, result, local.name, local.model, self._clock())
            found[article.article_id] = result
            self._results[article.article_id] = _Result(key, result, self._local_identity)
        if new:
            self._lake.transact(lambda rows: rows.upsert(list(new.values())))
        return found

    def _enriched(self, article: RawArticle) -> Enrichment | EnrichError:
        try:
            return self._enricher.local.enrich(article.title or "", article.text or "", article.language)
        except EnrichError as error:
            return error

    def _stays_local(self, article: RawArticle, reason: str) -> None:
        self._results[article.article_id] = replace(self._results[article.article_id], local_reason=reason)

    def _without_answer(self, article: RawArticle, reason: str, *, is_closed: bool) -> None:
        """Let the local result fill in, or fail, as the desk file says; `is_closed`: no model is asked again."""
        before = self._results[article.article_id]
        if self._desk.enrich.fallback == "none":
            after = replace(before, enrichment=EnrichError(reason))
        else:
            after = replace(before, local_reason=reason, again=None if is_closed else reason)
        self._results[article.article_id] = after

    # --- the models ---------------------------------------------------------------------------------------------------

    def _sendable(self, articles: Sequence[RawArticle]) -> list[RawArticle]:
        """Return the articles that models may be asked for; the others keep the local result, with the reason."""
        calls = [(article.title or "", article.text or "", self._desk.enrich) for article in articles]
        reasons = self._enricher.sandbox.run(reason_not_sent, calls)
        for article, reason in zip(articles, reasons, strict=True):
            if reason is not None:
                self._stays_local(article, str(reason))
        return [article for article, reason in zip(articles, reasons, strict=True) if reason is None]

    def _is_sure(self, article: RawArticle) -> bool:
        """Whether the local result is good enough, and stays."""
        local, accepted = self._results[article.article_id].enrichment, self._enricher.accepted_error
        if accepted is None or not isinstance(local, Enrichment) or not is_sure(local, accepted):
            return False
        self._stays_local(article, f"sure: its theme has a score of {local.theme_score:.2f}")
        return True

    def _ask_in_turn(self, articles: Sequence[RawArticle], locals_: Mapping[str, Enrichment | EnrichError]) -> str:
        """Ask the models, each for what the ones before left open; return why none is available, if none is."""
        left, down = list(articles), []
        for model in self._enricher.models:
            asked = [
                self._ask_by(model, prompt, of_prompt, locals_)
                for prompt, of_prompt in self._enricher.by_prompt(left, self._desk.enrich.depth)
            ]
            left = [article for still, _ in asked for article in still]
            down += [why for _, why in asked if why][:1]
        return down[-1] if left and down and len(down) == len(self._enricher.models) else ""

    def _ask_by(
        self,
        model: LanguageModel,
        prompt: Prompt,
        articles: Sequence[RawArticle],
        locals_: Mapping[str, Enrichment | EnrichError],
    ) -> tuple[list[RawArticle], str]:
        """Ask a model with one prompt; return the articles without an answer, and why the model gives none."""
        requests = {a.article_id: self._enricher.request(a, _found(locals_, a), model.name, prompt) for a in articles}
        keys = {article_id: request.input_hash for article_id, request in requests.items()}
        questions = {keys[a.article_id]: Question(requests[a.article_id], a, _found(locals_, a)) for a in articles}
        asked = self._ask(model, prompt.version, questions)
        still = []
        for article in articles:
            key = keys[article.article_id]
            if key in asked.results:
                self._results[article.article_id] = _Result(key, asked.results[key], self._made_by(model, prompt))
            else:
                self._without_answer(article, asked.reason(key, model.name), is_closed=key in asked.closed)
                still.append(article)
        return still, asked.unavailable

    def _made_by(self, model: LanguageModel, prompt: Prompt) -> MadeBy:
        return MadeBy(ENRICHER, model.name, prompt.version, self._enricher.taxonomy.version)

    def _ask(self, model: LanguageModel, prompt_version: str, questions: Mapping[str, Question]) -> Asked:
        lake, taxonomy, sandbox = self._lake, self._enricher.taxonomy, self._enricher.sandbox
        rules, budget = self._desk.enrich, self._enricher.budget
        if self._enricher.sends_batches(rules, model.name, is_backfill=True):  # one may be open, also in other runs
            batches = self._enricher.open_batches(model.name)
            only_again = not self._enricher.sends_batches(rules, model.name, is_backfill=budget.is_backfill)
            model = BatchSubmitter(lake, batches, model, prompt_version, budget, self._clock, only_again=only_again)
        return recall_or_ask(lake, model, prompt_version, questions, taxonomy, sandbox, self._clock)

    def _add_entities(self, articles: Sequence[RawArticle], locals_: Mapping[str, Enrichment | EnrichError]) -> None:
        """Ask for the entities of these articles, where that is wanted; without an answer a row has none."""
        model = self._enricher.entity_model(self._desk.enrich)
        if model is None or not articles:
            return
        requests = {a.article_id: self._enricher.entities_request(a, model.name) for a in articles}
        questions = {
            requests[a.article_id].input_hash: Question(requests[a.article_id], a, _found(locals_, a)) for a in articles
        }
        asked = self._ask(model, self._enricher.entities_prompt.version, questions)
        for article in articles:
            key = requests[article.article_id].input_hash
            result = self._results[article.article_id]
            if key in asked.results and isinstance(result.enrichment, Enrichment):
                found = asked.results[key]
                with_entities = replace(result.enrichment, entities=found.entities, entities_json=found.entities_json)
                both = sha256(f"{result.key}\n{key}")
                self._results[article.article_id] = replace(result, key=both, enrichment=with_entities)
            elif key not in asked.closed:
                again = result.again or f"no entities: {asked.reason(key, model.name)}"
                self._results[article.article_id] = replace(result, again=again)


def _found(results: Mapping[str, Enrichment | EnrichError], article: RawArticle) -> Enrichment:
    result = results[article.article_id]
    assert isinstance(result, Enrichment)
    return result
