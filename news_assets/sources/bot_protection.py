"""Bot-protection services, recognised by patterns in the pages they serve instead of
the site's own.

A refusal (403, 429, 503) may be matched by looser patterns than a page with status 200,
because an article may quote them. Callers pass the bytes in lower case and check
whether a page shows anything else (`platforms.py`).
"""

import re
from typing import Final

# Name of the service and what its page has in its markup, sorted by name; a captcha,
# which any may show, is last.
_PAGES: Final = (
    ("Akamai", rb"errors\.edgesuite\.net|/_sec/cp_challenge/"),
    ("Anubis", rb"/\.within\.website/x/cmd/anubis"),
    ("AWS WAF", rb"awswafintegration|token\.awswaf\.com|gokuprops"),
    ("Azure WAF", rb"azure waf js challenge|\.azurefd\.net/_waf"),
    (
        "Cloudflare",
        (
            rb"/cdn-cgi/challenge-platform/h/|cf-browser-verification|cf_chl_opt|<title>just a"
            rb" moment\.\.\."
        ),
    ),
    ("Cloudflare", rb"<title>attention required! \| cloudflare"),
    ("DataDome", rb"captcha-delivery\.com"),
    ("DDoS-Guard", rb"<title>ddos-guard|/\.well-known/ddos-guard/"),
    (
        "F5",
        rb"the requested url was rejected\. please consult with your administrator|/tspd/",
    ),
    ("Fortinet", rb"fortiweb|fgd_icon"),
    ("Imperva", rb"_incapsula_resource|incapsula incident id"),
    ("PerimeterX", rb"px-captcha|_pxappid"),
    ("Sucuri", rb"sucuri website firewall|sucuri_cloudproxy_js"),
    (
        "a captcha",
        rb"g-recaptcha|h-captcha|hcaptcha\.com/|verify you are human|n[\xc3\xa3a]+o sou um rob",
    ),
)
_REFUSALS: Final = (
    (
        "Cloudflare",
        rb"/cdn-cgi/challenge-platform|attention required! \| cloudflare|just a moment\.\.\.",
    ),
    ("DDoS-Guard", rb"ddos-guard"),
    ("a captcha", rb"hcaptcha\.com"),
)
_PAGE_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _PAGES)
_REFUSAL_PATTERNS = (
    *_PAGE_PATTERNS,
    *((name, re.compile(pattern)) for name, pattern in _REFUSALS),
)


def protection_of_page(page: bytes) -> str | None:
    """Return the service whose challenge a page with status 200 shows; None if there is
    none.
    """
    for name, pattern in _PAGE_PATTERNS:
        if pattern.search(page):
            return name
    return None


def protection_of_refusal(body: bytes) -> str | None:
    """Return the service that refused a request; None if the body does not name it."""
    for name, pattern in _REFUSAL_PATTERNS:
        if pattern.search(body):
            return name
    return None
