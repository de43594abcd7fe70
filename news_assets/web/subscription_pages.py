"""How readers follow what is new: the page of the feeds, and all of them as OPML; and
subscriptions by e-mail.

A reader gives an address on the page of a search, confirms it with the link in a mail, and
ends it with one click. All answers to a request are the same, whether the address is known
or not.
"""

import logging
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from news_assets.clients.subscriber_mail import (
    CONFIRM_PATH,
    END_PATH,
    SubscriptionLinks,
)
from news_assets.desks.site_lists import opml_of_feeds
from news_assets.errors import QueryError
from news_assets.pipeline.alerts.mail_text import CHANGES
from news_assets.pipeline.alerts.query_file import SavedQuery, explain
from news_assets.pipeline.alerts.subscriptions import (
    SubscriptionError,
    checked_address,
    confirm,
    end,
    found_in,
    query_json_of,
    query_of_subscription,
    request_subscription,
)
from news_assets.records.alerts import SUBSCRIPTION, Subscription
from news_assets.text.query_parser import parse_operators
from news_assets.web.archive import Archive
from news_assets.web.facets import value_label, values_with
from news_assets.web.localization import language_of, mistake_text, translation
from news_assets.web.meeting_views import has_meetings
from news_assets.web.operations.article_actions import Render
from news_assets.web.operations.query_actions import (
    FILTERS,
    filters_in,
    hits_of_last_week,
    listed_queries,
)
from news_assets.web.operations.sessions import (
    filled_fields,
    posted,
    private_page,
    read_form,
)
from news_assets.web.parameters import SEVERAL, SearchAddress
from news_assets.web.request_limits import client_of

_PATH: Final = "/subscribe"
_WHENS: Final = {"at_once": "at once", "daily": "daily", "weekly": "weekly"}
_MAX_A_DAY: Final = 20  # requests of one client
_DAY_S: Final = 86_400
_MAX_CLIENTS: Final = 10_000
_log = logging.getLogger(__name__)


class _RequestsOfClients:
    """Counts requests by client for a day, in memory. Thread-safe."""

    def __init__(self) -> None:
        self._begun: dict[str, list[float]] = {}
        self._changing = threading.Lock()

    def is_over(self, client: str, now_s: float) -> bool:
        """Count a request; return whether there were too many before it."""
        with self._changing:
            recent = [at for at in self._begun.get(client, ()) if at > now_s - _DAY_S]
            if len(recent) >= _MAX_A_DAY:
                return True
            if len(self._begun) >= _MAX_CLIENTS:
                self._begun.clear()
            self._begun[client] = [*recent, now_s]
            return False


class SubscriptionPages:
    """Handlers; `render` makes a page of a template and values."""

    def __init__(
        self, archive: Archive, links: SubscriptionLinks, render: Render
    ) -> None:
        self._archive = archive
        self._links = links
        self._render = render
        self._requests = _RequestsOfClients()

    def routes(self) -> list[Route]:
        """Return the routes."""
        confirming, ending = f"{CONFIRM_PATH}/{{token}}", f"{END_PATH}/{{token}}"
        # a mail program sends the one click: it is no page of this server
        one_click = posted(self.end, any_origin=True)
        return [
            Route(_PATH, private_page(self.form), methods=["GET"]),
            Route(_PATH, posted(self.request), methods=["POST"]),
            Route(confirming, private_page(self.confirming), methods=["GET"]),
            Route(confirming, posted(self.confirm), methods=["POST"]),
            Route(ending, private_page(self.ending), methods=["GET"]),
            Route(ending, one_click, methods=["POST"]),
        ]

    # --- the request ------------------------------------------------------------------

    def form(self, request: Request) -> Response:
        """Return the form for the search of the address, with how much it would have
        sent in the last week.
        """
        address = SearchAddress.of(request.query_params)
        filters = address.model_dump(include=FILTERS, exclude_none=True, mode="json")
        return self._form(request, {"query": address.text, **filters})

    def _form(
        self, request: Request, given: Mapping[str, Any], error: str = ""
    ) -> Response:
        preview = None
        if not error:
            try:
                query = _query_of(given, "")
                preview = hits_of_last_week(self._archive, query, datetime.now(UTC))
            except SubscriptionError as problem:
                error = str(problem)
            except QueryError as mistake:
                error = mistake_text(mistake, translation(language_of(request)))
        return self._render(
            request,
            "subscribe.html",
            400 if error else 200,
            given=given,
            filters=filters_in(given),
            whens=_WHENS,
            changes=self._changes(),
            preview=preview,
            error=error,
        )

    def _changes(self) -> dict[str, str]:
        """Return the kinds of change to choose, with their names."""
        if has_meetings(self._archive):
            return dict(CHANGES)
        return {kind: CHANGES[kind] for kind in ("edited", "withdrawn")}

    def request(self, request: Request, body: bytes) -> Response:
        """Store a request for a subscription and the mail that asks to confirm it,
        within the limits; the answer does not say which.
        """
        client = client_of(request.client.host) if request.client else ""
        if self._requests.is_over(client, time.monotonic()):
            raise HTTPException(
                429, "too many requests for subscriptions; try tomorrow"
            )
        form, language = read_form(body), language_of(request)
        given = {**filled_fields(form), "changes": form.getlist("changes")}
        try:
            row = self._row_of(given, language)
        except SubscriptionError as error:
            return self._form(request, given, str(error))
        except QueryError as mistake:
            explained = mistake_text(mistake, translation(language))
            return self._form(request, given, explained)
        lake = self._archive.lake
        lake.transact(lambda rows: request_subscription(rows, row, row.requested_at))
        return self._said(request, "Look into your mailbox", _SENT)

    def _row_of(self, given: Mapping[str, Any], language: str) -> Subscription:
        """Return the requested subscription. Raises SubscriptionError, QueryError."""
        email = checked_address(given.get("email", ""))
        if given.get("when", "at_once") not in _WHENS:
            raise SubscriptionError(f"when: one of {', '.join(_WHENS)}")
        query = _query_of(given, self._title(given, language))
        return Subscription(
            subscription_id=secrets.token_urlsafe(16),
            email=email,
            query_json=query_json_of(query),
            language=language,
            requested_at=datetime.now(UTC),
        )

    def _title(self, given: Mapping[str, Any], language: str) -> str:
        """Return the words and the filters as readers know them."""
        parts = [given.get("query", "")]
        for name in sorted(FILTERS & given.keys()):
            desk = given.get("desk")
            label = value_label(self._archive, name, given[name], desk, language)
            parts.append(" ".join(label.split()))
        text = " · ".join(filter(None, parts))
        return (text or translation(language)("all articles"))[:300]

    # --- links of mails ---------------------------------------------------------------

    def confirming(self, request: Request) -> Response:
        """Return the page with the button: programs that check mails open its link."""
        read = self._links.confirmed
        return self._question_page(request, read, "Confirm the subscription")

    def confirm(self, request: Request, body: bytes) -> Response:
        """Confirm the subscription of the link."""
        found = self._links.confirmed(request.path_params["token"])
        now = datetime.now(UTC)
        lake = self._archive.lake
        row = lake.transact(lambda rows: confirm(rows, found, now)) if found else None
        if row is None:
            raise HTTPException(404, _GONE)
        return self._said(request, "Confirmed", _CONFIRMED)

    def ending(self, request: Request) -> Response:
        """Return the page with the button that ends the subscription of the link."""
        return self._question_page(request, self._links.ended, "End the subscription")

    def end(self, request: Request, body: bytes) -> Response:
        """End the subscription of the link and delete all that is stored of it; again
        is no mistake.
        """
        found = self._links.ended(request.path_params["token"])
        if found is None:
            raise HTTPException(404, _GONE)
        self._archive.lake.transact(lambda rows: end(rows, [found]))
        return self._said(request, "Ended", _ENDED)

    def _question_page(self, request: Request, read: Any, question: str) -> Response:
        found = read(request.path_params["token"])
        row = found_in(self._archive.lake, found) if found else None
        if row is None:
            raise HTTPException(404, _GONE)
        query = query_of_subscription(row)
        return self._render(
            request,
            "subscription.html",
            question=question,
            title=query.title,
            when=_WHENS.get(query.when, query.when),
        )

    def _said(self, request: Request, heading: str, text: str) -> Response:
        return self._render(request, "subscribed.html", heading=heading, text=text)


_SENT: Final = (
    "If the address can be subscribed, a mail is on its way. It has a link to confirm, which is"
    " valid for 48 hours."
)
_CONFIRMED: Final = "From now on there are mails about new articles."
_ENDED: Final = "There are no more mails. The address and the search are deleted."
_GONE: Final = "there is no such subscription: it has ended, or the link is too old"


_KEPT: Final = (*FILTERS, "query", "when", "changes", "stories", "publishers")


def _query_of(given: Mapping[str, Any], title: str) -> SavedQuery:
    """Return the query of a form. Raises SubscriptionError, QueryError."""
    for name in SEVERAL:
        if "," in str(given.get(name, "")):
            raise SubscriptionError(f"{name}: a subscription takes one value")
    kept = {name: given[name] for name in _KEPT if name in given}
    parse_operators(str(given.get("query", "")))
    name = f"{SUBSCRIPTION}new"
    try:
        return SavedQuery.model_validate(
            {**kept, "title": title, "name": name, "to": (name,)}
        )
    except ValidationError as error:
        raise SubscriptionError(explain(error.errors()[0])) from None


@dataclass(frozen=True, slots=True)
class NamedFeed:
    """A feed with its name and the page of what it lists; paths on this server."""

    name: str
    page: str
    feed: str


class FeedPages:
    """Handlers; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def page(self, request: Request) -> Response:
        """Return the feeds of lists and themes, and where the others are."""
        themes = theme_feeds(self._archive, language_of(request))
        listed = list_feeds(self._archive)
        return self._render(request, "feeds.html", listed=listed, themes=themes)

    def opml(self, request: Request) -> Response:
        """Return the feeds of lists, themes and saved queries, for feed readers."""
        base = str(request.base_url).rstrip("/")
        language = language_of(request)
        translate = translation(language)
        listed = list_feeds(self._archive)
        found = [NamedFeed(translate(one.name), one.page, one.feed) for one in listed]
        found += theme_feeds(self._archive, language)
        found += query_feeds(self._archive)
        feeds = [(one.name, base + one.feed, base + one.page) for one in found]
        return Response(opml_of_feeds("Feeds", feeds), media_type="text/x-opml")


def list_feeds(archive: Archive) -> list[NamedFeed]:
    """Return the feeds of whole lists, with English names."""
    found = [
        NamedFeed("Newest articles", "/search", "/search.atom"),
        NamedFeed("Stories", "/stories", "/stories.atom"),
        NamedFeed("Silently edited", "/changes", "/changes.atom"),
    ]
    found.append(NamedFeed("Fell silent", "/silences", "/silences.atom"))
    if has_meetings(archive):
        found.append(NamedFeed("Meetings", "/meetings", "/meetings.atom"))
    return found


def theme_feeds(archive: Archive, language: str) -> Sequence[NamedFeed]:
    """Return the feeds of the themes that articles have, by name."""
    values = values_with(archive, "theme", SearchAddress(), "", language)
    found = []
    for code, label, _ in values:
        address = SearchAddress(theme=code)
        found.append(NamedFeed(label, address.url(), address.url("/search.atom")))
    return found


def query_feeds(archive: Archive) -> list[NamedFeed]:
    """Return the feeds of the saved queries. Raises LakeError."""
    found = []
    for one in listed_queries(archive):
        address = one.address
        feed = address.url("/search.atom")
        found.append(NamedFeed(one.query.name, address.url(), feed))
    return found
