"""Sends each message over the channel that it names.

A webhook is signed as the specification Standard Webhooks has it
(https://www.standardwebhooks.com): the receiver computes HMAC-SHA256 over
`id.timestamp.body` with the shared secret and compares it with `webhook-signature`. It
refuses old timestamps, and knows a repeated message by its id.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from news_assets.clients.notify.http import JsonSender
from news_assets.clients.notify.mail import send_mail
from news_assets.errors import NotifyError
from news_assets.pipeline.alerts.query_file import (
    Channel,
    Mail,
    Slack,
    Telegram,
    Webhook,
)
from news_assets.records.alerts import Message

_PREFIX = "whsec_"


def _signed_headers(
    secret: str, message_id: str, body: bytes, now: datetime
) -> dict[str, str]:
    """Return the headers of a message; a secret `whsec_...` is base64, any other is
    used as it is.
    """
    timestamp = str(int(now.timestamp()))
    signed = hmac.digest(
        _key(secret),
        b".".join((message_id.encode(), timestamp.encode(), body)),
        hashlib.sha256,
    )
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            pass  # a secret that only begins like one
    return secret.encode()


SecretOf = Callable[[str], str | None]  # the value of an environment variable


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where e-mail is sent from; `address` is empty without a server."""

    address: str = ""
    sender: str = ""


class ChannelNotifier:
    """The channels of a file of queries. `secret_of` reads the variables that they name
    when they are needed.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        secret_of: SecretOf,
        http: JsonSender,
        mail_server: MailServer,
    ) -> None:
        self._channels, self._secret_of, self._http, self._mail_server = (
            channels,
            secret_of,
            http,
            mail_server,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, message: Message) -> None:
        """Send one message. Raises NotifyError."""
        match self._channels.get(message.channel):
            case Webhook() as webhook:
                self._send_webhook(webhook, message)
            case Mail() as mail:
                self._send_mail(mail, message)
            case Telegram() as telegram:
                token = self._secret(telegram.token_env)
                url = f"{telegram.api.rstrip('/')}/bot{token}/sendMessage"
                text = f"{message.subject}\n\n{message.text}"
                self._post(
                    url,
                    {
                        "chat_id": telegram.chat,
                        "text": text,
                        "link_preview_options": {"is_disabled": True},
                    },
                )
            case Slack() as slack:
                text = _slack_text(f"*{message.subject}*\n\n{message.text}")
                self._post(
                    self._secret(slack.url_env), {"text": text, "unfurl_links": False}
                )
            case None:
                raise NotifyError(
                    f"the file of queries has no channel `{message.channel}` now",
                    is_transient=False,
                )

    def _send_webhook(self, webhook: Webhook, message: Message) -> None:
        body = message.payload_json.encode()
        secret = self._secret(webhook.secret_env)
        headers = _signed_headers(secret, message.message_id, body, datetime.now(UTC))
        self._http.post(webhook.url, body, headers, retries_refusals=True)

    def _send_mail(self, mail: Mail, message: Message) -> None:
        if not self._mail_server.address:
            raise NotifyError(
                "NEWS_SMTP names no mail server; set it and NEWS_MAIL_FROM",
                is_transient=True,
            )
        send_mail(self._mail_server.address, self._mail_server.sender, mail.to, message)

    def _post(self, url: str, value: Mapping[str, object]) -> None:
        self._http.post(url, json.dumps(value).encode())

    def _secret(self, name: str) -> str:
        if value := (self._secret_of(name) or "").strip():
            return value
        raise NotifyError(
            f"the environment variable {name} is not set; set it for the workers",
            is_transient=True,
        )


def _slack_text(text: str) -> str:
    """Return the text with Slack's three control characters escaped, so that it cannot
    mention anybody.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
