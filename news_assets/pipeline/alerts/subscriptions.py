"""Subscriptions of readers: requested on a page, confirmed by a mail, followed as saved queries
are, and deleted when they end. The address of a reader is in one table only: messages name
the subscription.
"""

import json
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from news_assets.errors import NewsAssetsError, QueryError
from news_assets.pipeline.alerts.mail_text import subject_of
from news_assets.pipeline.alerts.outbox import messages_to
from news_assets.pipeline.alerts.query_file import MAIL_ADDRESS, Alerts, SavedQuery
from news_assets.ports.services import Reader, Rows
from news_assets.records.alerts import (
    CONFIRMATION,
    SUBSCRIPTION,
    ChangeHit,
    Message,
    QueryHit,
    Subscription,
)
from news_assets.text.query_parser import parse_operators

CONFIRM_WITHIN: Final = timedelta(hours=48)
_A_DAY: Final = timedelta(days=1)
# mails that ask to confirm: to one address and to all, in 24 hours
_MAX_REQUESTS: Final = 3
_MAX_ALL_REQUESTS: Final = 500
_MAX_OF_ADDRESS: Final = 20  # confirmed subscriptions
_log = logging.getLogger(__name__)


class SubscriptionError(NewsAssetsError):
    """What a reader gave cannot be subscribed to."""


def checked_address(given: str) -> str:
    """Return an e-mail address. Raises SubscriptionError."""
    address = given.strip()
    if not MAIL_ADDRESS.fullmatch(address) or not address.isprintable():
        raise SubscriptionError(f"`{address[:80]}` is not an e-mail address")
    return address


def _mailbox(address: str) -> str:
    """Return what spellings of one mailbox have in common: capitals, dots, and what
    follows a + are no difference.
    """
    local, _, domain = address.lower().rpartition("@")
    return f"{local.partition('+')[0].replace('.', '')}@{domain}"


def request_subscription(rows: Rows, wanted: Subscription, now: datetime) -> bool:
    """Store a subscription that waits for its confirmation, and the message that asks
    for it; return whether. Nothing is stored beyond the limits, nor of one that the
    reader has.
    """
    delete_expired(rows, now)
    stored = rows.read(Subscription)
    refusal = _refusal(stored, wanted, now)
    if refusal:
        _log.debug("no mail for a subscription: %s", refusal)
        return False
    rows.upsert([wanted])
    title = query_of_subscription(wanted).title
    payload = {"type": CONFIRMATION, "title": title}
    subject = subject_of(payload, wanted.language)
    channel = SUBSCRIPTION + wanted.subscription_id
    rows.upsert(messages_to([channel], CONFIRMATION, subject, "", payload, now))
    return True


def _refusal(
    stored: Iterable[Subscription], wanted: Subscription, now: datetime
) -> str:
    """Return why no mail is sent for a subscription; empty if one is."""
    recent_count = own_recent_count = confirmed_count = 0
    address = _mailbox(wanted.email)
    for one in stored:
        is_recent = one.requested_at > now - _A_DAY
        recent_count += is_recent
        if _mailbox(one.email) != address:
            continue
        own_recent_count += is_recent
        if one.confirmed_at is None:
            continue
        confirmed_count += 1
        if one.query_json == wanted.query_json:
            return "known"
    if own_recent_count >= _MAX_REQUESTS:
        return "limit of a reader's requests"
    if recent_count >= _MAX_ALL_REQUESTS:
        return "limit of all requests"
    if confirmed_count >= _MAX_OF_ADDRESS:
        return "limit of a reader's subscriptions"
    return ""


def confirm(rows: Rows, subscription_id: str, now: datetime) -> Subscription | None:
    """Note that its reader confirmed a subscription and return it; None if it ended."""
    row = found_in(rows, subscription_id)
    if row is not None and row.confirmed_at is None:
        row = replace(row, confirmed_at=now)
        rows.upsert([row])
    return row


def end(rows: Rows, subscription_ids: Collection[str]) -> int:
    """Delete subscriptions with their hits and messages; return how many there were."""
    names = [SUBSCRIPTION + one for one in subscription_ids]
    rows.delete(QueryHit, query=names)
    rows.delete(ChangeHit, query=names)
    rows.delete(Message, channel=names)
    return rows.delete(Subscription, subscription_id=list(subscription_ids))


def expired(rows: Reader, now: datetime) -> list[str]:
    """Return the ids of the subscriptions that were not confirmed in time."""
    waiting = rows.read(Subscription, confirmed_at=[None])
    found: list[str] = []
    for one in waiting:
        if one.requested_at <= now - CONFIRM_WITHIN:
            found.append(one.subscription_id)
    return found


def delete_expired(rows: Rows, now: datetime) -> int:
    """Delete the subscriptions that were not confirmed in time; return how many."""
    found = expired(rows, now)
    return end(rows, found) if found else 0


def found_in(rows: Reader, subscription_id: str) -> Subscription | None:
    """Return a subscription; None if it ended."""
    found = rows.read(Subscription, subscription_id=[subscription_id])
    return found[0] if found else None


def query_of_subscription(row: Subscription) -> SavedQuery:
    """Return what is followed for a subscription; its channel has the name of the query."""
    name = SUBSCRIPTION + row.subscription_id
    given = {**json.loads(row.query_json), "name": name, "to": (name,)}
    given["since"] = row.confirmed_at
    return SavedQuery.model_validate(given)


def query_json_of(query: SavedQuery) -> str:
    """Return what a row stores of a query."""
    return query.model_dump_json(exclude={"name", "to", "since"}, exclude_defaults=True)


def _subscribed_queries(rows: Reader) -> list[SavedQuery]:
    """Return the queries of the confirmed subscriptions that can be read."""
    found: list[SavedQuery] = []
    for row in rows.read(Subscription):
        if row.confirmed_at is None:
            continue
        try:
            query = query_of_subscription(row)
            parse_operators(query.query)
        except (ValueError, QueryError) as error:
            _log.warning("%s is not followed: %s", row.subscription_id, error)
            continue
        found.append(query)
    return found


def with_subscriptions(rules: Alerts, rows: Reader) -> Alerts:
    """Return the rules with the queries of the confirmed subscriptions."""
    queries: Sequence[SavedQuery] = (*rules.queries, *_subscribed_queries(rows))
    return rules.model_copy(update={"queries": tuple(queries)})
