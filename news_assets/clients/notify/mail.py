"""Messages by SMTP. The server, its user and password are one address:
smtp://user:password@host:587.
"""

import smtplib
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from typing import Final
from urllib.parse import unquote, urlsplit

from news_assets.errors import NotifyError
from news_assets.records.alerts import Message

TIMEOUT_S: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}


def send_mail(
    server: str, sender: str, recipients: Sequence[str], message: Message
) -> None:
    """Send one e-mail to all recipients, over TLS where the server offers it and always
    where it needs a login.

    Raises:
        NotifyError: The server did not accept it for each recipient.
    """
    try:
        with _connected(server) as smtp:
            refused = smtp.send_message(_mail_of(message, sender, recipients))
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
            f"the mail server cannot be reached: {error}", is_transient=True
        ) from None
    if refused:
        raise NotifyError(
            f"refused for {', '.join(refused)}; the others have it", is_transient=False
        )


def _mail_of(message: Message, sender: str, recipients: Sequence[str]) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, ", ".join(recipients)
    mail["Subject"] = " ".join(message.subject.split())
    host = sender.rpartition("@")[2].strip("> ")
    mail["Message-ID"] = f"<{message.message_id}@{host}>"
    # RFC 3834: out-of-office replies are not sent to it.
    mail["Auto-Submitted"] = "auto-generated"
    mail["Date"] = message.created_at
    mail.set_content(message.text)
    return mail


@contextmanager
def _connected(server: str) -> Iterator[smtplib.SMTP]:
    """Yield a connection. An error of QUIT is ignored: the message was accepted,
    and would be sent again.
    """
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    context = ssl.create_default_context()
    smtp: smtplib.SMTP
    if parts.scheme == "smtps":
        smtp = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_S, context=context)
    else:
        smtp = smtplib.SMTP(host, port, timeout=TIMEOUT_S)
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
