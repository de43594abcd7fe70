"""Recognise responses that come from a bot wall in front of the site. The patterns are in `sources/guards.py`."""

from news_assets.sources.guards import guard_of_refusal

_STATUSES = (403, 429, 503)


def bot_wall_of(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """Return the name of the bot wall that sent this response, None if none is recognised."""
    if status not in _STATUSES:
        return None
    if headers.get("cf-mitigated") == "challenge":
        return "Cloudflare"
    return guard_of_refusal(body.lower())
