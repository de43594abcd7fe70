"""Sends requests to a language model one by one, and stores what became of each.

waiting -> claimed in the ledger -> in flight -> read and checked -> stored
^                                    |
+--------- retried, last in line ----+
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from news_assets.errors import EnrichError, ModelCallError
from news_assets.pipeline.enrich.enriched_rows import cached_results
from news_assets.pipeline.enrich.model.answer_checks import Question
from news_assets.pipeline.enrich.model.ledger import (
    Ended,
    History,
    Ledger,
    histories,
    rest_model,
    state_of,
)
from news_assets.pipeline.enrich.model.model_requests import fitted, shortened
from news_assets.pipeline.enrich.model.prices import context_window
from news_assets.ports.services import (
    Lake,
    LanguageModel,
    ModelAnswer,
    ModelRequest,
    Rows,
)
from news_assets.records.model_calls import ModelCall
from news_assets.records.reading import Enrichment
from news_assets.retry_table import (
    MODEL_CALL,
    MODEL_WAIT_IN_RUN,
    RATE_LIMITED_CALL,
    REST_OF_MODEL,
    TOO_LONG_CALL,
    UNANSWERED_CALL,
)

# Answers of so long are stored together: to store one takes 60 ms of CPU, to store 30
# takes 80.
_GROUP_S: Final = 0.3
# Beyond the time that a call may take: until its answer is stored, also on a busy lake.
_CLAIM_MARGIN_S: Final = 120.0
_BUSY_S: Final = 1.0  # until an input that another run has claimed is looked up again
_MAX_WAIT_S: Final = MODEL_WAIT_IN_RUN.longest_s
_MAX_REST: Final = timedelta(seconds=REST_OF_MODEL.longest_s)
# Rest of a model after failures in a row, or whose key or account is refused.
_GIVEN_UP: Final = timedelta(seconds=REST_OF_MODEL.pauses_s[0])
# Attempts for one input in one run: requests that were sent.
_MAX_ATTEMPTS: Final = {
    "retry": MODEL_CALL.max_attempts,
    "rest": RATE_LIMITED_CALL.max_attempts,
    "unanswered": UNANSWERED_CALL.max_attempts,
    "too_long": TOO_LONG_CALL.max_attempts,
}

_LOG = logging.getLogger(__name__)

_Reading = Callable[
    [Sequence[tuple[Question, ModelAnswer]]], list[Enrichment | EnrichError]
]
Storing = Callable[[Rows, Mapping[str, Enrichment]], None]


@dataclass(slots=True)
class ModelResults:
    """What became of the inputs of a round, by input hash.

    `reasons` say why others have no result; those in `closed` are not sent again.
    `unavailable` says why the model gives no more answers in this run.
    """

    results: dict[str, Enrichment] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    unavailable: str = ""

    def add(self, results: Mapping[str, Enrichment]) -> None:
        """Add results; what was without one before has no reason any more."""
        self.results |= results
        for key in results:
            self.reasons.pop(key, None)

    def reason(self, key: str, model: str) -> str:
        """Return why an input has no result."""
        return self.reasons.get(key) or self.unavailable or f"{model} did not answer"


@dataclass(slots=True)
class _Input:
    """An input that is to be sent.

    Attributes:
        question: What is sent next.
        attempts: How often it was sent in this run.
        number: That of its last request among all of the run.
        due_at: When it may be sent again; None for now.
        is_raised: Whether its answer may be longer than usual.
    """

    question: Question
    attempts: int = 0
    number: int = 0
    due_at: datetime | None = None
    is_raised: bool = False

    @property
    def request(self) -> ModelRequest:
        """The request as it is sent next."""
        return self.question.request

    @property
    def key(self) -> str:
        """The input hash."""
        return self.question.request.input_hash

    def fit(self, window_tokens: int | None) -> None:
        """Cut the article so that the request fits into the context window, where that
        helps.
        """
        request = fitted(self.request, window_tokens)
        self.question = self.question._replace(request=request)

    def sent_as(self, request: ModelRequest) -> "_Input":
        """Return the input with another request."""
        return replace(self, question=self.question._replace(request=request))

    def wait_s(self, error: ModelCallError) -> float:
        """Return the seconds until the next attempt: as the provider says, else growing."""
        if error.wait_s is not None:
            return error.wait_s
        return MODEL_CALL.pauses_s[0] * 2.0 ** (self.attempts - 1)


class _Arrived(NamedTuple):
    """What was received for an input, and the row of the call."""

    input: _Input
    call: ModelCall
    received: ModelAnswer | ModelCallError


class DirectRequests:
    """The requests of one run to one model.

    Args:
        lake: Has the ledger.
        model: Answers the requests.
        ledger: That of the run.
        read: Reads and checks answers.
        store: Stores what is made of results, in the transaction of their calls.
        max_failures: Inputs in a row without an answer after which the model is given
            up.
    """

    def __init__(
        self,
        lake: Lake,
        model: LanguageModel,
        ledger: Ledger,
        read: _Reading,
        store: Storing,
        max_failures: int,
    ) -> None:
        self._lake = lake
        self._model = model
        self._ledger = ledger
        self._read = read
        self._store = store
        self._max_failures = max_failures
        self._waiting: deque[_Input] = deque()
        self._in_flight: dict[Future[ModelAnswer], tuple[_Input, ModelCall]] = {}
        self._results = ModelResults()
        self._sent_count = 0
        self._failures = 0  # inputs in a row
        # number of the last request when the first of them failed
        self._failing_since = 0
        self._idle_s = 0.0

    def answer(self, questions: Mapping[str, Question]) -> ModelResults:
        """Send these inputs, by input hash, and return what became of them; all of it
        is stored.

        Inputs that failed before are sent last. Those that another run has sent are
        waited for.
        """
        name = self._model.name
        with self._lake.latest() as reader:
            past = histories(reader, questions.keys())
            window = state_of(reader, name).window_tokens or context_window(name)
        for key in sorted(
            questions, key=lambda key: past.get(key, History()).failed_attempts
        ):
            one = _Input(questions[key])
            one.fit(window)
            self._waiting.append(one)
        try:
            while self._in_flight or self._may_send():
                self._send()
                if self._in_flight:
                    self._receive()
                elif self._may_send():
                    self._pause()
        finally:
            for call in self._in_flight:
                call.cancel()
        return self._results

    def _may_send(self) -> bool:
        if not self._waiting:
            return False
        return not self._results.unavailable

    # --- sending ----------------------------------------------------------------------

    def _send(self) -> None:
        """Claim and send as many of the inputs that are due as the model takes now."""
        due = self._due()
        if not due:
            return
        name = self._model.name
        valid_s = self._model.timeout_s + _CLAIM_MARGIN_S
        claims = self._ledger.claim(name, [one.request for one in due], valid_s)
        now = self._ledger.clock()
        if claims.rests_until:
            self._rest(claims.rests_until, now, claims.refusal)
            return
        self._take_settled(claims.settled)
        for one in due:
            if one.key in claims.calls:
                self._begin(one, claims.calls[one.key])
            elif one.key in claims.busy:
                latest = now + timedelta(seconds=valid_s)
                self._defer(one, now, is_in_batch=claims.busy[one.key] > latest)
        if not self._in_flight:  # else they free what they reserve beyond their cost
            self._results.unavailable = claims.refusal

    def _due(self) -> list[_Input]:
        """Return as many of the inputs that may be sent now as the model takes."""
        if self._results.unavailable:
            return []
        now = self._ledger.clock()
        due = [one for one in self._waiting if one.due_at is None or one.due_at <= now]
        if due:
            return due[: self._model.slots()]
        return []

    def _defer(self, one: _Input, now: datetime, *, is_in_batch: bool) -> None:
        """Look an input that another run has sent up later; drop one of a batch."""
        name = self._model.name
        if is_in_batch:
            self._waiting.remove(one)
            self._results.reasons[one.key] = f"it is in a batch that was sent to {name}"
            return
        one.due_at = now + timedelta(seconds=_BUSY_S)
        self._results.reasons[one.key] = "another run has requested it"

    def _begin(self, one: _Input, call: ModelCall) -> None:
        self._waiting.remove(one)
        self._sent_count += 1
        one.attempts += 1
        one.number = self._sent_count
        one.due_at = None
        self._in_flight[self._model.send(one.request)] = one, call

    def _take_settled(self, settled: Mapping[str, History]) -> None:
        """Take over what another run received for some of these inputs."""
        if not settled:
            return
        self._waiting = deque(one for one in self._waiting if one.key not in settled)
        answered: set[str] = set()
        for key, history in settled.items():
            self._results.reasons[key] = history.reason
            if history.is_answered:
                answered.add(key)
            else:
                self._results.closed.add(key)
        results = cached_results(self._lake, answered)
        self._results.add(results)
        self._lake.transact(lambda rows: self._store(rows, results))

    def _rest(self, until: datetime, now: datetime, reason: str) -> None:
        """Send nothing before `until`; the run ends where that is long."""
        if until > now + timedelta(seconds=_MAX_WAIT_S):
            self._results.unavailable = (
                f"{self._model.name} rests until {until:%H:%M:%S} (UTC): {reason}"
            )
            return
        for one in self._waiting:
            one.due_at = max(one.due_at or until, until)

    def _pause(self) -> None:
        """Wait until the next input may be sent.

        Give the others up after a claim's time without any progress.
        """
        now = self._ledger.clock()
        next_at = min((one.due_at or now for one in self._waiting), default=now)
        seconds = max(0.1, (next_at - now).total_seconds())
        if self._idle_s > self._model.timeout_s + _CLAIM_MARGIN_S + _MAX_WAIT_S:
            _LOG.debug(
                "%s: %d inputs are given up", self._model.name, len(self._waiting)
            )
            self._waiting.clear()
            return
        self._model.pause(seconds)
        self._idle_s += seconds
        for one in self._waiting:
            if not one.due_at:
                continue
            if one.due_at <= next_at:
                one.due_at = None

    # --- receiving --------------------------------------------------------------------

    def _receive(self) -> None:
        """Wait for answers, and take those that arrive together."""
        if not wait(self._in_flight, self._next_send_s(), FIRST_COMPLETED).done:
            return
        self._idle_s = 0.0
        arrived: list[_Arrived] = []
        for future in wait(list(self._in_flight), _GROUP_S).done:
            one, call = self._in_flight.pop(future)
            arrived.append(_Arrived(one, call, _received(future)))
        self._take(arrived)

    def _next_send_s(self) -> float | None:
        """Return the seconds until the next input may be sent; None where none waits
        for a time.
        """
        due_at: list[datetime] = []
        for one in self._waiting:
            if one.due_at:
                due_at.append(one.due_at)
        if not due_at:
            return None
        if self._results.unavailable:
            return None
        return max(0.1, (min(due_at) - self._ledger.clock()).total_seconds())

    def _take(self, arrived: Sequence[_Arrived]) -> None:
        """Read, check and store what was received."""
        ended: list[Ended] = []
        results: dict[str, Enrichment] = {}
        for one, found in zip(arrived, self._checked(arrived), strict=True):
            ended.append(Ended(one.call, one.received, found))
            if isinstance(found, Enrichment):
                results[one.input.key] = found
        self._results.add(results)
        without_result = {one.input.key for one in arrived} - results.keys()
        past = histories(self._lake, without_result)
        for one, end in zip(arrived, ended, strict=True):
            self._after(one.input, end, past)

        def store(rows: Rows) -> None:
            for one in arrived:
                self._store_state(rows, one.received)
            self._store(rows, results)

        self._ledger.settle(ended, store)

    def _checked(self, arrived: Sequence[_Arrived]) -> list[Enrichment | EnrichError]:
        """Return what each answer says, or why it gives no result."""
        answers = [
            (one.input.question, one.received)
            for one in arrived
            if isinstance(one.received, ModelAnswer)
        ]
        read = iter(self._read(answers))
        found: list[Enrichment | EnrichError] = []
        for one in arrived:
            found.append(
                one.received if isinstance(one.received, ModelCallError) else next(read)
            )
        return found

    def _after(self, one: _Input, ended: Ended, past: Mapping[str, History]) -> None:
        """Put an input without a result last in line again, or note why it has none.

        `past` has the history of inputs without a result, up to this response.
        """
        _, received, read = ended
        again = self._next_attempt(one, received, read)
        if again:
            self._waiting.append(again)
        if isinstance(received, ModelCallError):
            for waiting in self._waiting:
                waiting.fit(received.window_tokens)
            self._count_failure(one, received, is_last=again is None)
        else:
            self._failures = 0
        if isinstance(read, EnrichError):
            self._results.reasons[one.key] = str(read)
            if again is None and _is_closed(past.get(one.key), received):
                self._results.closed.add(one.key)

    def _next_attempt(
        self,
        one: _Input,
        received: ModelAnswer | ModelCallError,
        read: Enrichment | EnrichError,
    ) -> _Input | None:
        """Return what is sent next for an input without a result.

        It is None if nothing is sent again in this run.
        """
        request = one.request
        if isinstance(received, ModelAnswer):
            is_cut = received.stop == "cut" and isinstance(read, EnrichError)
            if not is_cut:
                return None
            if one.is_raised:
                return None
            raised = replace(request, max_tokens=2 * request.max_tokens)
            return replace(one.sent_as(raised), is_raised=True)
        if one.attempts >= _MAX_ATTEMPTS.get(received.kind, 1):
            return None
        if received.kind == "too_long":
            shorter = shortened(request, received.window_tokens)
            return one.sent_as(shorter) if shorter else None
        pause = timedelta(seconds=one.wait_s(received))
        return replace(one, due_at=self._ledger.clock() + pause)

    def _count_failure(
        self, one: _Input, error: ModelCallError, *, is_last: bool
    ) -> None:
        """Give the model up where every request would fail, or after too many inputs in
        a row.

        Requests that were in flight at the first failure count as one with it.
        """
        name = self._model.name
        wait_s = one.wait_s(error)
        if error.kind == "fatal":
            self._results.unavailable = f"{name} cannot be used: {error}"
            return
        if error.kind in ("too_long", "rejected", "declined"):  # of this article
            self._failures = 0
            return
        if error.kind == "rest" and wait_s > _MAX_WAIT_S:
            self._results.unavailable = (
                f"{name} wants no request for {wait_s:.0f} s: {error}"
            )
            return
        if not is_last and (one.attempts > 1 or error.kind == "rest"):
            return
        if self._failures == 0:
            self._failures = 1
            self._failing_since = self._sent_count
        elif one.number > self._failing_since:
            self._failures += 1
        if self._failures >= self._max_failures:
            self._results.unavailable = (
                f"{name} was given up after {self._failures} failures in a row, "
                f"the last one: {error}"
            )

    def _store_state(self, rows: Rows, received: ModelAnswer | ModelCallError) -> None:
        """Store what a response says of the model to all runs."""
        if isinstance(received, ModelAnswer):
            return
        now = self._ledger.clock()
        name = self._model.name
        reason = str(received)
        if received.kind == "fatal":
            rest_model(rows, name, now + _GIVEN_UP, reason)
        elif received.kind == "rest":
            pause = min(timedelta(seconds=received.wait_s or 1.0), _MAX_REST)
            rest_model(rows, name, now + pause, reason)
        elif received.kind == "too_long" and received.window_tokens:
            rest_model(rows, name, window_tokens=received.window_tokens)
        elif self._failures >= self._max_failures:
            rest_model(rows, name, now + _GIVEN_UP, self._results.unavailable)


def _is_closed(history: History | None, received: ModelAnswer | ModelCallError) -> bool:
    """Whether an input is closed by this response, and the earlier ones that are
    stored.
    """
    kind = received.kind if isinstance(received, ModelCallError) else received.stop
    if kind == "declined":
        return True
    if history is None:
        return False
    history.refused += isinstance(received, ModelAnswer)
    history.rejected += kind in ("rejected", "too_long")
    history.unanswered += kind == "unanswered"
    return history.is_closed


def _received(call: Future[ModelAnswer]) -> ModelAnswer | ModelCallError:
    if call.cancelled():
        return ModelCallError("the call was cancelled", "unanswered")
    error = call.exception()
    if error is None:
        return call.result()
    if isinstance(error, ModelCallError):
        return error
    return ModelCallError(repr(error), "unanswered")
