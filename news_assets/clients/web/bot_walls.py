"""Recognise responses of a bot wall in front of a site; `sources/bot_protection.py` has
the patterns.
"""

from news_assets.sources.bot_protection import protection_of_refusal

_STATUSES = (403, 429, 503)


def bot_wall_of(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """Return the name of the bot wall that sent this response, None if none is
    recognised.
    """
    if status not in _STATUSES:
        return None
    if headers.get("cf-mitigated") == "challenge":
        return "Cloudflare"
    return protection_of_refusal(body.lower())
