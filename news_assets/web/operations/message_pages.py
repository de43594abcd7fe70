"""The messages that were delivered, wait, or were given up, and sending one again; for
operators.
"""

import logging
from datetime import UTC, datetime
from typing import Final, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.pipeline.alerts.outbox import replay
from news_assets.ports.services import Rows
from news_assets.store.queries.listed_messages import (
    MessageState,
    message_counts,
    newest_messages,
)
from news_assets.web.archive import Archive
from news_assets.web.operations.article_actions import Render
from news_assets.web.operations.sessions import Sessions, note, read_form

PATH: Final = "/operations/messages"
_LISTED: Final = 100
_STATES: Final[tuple[MessageState, ...]] = get_args(MessageState)
_log = logging.getLogger(__name__)


class MessageActions:
    """Handlers; that of POST gets the request's body, which is a form."""

    def __init__(self, archive: Archive, sessions: Sessions, render: Render) -> None:
        self._archive, self._sessions, self._render = archive, sessions, render

    def page(self, request: Request) -> Response:
        """Return the newest messages, of the state that the address names."""
        if self._sessions.operator(request) is None:
            return RedirectResponse(f"/operations/login?to={PATH}", 303)
        named = request.query_params.get("state", "")
        state = next((one for one in _STATES if one == named), None)
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
        message_id, now = read_form(body).get("message_id", ""), datetime.now(UTC)

        def work(rows: Rows) -> bool:
            found = replay(rows, message_id, now)
            if found:
                note(rows, who, "send again", message_id, now)
            return found

        if not self._archive.lake.transact(work):
            raise HTTPException(404, "no such message that was delivered or given up")
        _log.warning("%s sends the message %s again", who, message_id)
        return RedirectResponse(PATH, 303)
