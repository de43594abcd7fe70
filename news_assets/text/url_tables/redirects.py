"""Finds the address that another one only leads to: of log-in forms, clicks, mails and
AMP caches.

There is no table of sites: a redirect has an absolute address in its query or path, and
a path that says that it leads away, or names no page.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import SplitResult, unquote_plus

AMP_CACHE = re.compile(
    r"""http(?P<scheme>s)?://(?:(?:[\w-]+\.(?:cdn\.ampproject\.org|bing-amp\.com)/[aciv]
    | (?:www\.)?google(?:\.[a-z]{2,3}){1,2}/amp)/(?P<secure>s/)?
    | (?P<kept>(?:[\w-]+\.)*marfeelcache\.com/amp/))
    (?=\w)(?=[^/]+\.)""",
    re.IGNORECASE | re.VERBOSE,
)
_STARRED = re.compile(r"https?://redir\.folha\.com\.br/redir/[^*]*\*(?=https?://)")
_IN_PATH = re.compile(r"/(?P<target>https?(?::|%3a)(?:/|%2f).+)", re.IGNORECASE)

# As a segment of the path or a label of the host: it does nothing but lead away.
_LEADING = re.compile(
    r"""(?:(?:aw|api|[er])?clicks?|click-[\w-]*|\w*clk|cread|tra?c?k|track(?:ing|er)
    | link-?track(?:ing|er)?|links?|lm?|link(?:filter|out)|deeplinks?|out(?:bound|going|link)?|exit
    | external|leav(?:e|ing)|away|warn(?:ing)?|r|rd\d?|redir|\w*redirect(?:s|or|ion)?|go|goto|jump
    | visit|url|gateway|\w*safelinks?|[\w-]*log-?(?:in|on|out)|sign-?in|sso|o?auth2?|accounts?
    | consent)(?:\.\w{2,5})?""",
    re.IGNORECASE | re.VERBOSE,
)
# A page about another one: it shares, shows, copies, checks or discusses that one.
_ABOUT_ANOTHER = re.compile(
    r"""(?:add|api|archives?|bookmark\w*|cache|check|comments?|edit|embed|feedback|feeds?|gview
    | images?|img|intent|oembed|pin|player|post|preview|print|proxy|render|resize|rss|save|search
    | send|share\w*|sharing|submit\w*|subscri\w+|thumbs?|translate|validat\w+|view\w*|wayback
    | widgets?)(?:\.\w{2,5})?""",
    re.IGNORECASE | re.VERBOSE,
)
# A path that names no page: `/`, `/c/`, `/t/12-34`, `/v1/otc/`.
_NAMELESS = re.compile(
    r"/|(?:/[a-z]{1,3}\d?(?:\.[a-z]{2,4})?)+(?:/[\d-]+)*/?", re.IGNORECASE
)
_REDIRECTING = re.compile(
    r"(?:\w*_)?(?:redir\w*|dest(?:ination)?|go_?to)", re.IGNORECASE
)
_MAX_NAME_CHARS = 64  # of a parameter that leads to a page
_TARGET = re.compile(
    r"""(?!back|cancel|canonical|feed|home|icon|image|img|logo|media|page|photo|ref|return|share|site
    |source|thumb|video).*(?:uri|url|link|redir\w*|dest\w*|target|trg|goto)|[lru]|to|ued""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_TARGET = re.compile(
    r"\w*refer+er|refs?|src|source|base|image|img|logo|back\w*|cancel\w*", re.IGNORECASE
)
_FILE = re.compile(r"\.(?:avif|css|gif|ico|jpe?g|js|png|svg|webp)$", re.IGNORECASE)
_ABSOLUTE = re.compile(
    r"(?:https?:)?//(?:www\.)?(?P<host>[^/?#]*\w\.\w[^/?#]*)", re.IGNORECASE
)
_ENCODED = re.compile(r"https?%3a", re.IGNORECASE)
_BASE64 = re.compile(r"(?:a1)?(aHR0c[\w+/-]+)=*")


def target_in(url: str, parts: SplitResult) -> str | None:
    """Return the absolute address that an address with a normal spelling leads to; None
    for a page.

    `parts` are those of `url`.
    """
    if cached := AMP_CACHE.match(url):
        is_secure = cached["scheme"] if cached["kept"] else cached["secure"]
        return f"http{'s' if is_secure else ''}://{url[cached.end() :]}"
    if starred := _STARRED.match(url):
        return url[starred.end() :]
    if "?" not in url and "http" not in url[len("http") :]:
        return None
    host = (parts.hostname or "").removeprefix("www.")
    words = [*host.split(".")[:-2], *parts.path.split("/")]
    if any(map(_ABOUT_ANOTHER.fullmatch, words)):
        return None
    if any(map(_LEADING.fullmatch, words)):
        return _target_of_leading(parts)
    names = _TARGET if _NAMELESS.fullmatch(parts.path) else _REDIRECTING
    targets = (
        target for name, target in _addresses(parts.query) if names.fullmatch(name)
    )
    return next((target for target in targets if not _is_on(target, host)), None)


def _is_on(target: str, host: str) -> bool:
    found = _ABSOLUTE.match(target)
    return found is not None and found["host"].lower() == host


def _target_of_leading(parts: SplitResult) -> str | None:
    """Return the address in the path, else in a parameter named for it, else in any."""
    if in_path := _IN_PATH.search(parts.path):
        return _address_in(f"{in_path['target']}?{parts.query}".rstrip("?"))
    found = list(_addresses(parts.query))
    named = (target for name, target in found if _TARGET.fullmatch(name))
    return next(named, None) or next((target for _, target in found), None)


def _addresses(query: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters, in lower case, whose value is an absolute address, and
    those addresses.
    """
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if _ENCODED.match(name):  # `?https%3A%2F%2Fa.org`: the address is all there is
            name, value = "url", pair
        if len(name) > _MAX_NAME_CHARS:
            continue
        found = _address_in(value)
        if found and not _NO_TARGET.fullmatch(name):
            yield unquote_plus(name).lower(), found


def _address_in(value: str) -> str | None:
    """Return the absolute address of a page in a value that is encoded once or twice,
    or in base64.
    """
    text = unquote_plus(value)
    if _ENCODED.match(text):
        text = unquote_plus(text)
    if encoded := _BASE64.fullmatch(text):
        text = _from_base64(encoded[1])
    is_page = _ABSOLUTE.match(text) and not _FILE.search(text.partition("?")[0])
    return text if is_page else None


def _from_base64(text: str) -> str:
    with suppress(ValueError):
        padded = text + "=" * (-len(text) % 4)
        return urlsafe_b64decode(padded.replace("+", "-").replace("/", "_")).decode()
    return ""
