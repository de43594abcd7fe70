"""Signatures of webhooks, as the specification Standard Webhooks has them
(https://www.standardwebhooks.com).

The receiver computes HMAC-SHA256 over `id.timestamp.body` with the shared secret and
compares it with `webhook-signature`. It refuses old timestamps, and knows a repeated
message by its id.
"""

import base64
import binascii
import hashlib
import hmac
from datetime import datetime

_PREFIX = "whsec_"


def signed_headers(
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
