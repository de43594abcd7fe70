"""Bot shields: which answers come from a guard before the site, and from whose.

A table, sorted by name. Only consulted for refusals (403, 429, 503): the words below may well stand in an article.
"""

_MARKERS: tuple[tuple[str, bytes], ...] = (
    ("Akamai", b"errors.edgesuite.net"),
    ("Anubis", b"/.within.website/x/cmd/anubis"),
    ("AWS WAF", b"awswafintegration"),
    ("AWS WAF", b"token.awswaf.com"),
    ("captcha", b"g-recaptcha"),
    ("captcha", b"h-captcha"),
    ("captcha", b"hcaptcha.com"),
    ("captcha", b"verify you are human"),
    ("Cloudflare", b"/cdn-cgi/challenge-platform"),
    ("Cloudflare", b"attention required! | cloudflare"),
    ("Cloudflare", b"cf-browser-verification"),
    ("Cloudflare", b"just a moment..."),
    ("DataDome", b"captcha-delivery.com"),
    ("DDoS-Guard", b"ddos-guard"),
    ("Imperva", b"_incapsula_resource"),
    ("Imperva", b"incapsula incident id"),
    ("PerimeterX", b"px-captcha"),
    ("Sucuri", b"sucuri website firewall"),
)
_STATUSES = (403, 429, 503)


def shield_of(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """Return the name of the shield that answered in the site's place, None where none is recognised."""
    if status not in _STATUSES:
        return None
    if headers.get("cf-mitigated") == "challenge":
        return "Cloudflare"
    text = body.lower()
    return next((name for name, marker in _MARKERS if marker in text), None)
