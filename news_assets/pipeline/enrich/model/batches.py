"""Batches of requests to language models: sent by the stage of enrichment, settled by the asset `enrichment_batches`.

A batch has a row before it is sent, so that no input is ever in two open batches, and a process that was killed while
it sent one leaves a row by which the batch is found again. Answers are stored as after direct calls; the rows of the
articles are then due, and find the answers in the cache.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from uuid import uuid4

from news_assets.errors import BatchError, EmbedError, EnrichError, InOpenBatchError, SpendingError, TaxonomyError
from news_assets.pipeline.enrich.model.asking import (
    Question,
    Way,
    cached_results,
    read_answers_of,
    store_answers,
)
from news_assets.pipeline.enrich.model.budget import Budget, reserved_usd
from news_assets.pipeline.enrich.model.enricher import ModelEnricher
from news_assets.pipeline.enrich.rows import input_hash
from news_assets.pipeline.stage_state.failures import make_due
from news_assets.ports.enrichment import Answered, BatchedModel, LanguageModel, ModelRequest
from news_assets.ports.lake import Lake, Rows
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk
from news_assets.records.model_calls import BATCH, CLOSED, OPEN, EnrichmentBatch, ModelCall, total_usd
from news_assets.records.reading import Enrichment

SENT_WITHIN = timedelta(minutes=15)  # a batch that is being sent for longer was cut off, or its reply was lost
EARLIER = timedelta(minutes=5)  # by which the provider's clock may differ
SENT_AGAIN_WITHIN = timedelta(days=3)  # in a batch too, what a batch left unanswered
STORED_TOGETHER = 100  # answers, so that a killed process loses few that it has read
STAGE = "enriched_articles"


class BatchSubmitter:
    """Implements `ports.LanguageModel` by sending batches, whose answers come later.

    Requests that are fewer than a batch takes are left to the model that answers at once. So are all others if
    `only_again` is set, but for those that were in a batch before and have no answer of it.
    """

    def __init__(
        self,
        lake: Lake,
        batches: BatchedModel,
        direct: LanguageModel,
        prompt_version: str,
        budget: Budget,
        clock: Callable[[], datetime],
        *,
        only_again: bool,
    ) -> None:
        self.name = direct.name
        self._lake, self._batches, self._direct = lake, batches, direct
        self._prompt_version, self._budget, self._clock = prompt_version, budget, clock
        self._only_again = only_again

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        """Send what no open batch has, and yield the answers of what is asked directly.

        Raises:
            InOpenBatchError: Always, once one of the requests is in a batch.
            SpendingError: A ceiling is reached; what it allowed was sent.
        """
        asked = list(requests)
        waiting = open_inputs(self._lake, self.name)
        new = [request for request in asked if request.input_hash not in waiting]
        unanswered = self._unanswered() if self._only_again else set[str]()
        batched = [request for request in new if not self._only_again or request.input_hash in unanswered]
        if len(batched) < self._batches.min_requests:
            batched = []
        in_batch = {request.input_hash for request in batched}
        if direct := [request for request in new if request.input_hash not in in_batch]:
            yield from self._direct.answer_all(direct)
        affordable = self._budget.affordable(self.name, batched, self._clock, is_batch=True)
        sent = list(affordable)
        for start in range(0, len(sent), self._batches.max_requests):
            self._send(sent[start : start + self._batches.max_requests])
        if affordable.refusal:
            raise SpendingError(affordable.refusal)
        if batched or len(new) < len(asked):
            raise InOpenBatchError(f"the batch that was sent to {self.name} is not over yet")

    def _unanswered(self) -> set[str]:
        """Return the input hashes of the batches that ended lately without an answer to each."""
        columns = ("batch_key", "submitted_at", "request_count", "answer_count")
        batches = self._lake.frame(EnrichmentBatch, None, columns, model=[self.name], progress=CLOSED)
        since = self._clock() - SENT_AGAIN_WITHIN
        keys = [
            key
            for key, submitted_at, requests, answers in batches.iter_rows()
            if submitted_at >= since and answers < requests
        ]
        return _inputs(self._lake.read(EnrichmentBatch, batch_key=keys)) if keys else set()

    def _send(self, requests: Sequence[ModelRequest]) -> None:
        now = self._clock()
        prices = {one.input_hash: reserved_usd(self.name, one, now, is_batch=True) for one in requests}
        row = EnrichmentBatch(
            batch_key=uuid4().hex[:16],
            batch_id=None,
            model=self.name,
            kind=requests[0].kind,
            desk=requests[0].desk,
            prompt_version=self._prompt_version,
            submitted_at=now,
            progress="submitting",
            reason=None,
            request_count=len(requests),
            answer_count=0,
            inputs_json=json.dumps({request.input_hash: request.article_id for request in requests}),
            reserved_usd=total_usd(prices.values()),
        )
        if not self._lake.transact(lambda rows: _store_new(rows, row)):
            self._budget.release(prices)
            return  # another run has sent some of these meanwhile; the next run sees what is left
        self._budget.settle(prices, now)
        try:
            sent = replace(row, batch_id=self._batches.submit(requests, row.batch_key), progress="running")
        except BatchError as error:
            if error.is_transient:
                return  # it may have been made: it is looked for
            sent = replace(row, progress="failed", reason=str(error))
        self._lake.transact(lambda rows: rows.upsert([sent]))
        if sent.progress == "failed":
            raise EnrichError(f"{self.name}: {sent.reason}")


def _store_new(rows: Rows, row: EnrichmentBatch) -> bool:
    """Store the row of a batch, unless one of its inputs is in an open batch."""
    others = rows.read(EnrichmentBatch, progress=OPEN, model=[row.model])
    if any(json.loads(other.inputs_json).keys() & json.loads(row.inputs_json).keys() for other in others):
        return False
    rows.upsert([row])
    return True


def open_inputs(lake: Lake, model: str) -> set[str]:
    """Return the input hashes that are in open batches of a model."""
    return _inputs(lake.read(EnrichmentBatch, progress=OPEN, model=[model]))


def _inputs(batches: Iterable[EnrichmentBatch]) -> set[str]:
    return {key for row in batches for key in json.loads(row.inputs_json)}


def settle_batches(
    lake: Lake, enricher: ModelEnricher, desks: Iterable[Desk], clock: Callable[[], datetime]
) -> dict[str, str]:
    """Look for the batches that may have been sent, and collect those that are over, each as its desk reads answers.

    Return what is known of each open batch, by its key. One stays open while its provider does not answer, or the
    taxonomy or classifier of its desk cannot be used.
    """
    found: dict[str, str] = {}
    by_key = {desk.key: desk for desk in desks}
    for row in sorted(lake.read(EnrichmentBatch, progress=OPEN), key=lambda row: row.submitted_at):
        try:
            desk = by_key.get(row.desk)
            settled = _settled(lake, enricher.for_desk(desk) if desk else enricher, row, clock)
        except (BatchError, EnrichError, EmbedError, TaxonomyError) as error:
            found[row.batch_key] = str(error)
            continue
        found[row.batch_key] = settled.progress
        if settled != row:
            _close(lake, settled, clock())
    return found


def _settled(
    lake: Lake, enricher: ModelEnricher, row: EnrichmentBatch, clock: Callable[[], datetime]
) -> EnrichmentBatch:
    batches = enricher.open_batches(row.model)
    if row.batch_id is None:
        if clock() - row.submitted_at < SENT_WITHIN:
            return row
        batch_id = batches.find(row.batch_key, row.submitted_at - EARLIER, row.request_count)
        if batch_id is None:
            return replace(row, progress="lost", reason="the provider has no batch of this key")
        row = replace(row, batch_id=batch_id, progress="running")
        lake.transact(lambda rows: rows.upsert([row]))
    assert row.batch_id is not None
    state = batches.state(row.batch_id)
    if state == "running":
        return row
    if state == "failed":
        return replace(row, progress="failed", reason="the provider refused it after it was sent")
    return replace(row, progress="collected", answer_count=_collect(lake, enricher, batches, row, clock))


def _collect(
    lake: Lake, enricher: ModelEnricher, batches: BatchedModel, row: EnrichmentBatch, clock: Callable[[], datetime]
) -> int:
    """Store the answers of a batch, except those that a process before stored; return how many requests have one."""
    assert row.batch_id is not None
    known = lake.frame(ModelCall, None, ("input_hash",), batch_id=[row.batch_id])
    stored = set(known.to_series().to_list())
    questions = _questions(lake, enricher, row)
    new = {key: question.request for key, question in questions.items() if key not in stored}
    count = len(stored)
    way = Way(row.model, row.prompt_version, BATCH, row.batch_id)
    answers = batches.collect(row.batch_id, row.batch_key, new)
    while group := list(islice(answers, STORED_TOGETHER)):
        read = read_answers_of(group, questions, enricher.taxonomy, enricher.sandbox)
        store_answers(lake, group, read, way, clock())
        count += len(group)
    return count


def _questions(lake: Lake, enricher: ModelEnricher, row: EnrichmentBatch) -> dict[str, Question]:
    """Return what was asked, by input hash; what has changed since is left out, its answer is of no use."""
    inputs: Mapping[str, str] = json.loads(row.inputs_json)
    prompt = next((one for one in enricher.prompts if one.version == row.prompt_version), enricher.prompt)
    found = {}
    for article in lake.read(RawArticle, article_id=set(inputs.values()), outcome=["ok"]):
        key = input_hash(article.title or "", article.text or "", enricher.local)
        local = cached_results(lake, [key]).get(key) or Enrichment()
        if row.kind == "enrich":
            request = enricher.request(article, local, row.model, prompt)
        else:
            request = enricher.entities_request(article, row.model)
        if request.input_hash in inputs:
            found[request.input_hash] = Question(request, article, local)
    return found


def _close(lake: Lake, row: EnrichmentBatch, now: datetime) -> None:
    """Store what became of a batch, and let its articles be enriched now."""
    articles = set(json.loads(row.inputs_json).values())

    def store(rows: Rows) -> None:
        rows.upsert([row])
        make_due(rows, now, stage=[STAGE], article_id=articles)

    lake.transact(store)
