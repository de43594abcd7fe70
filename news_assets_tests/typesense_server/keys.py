"""API keys with actions and collections, and scoped keys with embedded search
parameters.
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
import string
import time
from dataclasses import dataclass, field
from typing import Any

from news_assets_tests.typesense_server.errors import ApiError, NoAnswerError

NEVER_EXPIRES = 64_723_363_199
_LETTERS = string.ascii_letters + string.digits
_DIGEST_CHARS, _PREFIX_CHARS = 44, 4


@dataclass(frozen=True, slots=True)
class Key:
    """An API key."""

    id: int
    value: str
    description: str
    actions: tuple[str, ...]
    collections: tuple[str, ...]
    expires_at: int
    autodelete: bool

    def as_json(self, with_value: bool = False) -> dict[str, Any]:
        """Return the key as JSON, with its value (on creation only) or the value's
        prefix.
        """
        shown = {
            "actions": list(self.actions),
            "autodelete": self.autodelete,
            "collections": list(self.collections),
            "description": self.description,
            "expires_at": self.expires_at,
            "id": self.id,
        }
        return shown | (
            {"value": self.value}
            if with_value
            else {"value_prefix": self.value[:_PREFIX_CHARS]}
        )

    def allows(self, action: str, collection: str) -> bool:
        """Return whether the key allows this; `collection` is the name in the request,
        which may be an alias.
        """
        area = f"{action.partition(':')[0]}:*"
        may_act = not {"*", action, area}.isdisjoint(self.actions)
        names = ("*" if name == "*" else name for name in self.collections)
        may_reach = any(
            name == "*" or re.fullmatch(name, collection) is not None for name in names
        )
        return may_act and may_reach and self.expires_at > time.time()


@dataclass(slots=True)
class Keys:
    """The keys of a server, without the admin key."""

    admin: str
    by_id: dict[int, Key] = field(default_factory=dict)
    next_id: int = 0

    def create(self, given: dict[str, Any]) -> Key:
        """Create a key.

        Raises:
            ApiError: 400 or 409.
        """
        for name in ("description", "actions", "collections"):
            if name not in given:
                raise ApiError(400, f"Could not find a `{name}` key.")
        value = given.get("value") or "".join(
            secrets.choice(_LETTERS) for _ in range(32)
        )
        if any(key.value == value for key in self.by_id.values()):
            raise ApiError(409, "API key generation conflict.")
        key = Key(
            self.next_id,
            value,
            given["description"],
            tuple(given["actions"]),
            tuple(given["collections"]),
            given.get("expires_at", NEVER_EXPIRES),
            given.get("autodelete", False),
        )
        self.by_id[key.id] = key
        self.next_id += 1
        return key

    def one(self, key_id: str) -> Key:
        """Return the key with this id.

        Raises:
            ApiError: 404.
            NoAnswerError: The id is not a number; the server never responds then.
        """
        if not key_id.isdecimal():
            raise NoAnswerError(key_id)
        key = self.by_id.get(int(key_id))
        if key is None:
            raise ApiError(404, "Not found.")
        return key

    def params_allowed(
        self, value: str, action: str, collection: str
    ) -> dict[str, Any] | None:
        """Return the search parameters of a scoped key (else none), or None if the key
        does not allow this.
        """
        if value == self.admin:
            return {}
        for key in self.by_id.values():
            if hmac.compare_digest(key.value.encode(), value.encode()):
                return {} if key.allows(action, collection) else None
        return self._sealed(value, action, collection)

    def _sealed(
        self, value: str, action: str, collection: str
    ) -> dict[str, Any] | None:
        """Return the parameters of a scoped key: base64(HMAC of the parameters + prefix
        of its parent + parameters).
        """
        try:
            text = base64.b64decode(value, validate=True).decode()
            digest, prefix = (
                text[:_DIGEST_CHARS],
                text[_DIGEST_CHARS : _DIGEST_CHARS + _PREFIX_CHARS],
            )
            raw = text[_DIGEST_CHARS + _PREFIX_CHARS :]
            params = json.loads(raw)
        except ValueError:
            return None
        for key in self.by_id.values():
            sealed = base64.b64encode(
                hmac.digest(key.value.encode(), raw.encode(), hashlib.sha256)
            ).decode()
            if key.value.startswith(prefix) and hmac.compare_digest(sealed, digest):
                is_for_search = key.actions == ("documents:search",)
                is_valid = params.pop("expires_at", NEVER_EXPIRES) > time.time()
                return (
                    params
                    if is_for_search and is_valid and key.allows(action, collection)
                    else None
                )
        return None


def with_sealed(params: dict[str, str], sealed: dict[str, Any]) -> dict[str, str]:
    """Return a search's parameters with those of a scoped key, which replace them;
    filters are combined by AND.
    """
    result = params | {name: str(value) for name, value in sealed.items()}
    own = params.get("filter_by", "").strip()
    if own and "filter_by" in sealed:
        result["filter_by"] = f"({own}) && ({sealed['filter_by']})"
    return result
