"""The rows of saved queries, messages and operators: what was found, sent, told and
done.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from news_assets.records.content import (
    Agency_,
    ArticleId,
    Day_,
    Desk_,
    stays_when_withdrawn,
)

OPERATORS: Final = "operators"  # the topic of messages that no saved query made
CONFIRMATION: Final = "confirmation"  # the topic of mails with a link to confirm
# what the queries and channels of subscriptions begin with; their ids follow
SUBSCRIPTION: Final = "subscription-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """How far a reader of `changes` has come."""

    name: Annotated[str, "name of the reader"]
    cursor: Annotated[str, "cursor after the last change that was read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuery:
    """A saved query that an operator made on a page."""

    name: Annotated[str, "name of the saved query"]
    query_json: Annotated[
        str, "what a query in the file of NEWS_QUERIES has, a JSON object"
    ]
    saved_at: Annotated[datetime, "time when it was saved"]
    saved_by: Annotated[str, "name given at the log-in; API for the bare token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A search whose new articles a reader gets by e-mail. The row is deleted when the
    reader ends it, or does not confirm it in time.
    """

    subscription_id: Annotated[str, "random id"]
    email: Annotated[str, "address of the reader"]
    query_json: Annotated[
        str, "what a query in the file of NEWS_QUERIES has, but name and channels"
    ]
    language: Annotated[str, "language of the mails, en or pt"]
    requested_at: Annotated[datetime, "time of the request on the page"]
    confirmed_at: Annotated[
        datetime | None, "time when the reader confirmed it; none while it waits"
    ] = None


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryHit:
    """An article that a saved query found. It is told once: the row stays."""

    query: Annotated[str, "name of the saved query"]
    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    found_at: Annotated[datetime, "time when it was found"]
    due_at: Annotated[datetime, "time of the message or digest that tells it"]
    told_at: Annotated[
        datetime | None,
        "time when its messages were made; none while it waits for its digest",
    ] = None


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeHit:
    """A change of an article that a saved query is told of. It is told once: the row
    stays.
    """

    query: Annotated[str, "name of the saved query"]
    event: Annotated[
        str, "kind and time of the change, and id of the article, meeting or item"
    ]
    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    found_at: Annotated[datetime, "time when it was found"]
    due_at: Annotated[datetime, "time of the message or digest that tells it"]
    told_at: Annotated[
        datetime | None,
        "time when its messages were made; none while it waits for its digest",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to one channel. Without `sent_at` and `next_try_at` it was given up,
    and can be sent again by hand.
    """

    message_id: Annotated[str, "id of the message, the same for all attempts"]
    topic: Annotated[str, "name of the saved query, `operators` or `briefing`"]
    channel: Annotated[str, "name of the channel"]
    subject: Annotated[str, "one line that says what it is about"]
    text: Annotated[str, "the message for persons, plain text"]
    payload_json: Annotated[str, "the message for programs, a JSON object"]
    created_at: Annotated[datetime, "time when it was made"]
    attempts: Annotated[int, "number of attempts"] = 0
    next_try_at: Annotated[
        datetime | None, "time of the next attempt; none if it was sent or given up"
    ]
    sent_at: Annotated[datetime | None, "time when the channel accepted it"] = None
    reason: Annotated[str | None, "reason of the last failure"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A state that operators were told is bad; the row is deleted when they are told
    that it is over.
    """

    name: Annotated[str, "what is bad, such as `silent govbr/mec`"]
    text: Annotated[str, "one line about it, as it was told"]
    since: Annotated[datetime, "time when it was found"]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAction:
    """What an operator did on a page."""

    acted_at: Annotated[datetime, "time of the action"]
    operator: Annotated[str, "name given at the log-in; API for the bare token"]
    action: Annotated[
        str,
        "retry, withdraw, bring back, label, save query, delete query, send again, merge names,"
        " separate names or log out",
    ]
    article_id: Annotated[
        str, "id of the article; empty if the action is about a saved query"
    ]
    desk: Annotated[str, "key of the article's desk"]
    agency: Annotated[str, "key of the article's agency"]
    detail: Annotated[
        str,
        "reason of the withdrawal, stages that are retried, themes, name of the saved query, ids of"
        " names, or id of the session that ended",
    ]
