"""The ledger of requests: each is a row before it is sent.

One row claims its input, so that no other run sends it, and reserves the most that the
call can cost, so that all runs together keep the ceilings. The answer replaces it. A
claim of a run that was killed ends by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from news_assets.errors import EnrichError, ModelCallError
from news_assets.pipeline.enrich.model.budget import Budget
from news_assets.pipeline.enrich.model.estimates import expected_usd, most_usd
from news_assets.pipeline.enrich.model.history import History, histories, this_process
from news_assets.pipeline.enrich.model.prices import answer_usd
from news_assets.pipeline.enrich.model.requests import ENRICHER
from news_assets.pipeline.enrich.rows import cache_of
from news_assets.ports.services import Lake, ModelAnswer, ModelRequest, Reader, Rows
from news_assets.records.model_calls import BATCH, DIRECT, ModelCall, ModelState
from news_assets.records.reading import Enrichment

Clock = Callable[[], datetime]

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
            claims = self._claims(
                rows, model, requests, now, now + timedelta(seconds=valid_s), is_batch
            )
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
        model: str,
        requests: Sequence[ModelRequest],
        now: datetime,
        until: datetime,
        is_batch: bool,
    ) -> Claims:
        past = histories(rows, {request.input_hash for request in requests})
        spent, claims, reserved_usd = self._budget.spent(rows, now), Claims(), 0.0
        for request in requests:
            key, history = request.input_hash, past.get(request.input_hash, History())
            if history.is_claimed(now):
                claims.busy[key] = history.claimed_until or until
                continue
            if history.is_answered or history.is_closed:
                claims.settled[key] = history
                continue
            most = most_usd(model, request, now, is_batch=is_batch)
            claims.refusal = self._budget.refusal(model, most, reserved_usd, spent)
            if claims.refusal:
                break
            reserved_usd += most or 0.0
            claims.calls[key] = _claimed(model, request, now, until, most, is_batch)
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
        calls = [_ended_call(one) for one in ended]
        caches = [
            cache_of(
                one.call.input_hash,
                one.read,
                ENRICHER,
                one.call.model,
                one.call.article_id,
                now,
            )
            for one in ended
            if isinstance(one.read, Enrichment)
        ]

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
    return call.usd if call.reserved_usd is None else call.reserved_usd


def _claimed(
    model: str,
    request: ModelRequest,
    now: datetime,
    until: datetime,
    most: float | None,
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
        reserved_usd=most,
        claimed_until=until,
        claimed_by=None if is_batch else this_process(),
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
        is_billed = received.kind == "unanswered"
        return replace(
            call,
            usd=call.usd if is_billed else 0.0,
            reserved_usd=call.reserved_usd if is_billed else None,
            outcome=_OUTCOMES.get(received.kind, "failed"),
            reason=str(received),
        )
    usd = answer_usd(call.model, received, call.called_at, is_batch=call.via == BATCH)
    is_stated = received.input_tokens is not None
    error = read if isinstance(read, EnrichError) else None
    refused = "declined" if received.stop == "declined" else "refused"
    return replace(
        call,
        input_tokens=received.input_tokens,
        output_tokens=received.output_tokens,
        cached_tokens=received.cached_tokens,
        cache_write_tokens=received.cache_write_tokens,
        usd=usd if is_stated else call.usd,
        reserved_usd=None if is_stated else call.reserved_usd,
        elapsed_ms=received.elapsed_ms,
        outcome=refused if error else "ok",
        reason=str(error) if error else None,
        answer_json=received.raw,
    )
