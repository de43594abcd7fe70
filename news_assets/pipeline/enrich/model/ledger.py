"""The ledger of requests: each is a row before it is sent.

One row claims its input, so that no other run sends it, and reserves the most that the
call can cost, so that all runs together keep the ceilings. The answer replaces it. A
claim of a run that was killed ends by itself.
"""

import logging
import os
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from news_assets.errors import EnrichError, ModelCallError
from news_assets.pipeline.enrich.enriched_rows import cache_of
from news_assets.pipeline.enrich.model.model_requests import ENRICHER
from news_assets.pipeline.enrich.model.prices import answer_usd, expected_usd, most_usd
from news_assets.ports.services import (
    Clock,
    Lake,
    ModelAnswer,
    ModelRequest,
    Reader,
    Rows,
)
from news_assets.records.derived import CachedEnrichment
from news_assets.records.model_calls import (
    BATCH,
    DIRECT,
    Ceilings,
    ModelCall,
    ModelState,
    Spent,
)
from news_assets.records.reading import Enrichment
from news_assets.retry_table import REFUSED_ANSWER, REJECTED_INPUT, UNANSWERED_INPUT

_LOG = logging.getLogger(__name__)

_BACKFILL_SHARE = 0.8  # of the day's ceiling; the rest is for live news


class Budget:
    """The ceilings of one run, and what its own calls cost.

    What all runs spent is read from the ledger, in the transaction that reserves the
    next calls: reservations are rows of the ledger too, so all processes together keep
    the ceilings.
    """

    def __init__(
        self,
        ceilings: Ceilings | None = None,
        read_spent: Callable[[Reader, datetime], Spent] | None = None,
        *,
        is_backfill: bool = False,
    ) -> None:
        self._ceilings = ceilings or Ceilings()
        self._read_spent = read_spent
        self.is_backfill = is_backfill
        # by call id: what was reserved, then the price
        self._of_run: dict[str, float] = {}

    def spent(self, reader: Reader, now: datetime) -> Spent:
        """Return what all runs spent, reservations included; nothing where no ceiling
        needs it.
        """
        has_shared = self._ceilings.day or self._ceilings.month
        if not has_shared or self._read_spent is None:
            return Spent()
        return self._read_spent(reader, now)

    def refusal(
        self, model: str, most_usd: float | None, reserved_usd: float, spent: Spent
    ) -> str:
        """Return why a call that can cost `most_usd` may not be sent; empty if it may.

        `reserved_usd` was reserved since `spent` was read.
        """
        if not self._ceilings:
            return ""
        if most_usd is None:
            return (
                f"the price of {model} is not known, so no ceiling can be kept: "
                "set NEWS_MAX_USD_PER_RUN, _DAY and _MONTH to 0, "
                "or choose a model whose price is known"
            )
        for setting, ceiling, used in self._limits(spent):
            if used + reserved_usd + most_usd > ceiling:
                return self._reason(setting, ceiling, used + reserved_usd)
        return ""

    def record(self, prices: Mapping[str, float | None]) -> None:
        """Take over what calls of this run cost, or what was reserved for them, by call
        id.
        """
        for call_id, usd in prices.items():
            self._of_run[call_id] = usd or 0.0

    def _limits(self, spent: Spent) -> Iterator[tuple[str, float, float]]:
        """Yield the setting, its ceiling for this run, and what was spent of it."""
        share = _BACKFILL_SHARE if self.is_backfill else 1.0
        if self._ceilings.run:
            yield "NEWS_MAX_USD_PER_RUN", self._ceilings.run, sum(self._of_run.values())
        if self._ceilings.day:
            yield "NEWS_MAX_USD_PER_DAY", self._ceilings.day * share, spent.day
        if self._ceilings.month:
            yield "NEWS_MAX_USD_PER_MONTH", self._ceilings.month, spent.month

    def _reason(self, setting: str, ceiling: float, used: float) -> str:
        share = ""
        if self.is_backfill and setting == "NEWS_MAX_USD_PER_DAY":
            share = f", of which a backfill may spend {_BACKFILL_SHARE:.0%}"
            ceiling /= _BACKFILL_SHARE
        return (
            f"{setting} is reached: {used:.4f} USD are spent or reserved, "
            f"and the ceiling is {ceiling:g} USD{share}"
        )


_COLUMNS = (
    "input_hash",
    "called_at",
    "outcome",
    "reason",
    "claimed_until",
    "claimed_by",
    "reserved_usd",
    "via",
)


@dataclass(slots=True)
class History:
    """The earlier attempts for one input: requests that were sent.

    They are counted by their outcome in the ledger. Of the failed ones `unanswered` are
    those that were perhaps billed. `batched_at`: when the input was last in a batch, if
    nothing was sent after.
    """

    is_answered: bool = False
    claimed_until: datetime | None = None
    refused: int = 0
    rejected: int = 0
    unanswered: int = 0
    failed: int = 0
    is_declined: bool = False
    reason: str = ""
    batched_at: datetime | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the input is not sent again."""
        if self.is_declined:
            return True
        if self.refused >= REFUSED_ANSWER.max_attempts:
            return True
        if self.rejected >= REJECTED_INPUT.max_attempts:
            return True
        return self.unanswered >= UNANSWERED_INPUT.max_attempts

    @property
    def failed_attempts(self) -> int:
        """How many requests gave no result; inputs with fewer are sent first."""
        return self.refused + self.rejected + self.failed

    def add(self, call: Mapping[str, Any]) -> None:
        """Take over a later request: the columns of its call."""
        outcome = call["outcome"]
        self.batched_at = call["called_at"] if call["via"] == BATCH else None
        self.claimed_until = None
        if outcome == "sent":
            owner = call["claimed_by"]
            if owner is None or not _has_ended(owner):
                self.claimed_until = call["claimed_until"]
            self.failed += 1
            return
        self.reason = call["reason"] or ""
        self.is_answered |= outcome == "ok"
        self.is_declined |= outcome == "declined"
        self.refused += outcome == "refused"
        self.rejected += outcome == "rejected"
        self.failed += outcome == "failed"
        self.unanswered += outcome == "failed" and call["reserved_usd"] is not None

    def is_claimed(self, now: datetime) -> bool:
        """Whether another run waits for an answer."""
        if self.claimed_until is None:
            return False
        return self.claimed_until > now


def histories(reader: Reader, hashes: Collection[str]) -> dict[str, History]:
    """Return the history of each of these inputs that was sent before."""
    found: dict[str, History] = {}
    if not hashes:
        return found
    calls = reader.frame(ModelCall, None, _COLUMNS, input_hash=hashes).sort("called_at")
    for call in calls.iter_rows(named=True):
        found.setdefault(call["input_hash"], History()).add(call)
    return found


def _this_process() -> str:
    """Return the name of this process, which claims inputs: machine and number."""
    return f"{socket.gethostname()}/{os.getpid()}"


def _has_ended(owner: str) -> bool:
    """Whether a process is known to have ended: one of this machine that does not run
    any more.
    """
    host, _, number = owner.rpartition("/")
    if host != socket.gethostname():
        return False
    if not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to somebody else
        return False
    return False


_OUTCOMES = {"declined": "declined", "rejected": "rejected", "too_long": "rejected"}


@dataclass(slots=True)
class Claims:
    """What became of requests that were to be claimed.

    Attributes:
        calls: The rows of those that may be sent now.
        busy: Until when another run may wait for an answer, by input hash.
        settled: The history of those that are answered or closed by now, by input hash.
        refusal: Why no more may be sent; empty if all may.
        rests_until: The model rests until then, for the reason `refusal`; nothing may
            be sent.
    """

    calls: dict[str, ModelCall] = field(default_factory=dict)
    busy: dict[str, datetime] = field(default_factory=dict)
    settled: dict[str, History] = field(default_factory=dict)
    refusal: str = ""
    rests_until: datetime | None = None

    def hold_back(self, request: ModelRequest, history: History, now: datetime) -> bool:
        """Return whether a request is not sent, because of earlier requests for its
        input; note these.
        """
        key, article_id = request.input_hash, request.article_id
        if history.claimed_until and history.is_claimed(now):
            _LOG.debug("%s: not sent: another run waits for its answer", article_id)
            self.busy[key] = history.claimed_until
            return True
        if history.is_answered or history.is_closed:
            reason = history.reason or "answered"
            _LOG.debug("%s: not sent again: %s", article_id, reason)
            self.settled[key] = history
            return True
        return False


class Ended(NamedTuple):
    """A call that has ended.

    `call` is its row as it was claimed, `received` what came, `read` what an answer
    says.
    """

    call: ModelCall
    received: ModelAnswer | ModelCallError
    read: Enrichment | EnrichError


class Ledger:
    """The claims, reservations and calls of one run."""

    def __init__(self, lake: Lake, budget: Budget, clock: Clock) -> None:
        self._lake = lake
        self._budget = budget
        self.clock = clock

    def claim(
        self,
        model: str,
        requests: Sequence[ModelRequest],
        valid_s: float,
        *,
        is_batch: bool = False,
        then: Callable[[Rows, Claims], None] = lambda rows, claims: None,
    ) -> Claims:
        """Store a row for each request that may be sent now, for `valid_s` seconds.

        `then` stores more in the same transaction.
        """

        def store(rows: Rows) -> Claims:
            now = self.clock()
            state = state_of(rows, model)
            if state.rests_until and state.rests_until > now:
                return Claims(refusal=state.reason or "", rests_until=state.rests_until)
            until = now + timedelta(seconds=valid_s)
            row = partial(_claimed, model, now, until, is_batch=is_batch)
            claims = self._claims(rows, requests, row, now)
            if claims.calls:
                rows.append(list(claims.calls.values()))
            then(rows, claims)
            return claims

        claims = self._lake.transact(store)
        self._budget.record(
            {call.call_id: call.reserved_usd for call in claims.calls.values()}
        )
        return claims

    def _claims(
        self,
        rows: Reader,
        requests: Sequence[ModelRequest],
        row: Callable[[ModelRequest], ModelCall],
        now: datetime,
    ) -> Claims:
        """Return which of these requests may be sent, each with its row."""
        past = histories(rows, {request.input_hash for request in requests})
        spent = self._budget.spent(rows, now)
        claims, reserved_usd = Claims(), 0.0
        for request in requests:
            history = past.get(request.input_hash)
            if history and claims.hold_back(request, history, now):
                continue
            call = row(request)
            claims.refusal = self._budget.refusal(
                call.model, call.reserved_usd, reserved_usd, spent
            )
            if claims.refusal:
                _LOG.debug(
                    "%s and later ones: not sent: %s",
                    request.article_id,
                    claims.refusal,
                )
                break
            reserved_usd += call.reserved_usd or 0.0
            claims.calls[request.input_hash] = call
        return claims

    def settle(
        self, ended: Sequence[Ended], then: Callable[[Rows], None] = lambda rows: None
    ) -> None:
        """Store what became of calls, their results and what `then` stores, in one
        transaction.

        An answer that failed a check, and a call without an answer, have a row of their
        call only.
        """
        now = self.clock()
        calls: list[ModelCall] = []
        caches: list[CachedEnrichment] = []
        for one in ended:
            call, _, read = one
            calls.append(_ended_call(one))
            if isinstance(read, Enrichment):
                key, article_id = call.input_hash, call.article_id
                cached = cache_of(key, read, ENRICHER, call.model, article_id, now)
                caches.append(cached)

        def store(rows: Rows) -> None:
            if calls:
                rows.upsert(calls)
            if caches:
                rows.upsert(caches)
            then(rows)

        self._lake.transact(store)
        self._budget.record({call.call_id: _counted_usd(call) for call in calls})


def state_of(reader: Reader, model: str) -> ModelState:
    """Return what all runs know of a model."""
    found = reader.read(ModelState, model=[model])
    if found:
        return found[0]
    return ModelState(model=model, rests_until=None, reason=None, window_tokens=None)


def rest_model(
    rows: Rows,
    model: str,
    until: datetime | None = None,
    reason: str = "",
    window_tokens: int | None = None,
) -> None:
    """Store that a model rests until `until`, and its context window, where these are
    known.
    """
    state = state_of(rows, model)
    if until and (state.rests_until is None or until > state.rests_until):
        state = replace(state, rests_until=until, reason=reason)
    if window_tokens:
        state = replace(state, window_tokens=window_tokens)
    rows.upsert([state])


def _counted_usd(call: ModelCall) -> float | None:
    """Return what counts for the ceilings."""
    if call.reserved_usd is None:
        return call.usd
    return call.reserved_usd


def _claimed(
    model: str,
    now: datetime,
    until: datetime,
    request: ModelRequest,
    *,
    is_batch: bool,
) -> ModelCall:
    return ModelCall(
        # Ordered by time: upserts read few files.
        call_id=f"{round(now.timestamp() * 1000):012x}{uuid4().hex[12:]}",
        input_hash=request.input_hash,
        kind=request.kind,
        desk=request.desk,
        agency=request.agency,
        day=request.day,
        article_id=request.article_id,
        model=model,
        prompt_version=request.prompt_version,
        called_at=now,
        via=BATCH if is_batch else DIRECT,
        batch_id=None,
        input_tokens=None,
        output_tokens=None,
        cached_tokens=None,
        usd=expected_usd(model, request, now, is_batch=is_batch),
        reserved_usd=most_usd(model, request, now, is_batch=is_batch),
        claimed_until=until,
        claimed_by=None if is_batch else _this_process(),
        sent_chars=request.chars,
        elapsed_ms=0,
        outcome="sent",
        reason=None,
        answer_json=None,
    )


def _ended_call(ended: Ended) -> ModelCall:
    """Return the row of a call that has ended.

    A status of 4xx or 5xx costs nothing. A call that was perhaps billed keeps its
    estimate and its reservation.
    """
    call, received, read = ended
    call = replace(call, claimed_until=None, claimed_by=None)
    if isinstance(received, ModelCallError):
        if received.kind != "unanswered":
            call = replace(call, usd=0.0, reserved_usd=None)
        outcome = _OUTCOMES.get(received.kind, "failed")
        return replace(call, outcome=outcome, reason=str(received))
    if received.input_tokens is not None:
        is_batch = call.via == BATCH
        usd = answer_usd(call.model, received, call.called_at, is_batch=is_batch)
        call = replace(call, usd=usd, reserved_usd=None)
    outcome, reason = "ok", None
    if isinstance(read, EnrichError):
        outcome = "declined" if received.stop == "declined" else "refused"
        reason = str(read)
    return replace(
        call,
        input_tokens=received.input_tokens,
        output_tokens=received.output_tokens,
        cached_tokens=received.cached_tokens,
        cache_write_tokens=received.cache_write_tokens,
        elapsed_ms=received.elapsed_ms,
        outcome=outcome,
        reason=reason,
        answer_json=received.raw,
    )
