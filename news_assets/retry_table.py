"""When failed work is tried again: the one table of attempts and pauses.

The code that repeats work reads its attempts and pauses here, and decides by itself which
failures are of a kind. `make docs` writes the table into docs/operations.md.

An attempt is one try of the work. The column `attempts` of a row counts the failed
ones; a refusal is a failed attempt to which the other side said no. A row whose
attempts are used up has no `next_try_at`.
"""

import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

_MINUTE_S: Final = 60.0
_HOUR_S: Final = 60 * _MINUTE_S
_DAY_S: Final = 24 * _HOUR_S

# A Retry-After may say anything, and a source that fails for long is polled this rarely.
LONGEST_PAUSE_S: Final = 30 * _DAY_S
ENDLESS: Final = sys.maxsize  # attempts of work that is never given up


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """The attempts of one kind of work, and the pauses between them.

    `pauses_s` follow the first attempts; after them the last one is repeated, or
    doubled each time. Work without them is tried again when `note` says.
    `max_attempts` counts the first one too. No pause is longer than `longest_s`. `note` says what
    else the next attempt depends on.
    """

    work: str
    failure: str
    pauses_s: tuple[float, ...] = ()
    max_attempts: int = ENDLESS
    then: Literal["repeated", "doubled"] = "repeated"
    longest_s: float = LONGEST_PAUSE_S
    note: str = ""

    def pause_s(self, failed_attempts: int) -> float | None:
        """Return the pause after so many failed attempts; None if no attempt follows."""
        if failed_attempts >= self.max_attempts:
            return None
        number = max(failed_attempts, 1) - 1
        past = number - (len(self.pauses_s) - 1)
        if past <= 0:
            return self.pauses_s[number]
        last_s = self.pauses_s[-1]
        if self.then == "repeated":
            return last_s
        return min(last_s * 2.0 ** min(past, 64), self.longest_s)

    def next_at(self, failed_attempts: int, now: datetime) -> datetime | None:
        """Return when the next attempt is due after so many failed ones, the last of
        them now; None if no attempt follows.
        """
        pause_s = self.pause_s(failed_attempts)
        if pause_s is None:
            return None
        return now + timedelta(seconds=pause_s)


# Minutes for a server that restarts, hours for an outage, days for one that is forgotten.
_MINUTES_TO_DAYS: Final = (
    5 * _MINUTE_S,
    30 * _MINUTE_S,
    2 * _HOUR_S,
    6 * _HOUR_S,
    _DAY_S,
)

POLL: Final = RetryRule(
    work="poll of a source",
    failure="any error",
    pauses_s=(_HOUR_S,),
    then="doubled",
    note=(
        "The first pause is the source's interval, at most an hour. A hard error doubles it, two"
        " soft ones do, or four of DNS. Not before `Retry-After`."
    ),
)
POLL_OF_GONE: Final = RetryRule(
    work="poll of a source",
    failure="410",
    pauses_s=(_DAY_S,),
    then="doubled",
)
FETCH: Final = RetryRule(
    work="fetch of an article or a document",
    failure="timeout, 429, 5xx and other transient errors",
    pauses_s=_MINUTES_TO_DAYS,
    max_attempts=8,
    note="Not before `Retry-After`.",
)
REFUSED_FETCH: Final = RetryRule(
    work="fetch of an article or a document",
    failure="403, 404 and other refusals, a page without a text",
    pauses_s=(_DAY_S, 7 * _DAY_S),
    max_attempts=5,
    note="Pages come back, but late.",
)
CONNECTION: Final = RetryRule(
    work="connection to an article's host",
    failure="no connection",
    pauses_s=(2.0, 10.0),
    max_attempts=3,
    note=(
        "In the same run, before it counts as an attempt to fetch: for a lost packet, and a server"
        " that restarts. A host has the pauses once until it answers; each is up to 25 % shorter or"
        " longer."
    ),
)
RELISTED_FETCH: Final = RetryRule(
    work="fetch of an article with a stored text",
    failure="none, but the listing's text changed, and nothing else in it",
    pauses_s=(
        _HOUR_S,
        2 * _HOUR_S,
        4 * _HOUR_S,
        8 * _HOUR_S,
        16 * _HOUR_S,
        _DAY_S,
    ),
    note=(
        "The pauses begin again when the listing has news, and after 2 days without a"
        " fetch."
    ),
)
# So long after the last fetch, the pauses of RELISTED_FETCH begin again.
RELISTED_RESET_S: Final = 2 * _DAY_S
ROBOTS: Final = RetryRule(
    work="fetch of a robots.txt",
    failure="any error",
    pauses_s=(5 * _MINUTE_S,),
    note="Hundreds of articles may need one robots.txt: one attempt serves them all.",
)
STAGE: Final = RetryRule(
    work="enriching, embedding or indexing an article",
    failure="any error",
    pauses_s=_MINUTES_TO_DAYS,
    max_attempts=8,
)
STAGE_OUTAGE: Final = RetryRule(
    work="enriching or embedding all articles",
    failure="the stage's embedding model or taxonomy is unavailable",
    pauses_s=_MINUTES_TO_DAYS,
)
RUN: Final = RetryRule(
    work="run of a desk's stages",
    failure="the run left its work unchanged",
    pauses_s=(10.0,),
    max_attempts=12,
    then="doubled",
    note=(
        "Each time in smaller ranges, so that one bad page does not hold up others. The pauses add"
        " up to eleven hours."
    ),
)
CIVIC_RUN: Final = RetryRule(
    work="run of a civic desk's stages",
    failure="the run left its work unchanged",
    pauses_s=(5 * _MINUTE_S,),
    max_attempts=3,
    then="doubled",
    note="Days of meetings are read again every night in any case.",
)
MODEL_CALL: Final = RetryRule(
    work="call of a language model",
    failure="5xx, no connection",
    pauses_s=(1.0,),
    max_attempts=4,
    then="doubled",
    note="In the same run, or after the wait that the provider states.",
)
RATE_LIMITED_CALL: Final = RetryRule(
    work="call of a language model",
    failure="429, or the provider wants a pause",
    pauses_s=MODEL_CALL.pauses_s,
    max_attempts=5,
    then="doubled",
    note="In the same run, or after the wait that the provider states.",
)
UNANSWERED_CALL: Final = RetryRule(
    work="call of a language model",
    failure="sent, and perhaps billed, without an answer",
    pauses_s=MODEL_CALL.pauses_s,
    max_attempts=2,
    note="In the same run.",
)
TOO_LONG_CALL: Final = RetryRule(
    work="call of a language model",
    failure="the text is too long",
    max_attempts=2,
    note="At once, with a shorter text.",
)
REFUSED_ANSWER: Final = RetryRule(
    work="input of a language model",
    failure="an answer that failed a check",
    max_attempts=2,
    note="In the next run: each answer was paid.",
)
REJECTED_INPUT: Final = RetryRule(
    work="input of a language model",
    failure="the provider rejected the request",
    max_attempts=2,
    note="In the next run.",
)
UNANSWERED_INPUT: Final = RetryRule(
    work="input of a language model",
    failure="no answer to any of a run's calls that were perhaps billed",
    max_attempts=6,
    note="The calls of all runs count together.",
)
REST_OF_MODEL: Final = RetryRule(
    work="language model",
    failure="its key or account is refused, or failures in a row",
    pauses_s=(5 * _MINUTE_S,),
    longest_s=_DAY_S,
    note="No run calls it meanwhile. A rest that the provider states is kept, up to a day.",
)
MESSAGE: Final = RetryRule(
    work="message of a saved query or to operators",
    failure="408, 425, 429, 5xx, no answer",
    pauses_s=(
        30.0,
        2 * _MINUTE_S,
        10 * _MINUTE_S,
        _HOUR_S,
        3 * _HOUR_S,
        12 * _HOUR_S,
        _DAY_S,
    ),
    max_attempts=8,
    longest_s=_DAY_S,
    note="Not before `Retry-After`. `alerts` sends messages again that were given up.",
)
INDEX_WRITE: Final = RetryRule(
    work="write to the embedded index",
    failure="another process holds its lock for longer than 30 s",
    pauses_s=(0.1,),
    max_attempts=4,
    then="doubled",
)
LAKE_WRITE: Final = RetryRule(
    work="transaction of the lake",
    failure="a conflict with another writer",
    pauses_s=(0.02,),
    then="doubled",
    longest_s=1.0,
    note="At random up to the pause, from the latest commit, within the time for the write lock.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WaitLimit:
    """The longest wait of one kind that the other side can request.

    `then` says what happens to a longer one.
    """

    wait: str
    longest_s: float
    then: str


HOST_WAIT_IN_RUN: Final = _WaitLimit(
    wait="`Retry-After` of a host, waited for in the run",
    longest_s=60.0,
    then="its requests fail, and are tried again when due",
)
HOST_WAIT: Final = _WaitLimit(
    wait="`Retry-After` of a host, kept for all its requests",
    longest_s=_DAY_S,
    then="it is kept for a day; a source's next poll keeps all of it, up to 30 days",
)
SLOTS_WAIT_IN_RUN: Final = _WaitLimit(
    wait="Postgres with the slots of hosts, unavailable, waited for in the run",
    longest_s=60.0,
    then="the request fails, and is tried again when due",
)
MODEL_WAIT_IN_RUN: Final = _WaitLimit(
    wait="wait that the provider of a language model states, waited for in the run",
    longest_s=2 * _MINUTE_S,
    then="the run has no more calls of the model",
)

# In the order in which the documentation has them.
WAIT_LIMITS: Final = (
    HOST_WAIT_IN_RUN,
    HOST_WAIT,
    SLOTS_WAIT_IN_RUN,
    MODEL_WAIT_IN_RUN,
)
RETRY_RULES: Final = (
    POLL,
    POLL_OF_GONE,
    CONNECTION,
    FETCH,
    REFUSED_FETCH,
    RELISTED_FETCH,
    ROBOTS,
    STAGE,
    STAGE_OUTAGE,
    RUN,
    CIVIC_RUN,
    MODEL_CALL,
    RATE_LIMITED_CALL,
    UNANSWERED_CALL,
    TOO_LONG_CALL,
    REFUSED_ANSWER,
    REJECTED_INPUT,
    UNANSWERED_INPUT,
    REST_OF_MODEL,
    MESSAGE,
    INDEX_WRITE,
    LAKE_WRITE,
)

# What is not tried again by itself, and what happens instead.
NEVER_RETRIED: Final = (
    (
        "fetch of an article or a document",
        "410 of an article without a text, forbidden by robots.txt, on a private network or a port"
        " of another protocol, too large",
        "`failures retry`",
    ),
    (
        "fetch of an article with a stored text",
        "410 or 451",
        "the second one, a day or more after the first, withdraws the article",
    ),
    (
        "call of a language model",
        "the request is rejected, or the model declines the text",
        "the article's enrichment is made without the model",
    ),
    (
        "message of a saved query or to operators",
        "the channel refuses it",
        "`alerts` sends it again",
    ),
    (
        "backup, restore, rebuild of an index",
        "any error",
        "nothing is replaced; the next daily maintenance makes a backup, a command is repeated",
    ),
)
