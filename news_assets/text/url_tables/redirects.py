"""Addresses that only lead to another one: links of mails, of search results and of advertisers, and log-in forms.

Sources: the redirections of ClearURLs and Brave's debouncing list, reduced to what they have in common.
"""

import re

# (host without www., path) -> parameters with the target, where neither tells that it is one
_KNOWN = {
    ("awin1.com", "/cread.php"): ("ued", "p"),
    ("away.vk.com", "/away.php"): ("to",),
    ("bing.com", "/news/apiclick.aspx"): ("url",),
    ("duckduckgo.com", "/l/"): ("uddg",),
    ("getpocket.com", "/redirect"): ("url",),
    ("google.com", "/url"): ("url", "q"),
    ("l.facebook.com", "/l.php"): ("u",),
    ("l.instagram.com", "/"): ("u",),
    ("l.messenger.com", "/l.php"): ("u",),
    ("l.threads.com", "/"): ("u",),
    ("lm.facebook.com", "/l.php"): ("u",),
    ("news.google.com", "/news/url"): ("url",),
    ("news.url.google.com", "/url"): ("url", "q"),
    ("out.reddit.com", "/"): ("url",),
    ("t.umblr.com", "/redirect"): ("z",),
    ("vk.com", "/away.php"): ("to",),
    ("youtube.com", "/redirect"): ("q",),
}

_WORDS = re.compile(
    r"(?:aclk|away|clicks?|click-[\w-]+|deeplink|exit|go|goto|jump|leav(?:e|ing)|link(?:filter|out|s|track)?|link-tracker"
    r"|log-?in|logon|out(?:bound|going)?|r|rd|redir(?:ect(?:or)?)?|safelinks|sign-?in|trac?k(?:ing)?|trck|url|visit)"
    r"(?:\.\w{2,5})?",
    re.IGNORECASE,
)
# A page that shows or shares another one has its own content.
_OTHER_USE = re.compile(r"api|embed|oembed|proxy|search|shar(?:e|er|ing)(?:\.\w{2,5})?|intent|v\d", re.IGNORECASE)
_TARGETS = (
    "url",
    "u",
    "to",
    "target",
    "dest",
    "destination",
    "redirect",
    "redirect_to",
    "redirect_uri",
    "redirect_url",
    "redirecturl",
    "return",
    "return_to",
    "returnurl",
    "goto",
    "next",
    "link",
    "murl",
    "adurl",
    "ued",
    "urllink",
)


def target_parameters(host: str, path: str) -> tuple[str, ...]:
    """Return the parameters, in lower case, that may hold the address this one leads to; none if it is a page.

    `host` is without `www.`. A redirect is recognised by its host and path in a table, or by a word such as `click` as
    a segment of its path or a label of its host.
    """
    if known := _KNOWN.get((host, path or "/")):
        return known
    parts = [*host.split(".")[:-2], *path.split("/")]
    if any(map(_OTHER_USE.fullmatch, parts)) or not any(map(_WORDS.fullmatch, parts)):
        return ()
    return _TARGETS
