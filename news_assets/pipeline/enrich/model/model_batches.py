"""Batches of requests to language models.

They are sent by the stage of enrichment, and settled by the asset `enrichment_batches`.

A batch and the claims of its requests are stored before it is sent, so that no input is
in two open batches, and a process that was killed while it sent one leaves a row by
which the batch is found again. Answers are stored as after direct calls; the rows of
the articles are then due, and find the answers in the cache.
"""

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Literal
from uuid import uuid4

from news_assets.errors import (
    BatchError,
    EmbedError,
    EnrichError,
    ModelCallError,
    TaxonomyError,
)
from news_assets.pipeline.enrich.enriched_rows import (
    cached_results,
    identity,
    input_hash,
    theme_of,
    title_and_text,
)
from news_assets.pipeline.enrich.model.answer_checks import Question
from news_assets.pipeline.enrich.model.direct_requests import (
    DirectRequests,
    ModelResults,
)
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.ledger import (
    Claims,
    Ended,
    History,
    Ledger,
    histories,
)
from news_assets.pipeline.enrich.model.model_requests import is_descended, request_hash
from news_assets.pipeline.failures import make_due
from news_assets.ports.services import (
    BatchedModel,
    Clock,
    Lake,
    ModelAnswer,
    ModelRequest,
    Reader,
    Rows,
)
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

_LOG = logging.getLogger(__name__)

SENT_WITHIN: Final = timedelta(minutes=15)  # else it was cut off, or the reply was lost
_EARLIER: Final = timedelta(minutes=5)  # by which the provider's clock may differ
# in a batch too, what a batch did not answer
_SENT_AGAIN_WITHIN: Final = timedelta(days=3)
# a claim ends with its batch; this is for one that nobody settles
_CLAIM_S: Final = 3 * 86_400.0
# answers, so that a killed process loses few that it has read
_STORED_TOGETHER: Final = 100
_STAGE: Final = "enriched_articles"
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
        self._lake, self._batches = lake, batches
        self._direct, self._ledger = direct, ledger
        self._only_again = only_again

    def answer(self, questions: Mapping[str, Question]) -> ModelResults:
        """Send what no open batch has.

        Return what was received directly, and why the rest has no result yet.
        """
        waiting, batched = self._chosen(questions.keys())
        sent_later = waiting.union(batched)
        others = {key: one for key, one in questions.items() if key not in sent_later}
        answers = self._direct.answer(others) if others else ModelResults()
        for start in range(0, len(batched), self._batches.max_requests):
            keys = batched[start : start + self._batches.max_requests]
            waiting |= self._send([questions[key].request for key in keys], answers)
        is_open = f"the batch that was sent to {self._batches.name} is not over yet"
        answers.reasons |= dict.fromkeys(waiting, is_open)
        return answers

    def _chosen(self, keys: Collection[str]) -> tuple[set[str], list[str]]:
        """Return the inputs of open batches, and those for new ones."""
        past = histories(self._lake, keys)
        now = self._ledger.clock()
        waiting: set[str] = set()
        batched: list[str] = []
        for key in keys:
            history = past.get(key)
            if _is_in_batch(history, now):
                waiting.add(key)
            elif self._is_for_batch(history, now):
                batched.append(key)
        if len(batched) < self._batches.min_requests:
            _LOG.debug("%s: no batch of %d requests", self._batches.name, len(batched))
            return waiting, []
        return waiting, batched

    def _is_for_batch(self, history: History | None, now: datetime) -> bool:
        if history is None:
            return not self._only_again
        if history.is_closed:
            return False
        if history.is_answered:
            return False
        if not self._only_again:
            return True
        sent_at = history.batched_at
        if sent_at is None:
            return False
        return sent_at >= now - _SENT_AGAIN_WITHIN

    def _send(
        self, requests: Sequence[ModelRequest], answers: ModelResults
    ) -> set[str]:
        """Send one batch.

        Return the input hashes that are in it, and note in `answers` why others are
        not.
        """
        row = _new_row(self._batches.name, requests, self._ledger.clock())

        def store(rows: Rows, claims: Claims) -> None:
            if claims.calls:
                rows.upsert([_with_inputs(row, claims)])

        claims = self._ledger.claim(
            row.model, requests, _CLAIM_S, is_batch=True, then=store
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
        """Send the requests that were claimed, and store the batch's id.

        Return why the provider refuses it.
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


def _is_in_batch(history: History | None, now: datetime) -> bool:
    """Whether an open batch has the input."""
    if history is None or not history.batched_at:
        return False
    return history.is_claimed(now)


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
    enricher: Enrichers,
    desks: Iterable[Desk],
    clock: Clock,
) -> dict[str, str]:
    """Look for the batches that may have been sent, and collect those that are over.

    Return what is known of each open batch, by its key. One stays open while its
    provider does not answer, or the taxonomy or classifier of its desk cannot be used.
    """
    found: dict[str, str] = {}
    by_key = {desk.key: desk for desk in desks}
    ledger = Ledger(lake, enricher.budget, clock)
    rows = lake.read(EnrichmentBatch, progress=OPEN)
    for row in sorted(rows, key=lambda row: row.submitted_at):
        try:
            desk = by_key.get(row.desk)
            of_desk = enricher.for_desk(desk) if desk else enricher
            settled = _SentBatch(lake, of_desk, ledger, row).settled()
        except (BatchError, EnrichError, EmbedError, TaxonomyError) as error:
            found[row.batch_key] = str(error)
            continue
        found[row.batch_key] = settled.progress
        if settled != row:
            _close(lake, ledger, settled)
    return found


class _SentBatch:
    """A batch that is open, and how the enricher of its desk reads its answers."""

    def __init__(
        self, lake: Lake, enricher: Enrichers, ledger: Ledger, row: EnrichmentBatch
    ) -> None:
        self._lake, self._ledger = lake, ledger
        self._enricher, self._row = enricher, row
        self._batches = enricher.open_batches(row.model)

    def settled(self) -> EnrichmentBatch:
        """Return the row of the batch as it is now; answers of one that is over are
        stored.
        """
        if self._row.batch_id is None:
            if self._ledger.clock() - self._row.submitted_at < SENT_WITHIN:
                return self._row
            self._find()
        batch_id = self._row.batch_id
        if batch_id is None:
            return self._ended("lost", "the provider has no batch of this key")
        state = self._batches.state(batch_id)
        if state == "running":
            return self._row
        if state == "failed":
            return self._ended("failed", "the provider refused it after it was sent")
        count = self._collect(batch_id)
        return replace(self._row, progress="collected", answer_count=count)

    def _ended(
        self, progress: Literal["lost", "failed"], reason: str
    ) -> EnrichmentBatch:
        return replace(self._row, progress=progress, reason=reason)

    def _find(self) -> None:
        """Look for the batch at its provider, and store its id."""
        row = self._row
        since = row.submitted_at - _EARLIER
        batch_id = self._batches.find(row.batch_key, since, row.request_count)
        if batch_id is not None:
            self._row = replace(row, batch_id=batch_id, progress="running")
            self._lake.transact(lambda rows: rows.upsert([self._row]))

    def _collect(self, batch_id: str) -> int:
        """Store the answers of the batch, except those that a process before stored.

        Return how many requests have one.
        """
        row = self._row
        calls = {call.input_hash: call for call in _open_calls(self._lake, row)}
        count = row.request_count - len(calls)
        questions = self._questions(calls)
        answers = self._batches.collect(batch_id, row.batch_key, calls)
        while group := list(islice(answers, _STORED_TOGETHER)):
            of_batch = {key: replace(calls[key], batch_id=batch_id) for key, _ in group}
            self._ledger.settle(self._read(group, questions, of_batch))
            count += len(group)
        return count

    def _read(
        self,
        group: Sequence[tuple[str, ModelAnswer | ModelCallError]],
        questions: Mapping[str, Question],
        calls: Mapping[str, ModelCall],
    ) -> list[Ended]:
        """Return what was received for each request, and what is read of it.

        What is of no use any more costs money too.
        """
        known = [
            (questions[key], received)
            for key, received in group
            if key in questions and isinstance(received, ModelAnswer)
        ]
        results: dict[str, Enrichment | EnrichError] = {}
        for (question, _), found in zip(known, self._enricher.read(known), strict=True):
            results[question.request.input_hash] = found
        changed = EnrichError("the input changed while its batch ran")
        ended: list[Ended] = []
        for key, received in group:
            read = results.get(key, changed)
            if isinstance(received, ModelCallError):
                read = received
            ended.append(Ended(calls[key], received, read))
        return ended

    def _questions(self, calls: Mapping[str, ModelCall]) -> dict[str, Question]:
        """Return what was requested, by input hash.

        Articles, prompts and taxonomies that changed since are missing.
        """
        versions = {call.article_id: call.prompt_version for call in calls.values()}
        with self._lake.latest() as reader:
            articles = reader.read(
                RawArticle, article_id=versions.keys(), outcome=["ok"]
            )
            local_results = self._local_results(reader, articles)
            branches = self._branches(reader, articles)
        found: dict[str, Question] = {}
        for article in articles:
            article_id = article.article_id
            prompt = self._enricher.prompt_of_version(versions[article_id])
            if prompt is None:
                continue
            request = self._enricher.request(
                article, self._row.model, prompt, branches.get(article_id), _RULES
            )
            if request.input_hash in calls:
                of_local = local_results.get(article_id) or Enrichment()
                found[request.input_hash] = Question(request, article, of_local)
        return found

    def _local_results(
        self, reader: Reader, articles: Sequence[RawArticle]
    ) -> dict[str, Enrichment]:
        """Return what the local enricher made of these articles, by article id."""
        local = identity(self._enricher.local)
        keys: dict[str, str] = {}
        for article in articles:
            keys[article.article_id] = input_hash(*title_and_text(article), local)
        cached = cached_results(reader, set(keys.values()))
        found: dict[str, Enrichment] = {}
        for article_id, key in keys.items():
            if key in cached:
                found[article_id] = cached[key]
        return found

    def _branches(
        self, reader: Reader, articles: Sequence[RawArticle]
    ) -> dict[str, str | None]:
        """Return the branch of a large taxonomy that a first call chose, by article id."""
        enricher, model = self._enricher, self._row.model
        if self._row.kind != "enrich":
            return {}
        if not is_descended(enricher.taxonomy):
            return {}
        keys: dict[str, str] = {}
        for article in articles:
            keys[article.article_id] = request_hash(
                article, model, enricher.theme_prompt, enricher.taxonomy
            )
        chosen = cached_results(reader, set(keys.values()))
        found: dict[str, str | None] = {}
        for article_id, key in keys.items():
            found[article_id] = theme_of(chosen.get(key))
        return found


def _open_calls(lake: Lake, row: EnrichmentBatch) -> list[ModelCall]:
    """Return the calls of a batch without an answer."""
    inputs = json.loads(row.inputs_json).keys()
    return lake.read(ModelCall, input_hash=inputs, outcome=["sent"], via=[BATCH])


def _close(lake: Lake, ledger: Ledger, row: EnrichmentBatch) -> None:
    """Store what became of a batch, and let its articles be enriched now.

    What was not run costs nothing.
    """
    articles = set(json.loads(row.inputs_json).values())
    ended = _not_run(
        _open_calls(lake, row), row.reason or "the batch ended without an answer"
    )

    def store(rows: Rows) -> None:
        rows.upsert([row])
        make_due(rows, ledger.clock(), stage=[_STAGE], article_id=articles)

    ledger.settle(ended, store)
