"""Batches of requests to language models: sent by the stage of enrichment, settled by
the asset `enrichment_batches`.

A batch and the claims of its requests are stored before it is sent, so that no input is
in two open batches, and a process that was killed while it sent one leaves a row by
which the batch is found again. Answers are stored as after direct calls; the rows of
the articles are then due, and find the answers in the cache.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import uuid4

from news_assets.errors import (
    BatchError,
    EmbedError,
    EnrichError,
    ModelCallError,
    TaxonomyError,
)
from news_assets.pipeline.enrich.model.direct import DirectRequests, ModelResults
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.model.history import History, histories
from news_assets.pipeline.enrich.model.ledger import Claims, Ended, Ledger
from news_assets.pipeline.enrich.model.reading.answer import Question
from news_assets.pipeline.enrich.model.themes import is_descended
from news_assets.pipeline.enrich.rows import (
    cached_results,
    identity,
    input_hash,
    theme_of,
)
from news_assets.pipeline.stage_state.failures import make_due
from news_assets.ports.enrichment import BatchedModel, ModelAnswer, ModelRequest
from news_assets.ports.lake import Lake, Reader, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk, EnrichRules
from news_assets.records.model_calls import (
    BATCH,
    OPEN,
    EnrichmentBatch,
    ModelCall,
    total_usd,
)
from news_assets.records.reading import Enrichment

SENT_WITHIN: Final = timedelta(
    minutes=15
)  # a batch that is being sent for longer was cut off, or its reply was lost
EARLIER: Final = timedelta(minutes=5)  # by which the provider's clock may differ
SENT_AGAIN_WITHIN: Final = timedelta(
    days=3
)  # in a batch too, what a batch left unanswered
CLAIM_S: Final = (
    3 * 86_400.0
)  # a claim ends with its batch; this is for one that nobody settles
STORED_TOGETHER: Final = (
    100  # answers, so that a killed process loses few that it has read
)
STAGE: Final = "enriched_articles"
_RULES: Final = EnrichRules()  # those of the desk do not change how an answer is read


class BatchRequests:
    """Sends requests in batches, whose answers come later.

    Requests that are fewer than a batch takes are sent directly. So are all others with
    `only_again`, except those that were in a batch before and have no answer of it.
    """

    def __init__(
        self,
        lake: Lake,
        batches: BatchedModel,
        direct: DirectRequests,
        ledger: Ledger,
        *,
        only_again: bool,
    ) -> None:
        self._lake, self._batches, self._direct, self._ledger = (
            lake,
            batches,
            direct,
            ledger,
        )
        self._only_again = only_again

    def answer(self, questions: Mapping[str, Question]) -> ModelResults:
        """Send what no open batch has; return what was received directly, and why the
        rest has no result yet.
        """
        past = histories(self._lake, questions.keys())
        now = self._ledger.clock()
        waiting = {
            key
            for key, history in past.items()
            if history.batched_at and history.is_claimed(now)
        }
        batched = [
            key
            for key in questions
            if key not in waiting and self._is_for_batch(past.get(key), now)
        ]
        if len(batched) < self._batches.min_requests:
            batched = []
        others = {
            key: one
            for key, one in questions.items()
            if key not in waiting and key not in batched
        }
        answers = self._direct.answer(others) if others else ModelResults()
        for start in range(0, len(batched), self._batches.max_requests):
            keys = batched[start : start + self._batches.max_requests]
            waiting |= self._send([questions[key].request for key in keys], answers)
        answers.reasons |= dict.fromkeys(
            waiting, f"the batch that was sent to {self._batches.name} is not over yet"
        )
        return answers

    def _is_for_batch(self, history: History | None, now: datetime) -> bool:
        if history is None:
            return not self._only_again
        if history.is_closed or history.is_answered:
            return False
        was_batched = (
            history.batched_at is not None
            and history.batched_at >= now - SENT_AGAIN_WITHIN
        )
        return was_batched or not self._only_again

    def _send(
        self, requests: Sequence[ModelRequest], answers: ModelResults
    ) -> set[str]:
        """Send one batch; return the input hashes that are in it, and note in `answers`
        why others are not.
        """
        row = _new_row(self._batches.name, requests, self._ledger.clock())

        def store(rows: Rows, claims: Claims) -> None:
            if claims.calls:
                rows.upsert([_with_inputs(row, claims)])

        claims = self._ledger.claim(
            row.model, requests, CLAIM_S, is_batch=True, then=store
        )
        answers.unavailable = answers.unavailable or claims.refusal
        waiting = set(claims.busy)
        if not claims.calls:
            return waiting
        sent = [request for request in requests if request.input_hash in claims.calls]
        if refusal := self._submit(sent, _with_inputs(row, claims), claims):
            answers.unavailable = refusal
            return waiting
        return waiting | claims.calls.keys()

    def _submit(
        self, requests: Sequence[ModelRequest], row: EnrichmentBatch, claims: Claims
    ) -> str:
        """Send the requests that were claimed, and store the batch's id; return why the
        provider refuses it.
        """
        try:
            batch_id = self._batches.submit(requests, row.batch_key)
        except BatchError as error:
            if error.is_transient:  # it may have been made: it is looked for
                return ""
            refused = replace(row, progress="failed", reason=str(error))
            ended = _not_run(claims.calls.values(), str(error))
            self._ledger.settle(ended, lambda rows: rows.upsert([refused]))
            return f"{row.model}: {error}"
        running = replace(row, batch_id=batch_id, progress="running")
        self._lake.transact(lambda rows: rows.upsert([running]))
        return ""


def _new_row(
    model: str, requests: Sequence[ModelRequest], now: datetime
) -> EnrichmentBatch:
    first = requests[0]
    return EnrichmentBatch(
        batch_key=uuid4().hex[:16],
        batch_id=None,
        model=model,
        kind=first.kind,
        desk=first.desk,
        prompt_version=first.prompt_version,
        submitted_at=now,
        progress="submitting",
        reason=None,
        request_count=len(requests),
        answer_count=0,
        inputs_json="{}",
    )


def _with_inputs(row: EnrichmentBatch, claims: Claims) -> EnrichmentBatch:
    inputs = {key: call.article_id for key, call in claims.calls.items()}
    reserved = total_usd(call.reserved_usd for call in claims.calls.values())
    return replace(
        row,
        inputs_json=json.dumps(inputs),
        request_count=len(inputs),
        reserved_usd=reserved,
    )


def _not_run(calls: Iterable[ModelCall], reason: str) -> list[Ended]:
    """Return calls of a batch that were not run, and cost nothing."""
    error = ModelCallError(reason, "retry")
    return [Ended(call, error, error) for call in calls]


def settle_batches(
    lake: Lake,
    enricher: ModelEnricher,
    desks: Iterable[Desk],
    clock: Callable[[], datetime],
) -> dict[str, str]:
    """Look for the batches that may have been sent, and collect those that are over,
    each as its desk reads answers.

    Return what is known of each open batch, by its key. One stays open while its
    provider does not answer, or the taxonomy or classifier of its desk cannot be used.
    """
    found: dict[str, str] = {}
    by_key = {desk.key: desk for desk in desks}
    ledger = Ledger(lake, enricher.budget, clock)
    for row in sorted(
        lake.read(EnrichmentBatch, progress=OPEN), key=lambda row: row.submitted_at
    ):
        try:
            desk = by_key.get(row.desk)
            settled = _settled(
                lake, enricher.for_desk(desk) if desk else enricher, row, ledger
            )
        except (BatchError, EnrichError, EmbedError, TaxonomyError) as error:
            found[row.batch_key] = str(error)
            continue
        found[row.batch_key] = settled.progress
        if settled != row:
            _close(lake, ledger, settled)
    return found


def _settled(
    lake: Lake, enricher: ModelEnricher, row: EnrichmentBatch, ledger: Ledger
) -> EnrichmentBatch:
    batches = enricher.open_batches(row.model)
    if row.batch_id is None:
        if ledger.clock() - row.submitted_at < SENT_WITHIN:
            return row
        batch_id = batches.find(
            row.batch_key, row.submitted_at - EARLIER, row.request_count
        )
        if batch_id is None:
            return replace(
                row, progress="lost", reason="the provider has no batch of this key"
            )
        row = replace(row, batch_id=batch_id, progress="running")
        lake.transact(lambda rows: rows.upsert([row]))
    assert row.batch_id is not None
    state = batches.state(row.batch_id)
    if state == "running":
        return row
    if state == "failed":
        return replace(
            row, progress="failed", reason="the provider refused it after it was sent"
        )
    return replace(
        row,
        progress="collected",
        answer_count=_collect(lake, enricher, batches, row, ledger),
    )


def _collect(
    lake: Lake,
    enricher: ModelEnricher,
    batches: BatchedModel,
    row: EnrichmentBatch,
    ledger: Ledger,
) -> int:
    """Store the answers of a batch, except those that a process before stored; return
    how many requests have one.
    """
    assert row.batch_id is not None
    calls = {call.input_hash: call for call in _open_calls(lake, row)}
    count = row.request_count - len(calls)
    questions = _questions(lake, enricher, row, calls)
    answers = batches.collect(row.batch_id, row.batch_key, calls)
    while group := list(islice(answers, STORED_TOGETHER)):
        ended = _read(enricher, group, questions, calls)
        ledger.settle(
            [
                one._replace(call=replace(one.call, batch_id=row.batch_id))
                for one in ended
            ]
        )
        count += len(group)
    return count


def _open_calls(lake: Lake, row: EnrichmentBatch) -> list[ModelCall]:
    """Return the calls of a batch without an answer."""
    return lake.read(
        ModelCall,
        input_hash=json.loads(row.inputs_json).keys(),
        outcome=["sent"],
        via=[BATCH],
    )


def _read(
    enricher: ModelEnricher,
    group: Sequence[tuple[str, ModelAnswer | ModelCallError]],
    questions: Mapping[str, Question],
    calls: Mapping[str, ModelCall],
) -> Iterator[Ended]:
    """Yield what was received for each request, and what is read of it; what is of no
    use any more costs money too.
    """
    keys = [
        key for key, said in group if key in questions and isinstance(said, ModelAnswer)
    ]
    received = {key: said for key, said in group if isinstance(said, ModelAnswer)}
    read = (
        enricher.read([(questions[key], received[key]) for key in keys]) if keys else []
    )
    found: dict[str, Enrichment | EnrichError] = dict(zip(keys, read, strict=True))
    for key, said in group:
        if isinstance(said, ModelCallError):
            yield Ended(calls[key], said, said)
        else:
            yield Ended(
                calls[key],
                said,
                found.get(key) or EnrichError("the input changed while its batch ran"),
            )


def _questions(
    lake: Lake,
    enricher: ModelEnricher,
    row: EnrichmentBatch,
    calls: Mapping[str, ModelCall],
) -> dict[str, Question]:
    """Return what was requested, by input hash; articles, prompts and taxonomies that
    changed since are left out.
    """
    versions = {call.article_id: call.prompt_version for call in calls.values()}
    local = identity(enricher.local)
    with lake.latest() as reader:
        articles = reader.read(RawArticle, article_id=versions.keys(), outcome=["ok"])
        keys = {
            a.article_id: input_hash(a.title or "", a.text or "", local)
            for a in articles
        }
        locals_ = cached_results(reader, set(keys.values()))
        branches = _branches(reader, enricher, row, articles)
    found: dict[str, Question] = {}
    for article in articles:
        request = _request(
            enricher,
            row,
            article,
            versions[article.article_id],
            branches.get(article.article_id),
        )
        if request.input_hash in calls:
            of_local = locals_.get(keys[article.article_id]) or Enrichment()
            found[request.input_hash] = Question(request, article, of_local)
    return found


def _request(
    enricher: ModelEnricher,
    row: EnrichmentBatch,
    article: RawArticle,
    prompt_version: str,
    branch: str | None,
) -> ModelRequest:
    """Return the request for an article in a batch, as it would be sent now with the
    prompt of this version.
    """
    if row.kind == "theme":
        return enricher.theme_request(article, row.model, _RULES)
    if row.kind == "entities":
        return enricher.entities_request(article, row.model, _RULES)
    by_version = {prompt.version: prompt for prompt in enricher.prompts}
    prompt = by_version.get(prompt_version, enricher.prompt)
    return enricher.request(article, row.model, prompt, branch, _RULES)


def _branches(
    reader: Reader,
    enricher: ModelEnricher,
    row: EnrichmentBatch,
    articles: Sequence[RawArticle],
) -> dict[str, str | None]:
    """Return the branch of a large taxonomy that a first call chose for each article,
    by its id.
    """
    if row.kind != "enrich" or not is_descended(enricher.taxonomy):
        return {}
    keys = {
        a.article_id: enricher.theme_request(a, row.model, _RULES).input_hash
        for a in articles
    }
    chosen = cached_results(reader, set(keys.values()))
    return {article_id: theme_of(chosen.get(key)) for article_id, key in keys.items()}


def _close(lake: Lake, ledger: Ledger, row: EnrichmentBatch) -> None:
    """Store what became of a batch, and let its articles be enriched now. What was not
    run costs nothing.
    """
    articles = set(json.loads(row.inputs_json).values())
    ended = _not_run(
        _open_calls(lake, row), row.reason or "the batch ended without an answer"
    )

    def store(rows: Rows) -> None:
        rows.upsert([row])
        make_due(rows, ledger.clock(), stage=[STAGE], article_id=articles)

    ledger.settle(ended, store)
