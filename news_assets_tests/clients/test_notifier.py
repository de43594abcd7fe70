"""Each channel against a real server on loopback."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from news_assets.clients.notifier import ChannelNotifier, JsonSender, MailServer
from news_assets.errors import NotifyError
from news_assets.pipeline.alerts.query_file import (
    Channel,
    Mail,
    Slack,
    Telegram,
    Webhook,
)
from news_assets.records.alerts import Message
from news_assets_tests.store.examples import full
from news_assets_tests.support.mail_server import mail_server
from news_assets_tests.support.receiver import Receiver, receiver
from news_assets_tests.support.servers import free_port

SECRETS = {
    "SECRET": "whsec_" + base64.b64encode(b"k" * 24).decode(),
    "NEWS_TOKEN_BOT": "12:abc",
}


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def notifier(
    channel: Channel,
    total_s: float = 10.0,
    allowed: tuple[str, ...] = ("127.0.0.1",),
    **secrets: str,
) -> Any:
    http = JsonSender("news", allowed, total_s=total_s)
    return ChannelNotifier({"c": channel}, (SECRETS | secrets).get, http, MailServer())


def message(**given: Any) -> Message:
    usual = {
        "message_id": "msg_1",
        "channel": "c",
        "subject": "buses: 1 new",
        "text": "Bus <1>\nhttps://e.org/1",
    }
    return full(Message, **usual | {"payload_json": '{"query": "ônibus"}'} | given)


def test_a_webhook_is_signed_and_its_receiver_can_check_that(there: Receiver) -> None:
    with notifier(
        Webhook(kind="webhook", url=f"{there.address}/hook", secret_env="SECRET")
    ) as channels:
        channels.send(message())

    (received,) = there.received
    headers = received.headers
    signed = f"msg_1.{headers['webhook-timestamp']}.".encode() + received.body
    expected = base64.b64encode(hmac.digest(b"k" * 24, signed, hashlib.sha256)).decode()
    assert (received.path, json.loads(received.body)) == ("/hook", {"query": "ônibus"})
    assert (headers["webhook-id"], headers["webhook-signature"]) == (
        "msg_1",
        f"v1,{expected}",
    )
    assert abs(datetime.now(UTC).timestamp() - int(headers["webhook-timestamp"])) < 60


@pytest.mark.parametrize(
    ("status", "is_transient"),
    [(500, True), (429, True), (404, True), (401, True), (410, False), (302, False)],
)
def test_a_webhook_that_does_not_accept_is_an_error(
    there: Receiver, status: int, is_transient: bool
) -> None:
    there.answers = [status]
    with (
        notifier(
            Webhook(kind="webhook", url=there.address, secret_env="SECRET")
        ) as channels,
        pytest.raises(NotifyError, match=f"^answered {status}$") as caught,
    ):
        channels.send(message())
    assert caught.value.is_transient == is_transient
    assert caught.value.retry_after_s == (7200 if status == 429 else None)
    assert len(there.received) == 1  # redirects are not followed


def test_a_receiver_that_hangs_is_left_in_time(there: Receiver) -> None:
    there.answers = [0]
    with (
        notifier(
            Webhook(kind="webhook", url=there.address, secret_env="SECRET"), total_s=0.5
        ) as channels,
        pytest.raises(NotifyError, match="time") as caught,
    ):
        channels.send(message())
    assert caught.value.is_transient


@pytest.mark.parametrize(
    ("url", "allowed", "reason"),
    [
        (
            "http://127.0.0.1:1234/",
            (),
            "refused: 127.0.0.1 is 127.0.0.1, not a public address",
        ),
        (
            "http://169.254.169.254/latest",
            (),
            "not a public address; if it is to be sent there, name it in NEWS_ALLOW",
        ),
        (
            "http://127.0.0.1:6379/",
            ("127.0.0.1",),
            "refused: the port belongs to another protocol",
        ),
    ],
)
def test_addresses_pass_the_same_check_as_those_of_pages(
    url: str, allowed: tuple[str, ...], reason: str
) -> None:
    with (
        notifier(
            Webhook(kind="webhook", url=url, secret_env="SECRET"), allowed=allowed
        ) as channels,
        pytest.raises(NotifyError, match=reason) as caught,
    ):
        channels.send(message())
    assert not caught.value.is_transient


def test_a_message_to_telegram_is_plain_text(there: Receiver) -> None:
    with notifier(
        Telegram(
            kind="telegram", chat="-100", token_env="NEWS_TOKEN_BOT", api=there.address
        )
    ) as channels:
        channels.send(message())
        there.answers = [400, 429]
        with pytest.raises(NotifyError, match="answered 400") as refused:
            channels.send(message())
        with pytest.raises(NotifyError, match="answered 429") as limited:
            channels.send(message())

    sent = json.loads(there.received[0].body)
    assert there.received[0].path == "/bot12:abc/sendMessage"
    assert (sent["chat_id"], sent["text"]) == (
        "-100",
        "buses: 1 new\n\nBus <1>\nhttps://e.org/1",
    )
    assert "parse_mode" not in sent
    assert (refused.value.is_transient, limited.value.is_transient) == (False, True)


def test_a_message_to_slack_cannot_mention_anybody(there: Receiver) -> None:
    with notifier(
        Slack(kind="slack", url_env="URL"), URL=f"{there.address}/services/T0/B0"
    ) as channels:
        channels.send(message(text="<!channel> & <@U1>"))

    assert there.received[0].path == "/services/T0/B0"
    assert (
        json.loads(there.received[0].body)["text"]
        == "*buses: 1 new*\n\n&lt;!channel&gt; &amp; &lt;@U1&gt;"
    )


def test_no_error_shows_a_secret() -> None:
    hidden = f"http://127.0.0.1:{free_port()}/services/s3cret"
    with (
        notifier(Slack(kind="slack", url_env="URL"), URL=hidden) as channels,
        pytest.raises(NotifyError) as caught,
    ):
        channels.send(message())
    assert "s3cret" not in str(caught.value)


def test_what_is_not_set_is_named(there: Receiver) -> None:
    for channel, reason in (
        (
            Webhook(kind="webhook", url=there.address, secret_env="NONE"),
            "environment variable NONE is not set",
        ),
        (Mail(kind="mail", to=("a@example.org",)), "NEWS_SMTP names no mail server"),
    ):
        with (
            notifier(channel) as channels,
            pytest.raises(NotifyError, match=reason) as caught,
        ):
            channels.send(message())
        assert caught.value.is_transient
    with (
        notifier(channel) as channels,
        pytest.raises(NotifyError, match="no channel `gone` now"),
    ):
        channels.send(message(channel="gone"))
    assert there.received == []


# --- e-mail ---------------------------------------------------------------------------


def send_by_mail(port: int) -> None:
    server = MailServer(f"smtp://127.0.0.1:{port}", "news@example.org")
    channel = Mail(kind="mail", to=("a@example.org", "b@example.org"))
    with ChannelNotifier(
        {"c": channel}, SECRETS.get, JsonSender("news"), server
    ) as channels:
        channels.send(message(subject="ônibus: 1\nnew"))


def test_a_mail_has_all_recipients_and_an_id() -> None:
    with mail_server() as (port, received):
        send_by_mail(port)

    (mail,) = received
    assert (mail["To"], mail["Message-ID"]) == (
        "a@example.org, b@example.org",
        "<msg_1@example.org>",
    )
    assert mail["Auto-Submitted"] == "auto-generated"
    assert "https://e.org/1" in mail.get_payload()


@pytest.mark.parametrize(
    ("answers", "reason", "is_transient"),
    [
        ({"RCPT": "550 unknown"}, "refused for all recipients", False),
        ({"RCPT": "450 later"}, "refused for all recipients", True),
        ({"MAIL": "550 not you"}, "the mail server answered 550", False),
        ({"DATA": "451 later"}, "the mail server answered 451", True),
    ],
)
def test_a_mail_that_is_refused_is_an_error(
    answers: dict[str, str], reason: str, is_transient: bool
) -> None:
    with (
        mail_server(**answers) as (port, _),
        pytest.raises(NotifyError, match=reason) as caught,
    ):
        send_by_mail(port)
    assert caught.value.is_transient == is_transient


def test_a_server_that_is_away_is_a_passing_failure() -> None:
    with pytest.raises(NotifyError, match="cannot be reached") as caught:
        send_by_mail(9)
    assert caught.value.is_transient
