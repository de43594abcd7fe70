"""Mails to subscribers: their texts and headers, and the signed links to confirm and to end a
subscription. One click ends it (RFC 8058), also from the mail program.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from typing import Final

from itsdangerous import BadSignature, URLSafeSerializer, URLSafeTimedSerializer

from news_assets.errors import NotifyError
from news_assets.pipeline.alerts.mail_text import (
    articles_text,
    confirmation_text,
    footer,
    subject_of,
)
from news_assets.pipeline.alerts.subscriptions import (
    CONFIRM_WITHIN,
    query_of_subscription,
)
from news_assets.records.alerts import (
    CONFIRMATION,
    SUBSCRIPTION,
    Message,
    Subscription,
)

CONFIRM_PATH: Final = "/subscriptions/confirm"
END_PATH: Final = "/subscriptions/end"
_HOURS: Final = CONFIRM_WITHIN.total_seconds() / 3600
# a header of one line: a program that folds it may cut the address
_POLICY: Final = SMTP.clone(max_line_length=900)
_SIGNED: Final = {"digest_method": hashlib.sha256}


class SubscriptionLinks:
    """Makes and reads the links of mails; `secret` signs them, `pages_url` is where the
    pages are.
    """

    def __init__(self, secret: str, pages_url: str) -> None:
        self._pages_url = pages_url.rstrip("/")
        self._confirming = URLSafeTimedSerializer(
            secret, "confirm subscription", signer_kwargs=_SIGNED
        )
        self._ending = URLSafeSerializer(
            secret, "end subscription", signer_kwargs=_SIGNED
        )

    def confirming(self, subscription_id: str) -> str:
        """Return the address that confirms a subscription, valid for CONFIRM_WITHIN."""
        token = str(self._confirming.dumps(subscription_id))
        return f"{self._pages_url}{CONFIRM_PATH}/{token}"

    def ending(self, subscription_id: str) -> str:
        """Return the address that ends a subscription, as long as there is one."""
        token = str(self._ending.dumps(subscription_id))
        return f"{self._pages_url}{END_PATH}/{token}"

    def confirmed(self, token: str) -> str | None:
        """Return the id in the token of a link to confirm; None if it is not valid."""
        seconds = int(CONFIRM_WITHIN.total_seconds())
        try:
            return str(self._confirming.loads(token, max_age=seconds))
        except BadSignature:  # also of one that is too old
            return None

    def ended(self, token: str) -> str | None:
        """Return the id in the token of a link to end; None if it is not valid."""
        try:
            return str(self._ending.loads(token))
        except BadSignature:
            return None


@dataclass(frozen=True, slots=True)
class SubscriberMail:
    """Makes the mails of subscriptions; `find` returns one by its id, None if it ended."""

    links: SubscriptionLinks
    find: Callable[[str], Subscription | None]

    def mail_of(self, message: Message) -> tuple[str, EmailMessage]:
        """Return recipient and mail of a message, without sender and id. Raises
        NotifyError if the subscription ended.
        """
        row = self.find(message.channel.removeprefix(SUBSCRIPTION))
        if row is None:
            raise NotifyError("the subscription has ended", is_transient=False)
        payload = json.loads(message.payload_json)
        ending = self.links.ending(row.subscription_id)
        subject = subject_of(payload, row.language)
        mail = EmailMessage(policy=_POLICY)
        mail["To"] = row.email
        mail["Subject"] = " ".join(subject.split())
        mail["List-Unsubscribe"] = f"<{ending}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        if message.topic == CONFIRMATION:
            text = self._confirmation(row, payload["title"])
        else:
            text = articles_text(payload["articles"], row.language)
            text += f"\n\n{footer(payload['title'], ending, row.language)}"
        mail.set_content(f"{text}\n")
        return row.email, mail

    def _confirmation(self, row: Subscription, title: str) -> str:
        return confirmation_text(
            title,
            query_of_subscription(row).when,
            round(_HOURS),
            self.links.confirming(row.subscription_id),
            row.language,
        )
