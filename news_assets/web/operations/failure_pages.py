"""What failed by host and reason, the retry of all that is filtered, and what became of
retries; the messages that were sent, wait, or were given up, and sending one again.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.pipeline.alerts.outbox import replay
from news_assets.pipeline.failures import make_due
from news_assets.ports.services import Rows
from news_assets.records.derived import Failure
from news_assets.store.queries.listed_failures import (
    FailureCount,
    ListedFailure,
    MessageState,
    failure_counts,
    message_counts,
    newest_failures,
    newest_messages,
    newest_retries,
    retried_failures,
)
from news_assets.web.archive import Archive
from news_assets.web.operations.article_actions import Render
from news_assets.web.operations.sessions import (
    Access,
    Sessions,
    is_confirmed,
    looks_of,
    note,
    note_all,
    read_form,
)
from news_assets.web.parameters import (
    FAILURE_FILTERS,
    FailureParameters,
    ParameterError,
)

RETRIES_PATH: Final = "/operations/retries"
_MAX_RETRIED: Final = 10_000  # failures of one retry
_MAX_GROUPS: Final = 20
_MAX_OPTIONS: Final = 100  # of a filter, the most frequent
_LISTED_RETRIES: Final = 10
_LISTED_FAILURES: Final = 50
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailureGroup:
    """How many failures articles of one host have for one cause."""

    host: str
    cause: str
    failures: int
    given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overview:
    """The failures that are filtered, by host and cause, the largest groups first; and
    the values of each filter over all failures, the most frequent first.
    """

    failures: int
    given_up: int
    groups: Sequence[_FailureGroup]
    other_groups: int
    options: Mapping[str, Sequence[str]]


def overview(archive: Archive, parameters: FailureParameters) -> _Overview:
    """Return what the page of failures shows above its list."""
    counts = failure_counts(archive.lake)
    options = {}
    for name in FAILURE_FILTERS:
        options[name] = _most_frequent(counts, name)
    filtered = [one for one in counts if _passes(one, parameters)]
    groups = _groups_of(filtered)
    return _Overview(
        failures=sum(one.failures for one in filtered),
        given_up=sum(one.given_up for one in filtered),
        groups=groups[:_MAX_GROUPS],
        other_groups=max(0, len(groups) - _MAX_GROUPS),
        options=options,
    )


def _most_frequent(counts: Iterable[FailureCount], name: str) -> list[str]:
    found: Counter[str] = Counter()
    for one in counts:
        found[getattr(one, name)] += one.failures
    return [value for value, _ in found.most_common(_MAX_OPTIONS) if value]


def _passes(count: FailureCount, parameters: FailureParameters) -> bool:
    for name, value in parameters.filters.items():
        if value is not None and getattr(count, name) != value:
            return False
    return True


def _groups_of(counts: Iterable[FailureCount]) -> list[_FailureGroup]:
    failures: Counter[tuple[str, str]] = Counter()
    given_up: Counter[tuple[str, str]] = Counter()
    for one in counts:
        failures[one.host, one.cause] += one.failures
        given_up[one.host, one.cause] += one.given_up
    groups = []
    for (host, cause), count in failures.most_common():
        parked = given_up[host, cause]
        groups.append(
            _FailureGroup(host=host, cause=cause, failures=count, given_up=parked)
        )
    return groups


def _parameters_in(form: Mapping[str, str]) -> FailureParameters:
    """Return the filters that a form states."""
    given = {name: form.get(name, "") for name in FAILURE_FILTERS}
    return FailureParameters.of(given)


class FailureActions:
    """Handlers of the retry of all failures that are filtered, and of its results."""

    def __init__(
        self, archive: Archive, access: Access, sessions: Sessions, render: Render
    ) -> None:
        self._lake, self._access = archive.lake, access
        self._sessions, self._render = sessions, render

    def retry(self, request: Request, body: bytes) -> Response:
        """Make all failures that are filtered due now; without a confirmation, return
        the page with it.
        """
        who = self._sessions.check(request)
        now = datetime.now(UTC)
        form = read_form(body)
        parameters = _parameters_in(form)
        found = newest_failures(
            self._lake, **parameters.filters, after=None, limit=_MAX_RETRIED
        )
        if not found:
            raise HTTPException(404, "no failure passes these filters")
        if not is_confirmed(request, form):
            return self._confirm(request, parameters, found)
        retried = self._lake.transact(lambda rows: _make_due(rows, found, who, now))
        _log.warning("%s retries %d failures", who, retried)
        return RedirectResponse(RETRIES_PATH, 303)

    def _confirm(
        self,
        request: Request,
        parameters: FailureParameters,
        found: Sequence[ListedFailure],
    ) -> Response:
        return self._render(
            request,
            "confirm_retry.html",
            parameters=parameters,
            count=len(found),
            is_cut=len(found) == _MAX_RETRIED,
            hosts=len({one.host for one in found}),
            looks=looks_of(self._access, datetime.now(UTC)),
        )

    def retries(self, request: Request) -> Response:
        """Return the last retries, and what became of each failure of one of them."""
        last = newest_retries(self._lake, _LISTED_RETRIES)
        shown = _shown_time(request) or (last[0].acted_at if last else None)
        failures = []
        if shown is not None:
            failures = retried_failures(
                self._lake, acted_at=shown, limit=_LISTED_FAILURES
            )
        return self._render(
            request,
            "retries.html",
            retries=last,
            shown=shown,
            failures=failures,
            looks=looks_of(self._access, datetime.now(UTC)),
        )


def _shown_time(request: Request) -> datetime | None:
    text = request.query_params.get("at", "")
    if not text:
        return None
    try:
        shown = datetime.fromisoformat(text)
    except ValueError:
        raise ParameterError(
            f"at={text[:40]}: a time such as 2026-01-31T12:00Z"
        ) from None
    if shown.tzinfo:
        return shown
    return shown.replace(tzinfo=UTC)


def _make_due(rows: Rows, found: Sequence[Failure], who: str, now: datetime) -> int:
    """Make those of these failures that still are there due; return their number."""
    ids: dict[str, set[str]] = defaultdict(set)
    for one in found:
        ids[one.stage].add(one.article_id)
    due: list[Failure] = []
    for stage in sorted(ids):
        due += make_due(rows, now, stage=[stage], article_id=ids[stage])
    note_all(rows, who, "retry", [(one.stage, one) for one in due], now)
    return len(due)


MESSAGES_PATH: Final = "/operations/messages"
_LISTED: Final = 100
_STATES: Final[tuple[MessageState, ...]] = get_args(MessageState)


class MessageActions:
    """Handlers; that of POST gets the request's body, which is a form."""

    def __init__(self, archive: Archive, sessions: Sessions, render: Render) -> None:
        self._archive = archive
        self._sessions = sessions
        self._render = render

    def page(self, request: Request) -> Response:
        """Return the newest messages, of the state that the address names."""
        if self._sessions.operator(request) is None:
            return RedirectResponse(f"/operations/login?to={MESSAGES_PATH}", 303)
        named = request.query_params.get("state", "")
        state = named if named in _STATES else None
        lake = self._archive.lake
        return self._render(
            request,
            "messages.html",
            messages=newest_messages(lake, state, _LISTED),
            counts=message_counts(lake),
            states=_STATES,
            state=state,
        )

    def send_again(self, request: Request, body: bytes) -> Response:
        """Make the message due that the form names; the daemon sends it."""
        who = self._sessions.check(request)
        message_id = read_form(body).get("message_id", "")
        now = datetime.now(UTC)

        def work(rows: Rows) -> bool:
            found = replay(rows, message_id, now)
            if found:
                note(rows, who, "send again", message_id, now)
            return found

        if not self._archive.lake.transact(work):
            raise HTTPException(404, "no such message that was delivered or given up")
        _log.warning("%s sends the message %s again", who, message_id)
        return RedirectResponse(MESSAGES_PATH, 303)
