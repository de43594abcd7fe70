"""Guards that answer in a site's place: a page's bytes in lower case in, the guard's name or None out.

One table for the pages that come with status 200 and for refusals (403, 429, 503), where looser words are enough: in an
article they may well be quoted. Whether a page shows anything besides is judged where it is read.
"""

import re
from typing import Final

# The guard's name, and what its page has in its markup. In the order of the names; a captcha may be any guard's.
_MARKS: Final = (
    ("Akamai", rb"errors\.edgesuite\.net|/_sec/cp_challenge/"),
    ("Anubis", rb"/\.within\.website/x/cmd/anubis"),
    ("AWS WAF", rb"awswafintegration|token\.awswaf\.com|gokuprops"),
    ("Azure WAF", rb"azure waf js challenge|\.azurefd\.net/_waf"),
    ("Cloudflare", rb"/cdn-cgi/challenge-platform/h/|cf-browser-verification|cf_chl_opt|<title>just a moment\.\.\."),
    ("Cloudflare", rb"<title>attention required! \| cloudflare"),
    ("DataDome", rb"captcha-delivery\.com"),
    ("DDoS-Guard", rb"<title>ddos-guard|/\.well-known/ddos-guard/"),
    ("F5", rb"the requested url was rejected\. please consult with your administrator|/tspd/"),
    ("Fortinet", rb"fortiweb|fgd_icon"),
    ("Imperva", rb"_incapsula_resource|incapsula incident id"),
    ("PerimeterX", rb"px-captcha|_pxappid"),
    ("Sucuri", rb"sucuri website firewall|sucuri_cloudproxy_js"),
    ("a captcha", rb"g-recaptcha|h-captcha|hcaptcha\.com/|verify you are human|n[\xc3\xa3a]+o sou um rob"),
)
_MARKS_OF_REFUSALS: Final = (
    ("Cloudflare", rb"/cdn-cgi/challenge-platform|attention required! \| cloudflare|just a moment\.\.\."),
    ("DDoS-Guard", rb"ddos-guard"),
    ("a captcha", rb"hcaptcha\.com"),
)
_PATTERNS = tuple((name, re.compile(marks)) for name, marks in _MARKS)
_PATTERNS_OF_REFUSALS = (*_PATTERNS, *((name, re.compile(marks)) for name, marks in _MARKS_OF_REFUSALS))


def guard_of(page: bytes) -> str | None:
    """Return the guard that a page with these bytes shows the marks of."""
    return next((name for name, pattern in _PATTERNS if pattern.search(page)), None)


def guard_of_refusal(body: bytes) -> str | None:
    """Return the guard that refused, as far as the body of the refusal tells."""
    return next((name for name, pattern in _PATTERNS_OF_REFUSALS if pattern.search(body)), None)
