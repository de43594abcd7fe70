"""Sends each message over the channel that it names: webhooks, e-mail, Telegram, Slack.

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
import smtplib
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Final, Self
from urllib.parse import unquote, urlsplit

import httpx

from news_assets.clients.subscriber_mail import SubscriberMail
from news_assets.clients.web.responses import as_fetch_errors, retry_after_s
from news_assets.clients.web.transport import (
    BAD_PORTS,
    AddressPolicy,
    GuardedTransport,
    deadline,
)
from news_assets.errors import FetchError, ForbiddenAddressError, NotifyError
from news_assets.pipeline.alerts.mail_text import articles_text
from news_assets.pipeline.alerts.query_file import (
    Channel,
    Mail,
    Slack,
    Telegram,
    Webhook,
)
from news_assets.records.alerts import SUBSCRIPTION, Message

# --- POST of JSON to addresses that pages may be fetched from; no redirects -----------

# of one message; a receiver that hangs holds up the others of its run
_TOTAL_S: Final = 30.0
_TRANSIENT: Final = (408, 425, 429)


class JsonSender:
    """An HTTP client for messages. Thread-safe; `close` ends it."""

    def __init__(
        self,
        user_agent: str,
        allow_private_hosts: Iterable[str] = (),
        ssl_context: ssl.SSLContext | None = None,
        total_s: float = _TOTAL_S,
    ) -> None:
        context = ssl_context or httpx.create_ssl_context(trust_env=False)
        self._client = httpx.Client(
            transport=GuardedTransport(AddressPolicy(allow_private_hosts), context),
            headers={"User-Agent": user_agent},
            timeout=total_s,
            trust_env=False,
        )
        self._total_s = total_s

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        retries_refusals: bool = False,
    ) -> None:
        """Send a JSON body; done if the answer is 2xx. The address, which may hold a
        secret, is in no error.

        Raises:
            NotifyError: The message was not accepted. Another attempt can help after
                408, 425, 429, 5xx and without an answer; with `retries_refusals` after
                other refusals too, but for 410 (Gone) and redirects.
        """
        headers = {"Content-Type": "application/json", **(headers or {})}
        try:
            with as_fetch_errors(""), deadline(self._total_s):
                status, wait_s = self._send(url, body, headers)
        except ForbiddenAddressError as error:
            hint = "if it is to be sent there, name it in NEWS_ALLOW_PRIVATE_HOSTS"
            raise NotifyError(
                f"{error.reason.replace(url, 'the address')}; {hint}",
                is_transient=False,
            ) from None
        except FetchError as error:
            raise NotifyError(
                error.reason.replace(url, "the address"),
                is_transient=error.is_transient,
            ) from None
        if 200 <= status < 300:
            return
        raise NotifyError(
            f"answered {status}",
            is_transient=_is_transient(status, retries_refusals=retries_refusals),
            retry_after_s=wait_s,
        )

    def _send(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, float | None]:
        """Return the status of the response and its Retry-After in seconds."""
        if httpx.URL(url).port in BAD_PORTS:
            raise NotifyError(
                "refused: the port belongs to another protocol", is_transient=False
            )
        with self._client.stream("POST", url, content=body, headers=headers) as found:
            return found.status_code, retry_after_s(found.headers, datetime.now(UTC))


def _is_transient(status: int, *, retries_refusals: bool) -> bool:
    if status == 410:
        return False
    if status in _TRANSIENT or status >= 500:
        return True
    return retries_refusals and status >= 400


# --- SMTP; server, user and password are one address: smtp://user:password@host:587 ---

_TIMEOUT_S: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}


def _send_by_smtp(server: str, recipients: Sequence[str], mail: EmailMessage) -> None:
    """Send one e-mail to all recipients, over TLS where the server offers it and always
    where it needs a login.

    Raises:
        NotifyError: The server did not accept it for each recipient.
    """
    try:
        with _connected(server) as smtp:
            refused = smtp.send_message(mail, to_addrs=list(recipients))
    except smtplib.SMTPResponseException as error:  # refused senders, logins and data
        raise NotifyError(
            f"the mail server answered {error.smtp_code}",
            is_transient=error.smtp_code < 500,
        ) from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise NotifyError(
            f"refused for all recipients ({codes[0]})", is_transient=min(codes) < 500
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        raise NotifyError(
            f"the mail server cannot do it: {error}", is_transient=False
        ) from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotifyError(
            f"the mail server cannot be reached: {error}",
            is_transient=True,
            is_unreachable=True,
        ) from None
    if refused:
        raise NotifyError(
            f"refused for {', '.join(refused)}; the others have it", is_transient=False
        )


def _mail_of(message: Message, sender: str, recipients: Sequence[str]) -> EmailMessage:
    mail = EmailMessage()
    mail["To"] = ", ".join(recipients)
    mail["Subject"] = " ".join(message.subject.split())
    payload = json.loads(message.payload_json)
    articles = payload.get("articles", ())
    mail.set_content(articles_text(articles) if articles else message.text)
    return _with_sender(mail, message, sender)


def _with_sender(mail: EmailMessage, message: Message, sender: str) -> EmailMessage:
    """Return the mail of a message with its sender, id and time."""
    mail["From"] = sender
    host = sender.rpartition("@")[2].strip("> ")
    mail["Message-ID"] = f"<{message.message_id}@{host}>"
    # RFC 3834: out-of-office replies are not sent to it.
    mail["Auto-Submitted"] = "auto-generated"
    mail["Date"] = message.created_at
    return mail


@contextmanager
def _connected(server: str) -> Iterator[smtplib.SMTP]:
    """Yield a connection. An error of QUIT is ignored: the message was accepted,
    and would be sent again.
    """
    parts = urlsplit(server)
    host = parts.hostname or ""
    port = parts.port or _PORTS[parts.scheme]
    context = ssl.create_default_context()
    smtp: smtplib.SMTP
    if parts.scheme == "smtps":
        smtp = smtplib.SMTP_SSL(host, port, timeout=_TIMEOUT_S, context=context)
    else:
        smtp = smtplib.SMTP(host, port, timeout=_TIMEOUT_S)
    try:
        smtp.ehlo()
        if parts.scheme == "smtp" and (smtp.has_extn("starttls") or parts.username):
            smtp.starttls(context=context)
        if parts.username:
            smtp.login(unquote(parts.username), unquote(parts.password or ""))
        yield smtp
    finally:
        with suppress(OSError, smtplib.SMTPException):
            smtp.quit()


# --- the channels ---------------------------------------------------------------------

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


_SecretOf = Callable[[str], str | None]  # the value of an environment variable


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
        secret_of: _SecretOf,
        http: JsonSender,
        mail_server: MailServer,
        subscribers: SubscriberMail | None = None,
    ) -> None:
        self._channels = channels
        self._secret_of = secret_of
        self._http = http
        self._mail_server = mail_server
        self._subscribers = subscribers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, message: Message) -> None:
        """Send one message. Raises NotifyError."""
        if message.channel.startswith(SUBSCRIPTION):
            self._send_to_subscriber(message)
            return
        match self._channels.get(message.channel):
            case Webhook() as webhook:
                self._send_webhook(webhook, message)
            case Mail() as mail:
                self._send_mail(mail, message)
            case Telegram() as telegram:
                self._send_telegram(telegram, message)
            case Slack() as slack:
                self._send_slack(slack, message)
            case None:
                raise NotifyError(
                    f"the file of queries has no channel `{message.channel}` now",
                    is_transient=False,
                )

    def _send_telegram(self, telegram: Telegram, message: Message) -> None:
        token = self._secret(telegram.token_env)
        url = f"{telegram.api.rstrip('/')}/bot{token}/sendMessage"
        body = {
            "chat_id": telegram.chat,
            "text": f"{message.subject}\n\n{message.text}",
            "link_preview_options": {"is_disabled": True},
        }
        self._post(url, body)

    def _send_slack(self, slack: Slack, message: Message) -> None:
        text = _slack_text(f"*{message.subject}*\n\n{message.text}")
        url = self._secret(slack.url_env)
        self._post(url, {"text": text, "unfurl_links": False})

    def _send_webhook(self, webhook: Webhook, message: Message) -> None:
        body = message.payload_json.encode()
        secret = self._secret(webhook.secret_env)
        now = datetime.now(UTC)
        headers = _signed_headers(secret, message.message_id, body, now)
        self._http.post(webhook.url, body, headers, retries_refusals=True)

    def _send_mail(self, channel: Mail, message: Message) -> None:
        mail = _mail_of(message, self._mail_server.sender, channel.to)
        self._deliver(channel.to, mail)

    def _send_to_subscriber(self, message: Message) -> None:
        if self._subscribers is None:
            raise NotifyError(
                "subscriptions are not offered: NEWS_SUBSCRIPTION_SECRET is not set",
                is_transient=True,
            )
        recipient, mail = self._subscribers.mail_of(message)
        sender = self._mail_server.sender
        self._deliver([recipient], _with_sender(mail, message, sender))

    def _deliver(self, recipients: Sequence[str], mail: EmailMessage) -> None:
        if not self._mail_server.address:
            raise NotifyError(
                "NEWS_SMTP names no mail server; set it and NEWS_MAIL_FROM",
                is_transient=True,
            )
        _send_by_smtp(self._mail_server.address, recipients, mail)

    def _post(self, url: str, value: Mapping[str, object]) -> None:
        body = json.dumps(value)
        self._http.post(url, body.encode())

    def _secret(self, name: str) -> str:
        value = (self._secret_of(name) or "").strip()
        if value:
            return value
        raise NotifyError(
            f"the environment variable {name} is not set; set it for the workers",
            is_transient=True,
        )


def _slack_text(text: str) -> str:
    """Return the text with Slack's three control characters escaped, so that it cannot
    mention anybody.
    """
    text = text.replace("&", "&amp;")
    text = text.replace("<", "&lt;")
    return text.replace(">", "&gt;")
