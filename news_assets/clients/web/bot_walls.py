"""Bot shields: which answers come from a guard before the site, and from whose.

Only consulted for refusals (403, 429, 503); the patterns are in `sources/bot_protection.py`.
"""

from news_assets.sources.bot_protection import protection_of_refusal

_STATUSES = (403, 429, 503)


def shield_of(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """Return the name of the shield that answered in the site's place, None where none is recognised."""
    if status not in _STATUSES:
        return None
    if headers.get("cf-mitigated") == "challenge":
        return "Cloudflare"
    return protection_of_refusal(body.lower())
