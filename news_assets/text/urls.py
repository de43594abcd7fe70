"""Canonical URLs: one spelling for every address of an article.

Merging two articles is the worse error, so only differences without a meaning on any
site are removed. Tracking parameters are listed in `url_tables.py`. Redirects and
`rel=canonical` are handled by the pipeline.

courlan, a dependency of trafilatura, is not used: its `clean_url` drops every parameter
that contains `ref`, `source`, `cid`, `eid` or `keyword`, some of which identify the
article on council sites, and leaves host names in Unicode.
"""

import hashlib
import re
from contextlib import suppress
from urllib.parse import SplitResult, quote, unquote, unquote_plus, urljoin, urlsplit

import idna

from news_assets.text.limits import address
from news_assets.text.url_tables import (
    AMP_CACHE,
    CHANNEL_PARAMETERS,
    SESSION_PARAMETERS,
    SESSION_PARAMETERS_BY_VALUE,
    SHARED_DOMAINS,
    SITE_PARAMETERS,
    TRACKING_PARAMETERS,
    TRACKING_PREFIXES,
    target_in,
)

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_IP_OR_LOCAL = re.compile(r"[0-9.]+|[^:\n]*+:.*|[^.]*")
_TOKEN = re.compile(r"(?=.*\d)[0-9a-z]{16,}")
# WHATWG URL, forbidden domain code points
_FORBIDDEN_IN_HOST = re.compile(r"[\x00-\x20#%/<>?@\[\\\]^|\x7f]")
_WEB_OR_RELATIVE = re.compile(r"https?:|[/\\]", re.IGNORECASE)
_SCHEME_SLASHES = re.compile(r"^(https?):(?:/?|/{3,})(?=[^/])", re.IGNORECASE)
# http://https://example.org
_DOUBLED_SCHEME = re.compile(r"^(?:https?:/+)+(?=https?:/)", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"[\t\r\n]")
# Not after a "%" that begins no escape: `%4%34` would become the escape `%44`, and that
# another address.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)
# except in an address within the path: web.archive.org/web/2020/https://...
_SLASHES = re.compile(r"(?<!:)/{2,}")
_PAIR_START = re.compile(r"&(?:amp;)+")  # an address that was escaped twice
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid)=[^/;]*", re.IGNORECASE)
_DOTNET_SESSION = re.compile(r"/\([SAF]\([a-z0-9]{20,}\)\)(?=/)", re.IGNORECASE)
_AMP_SUFFIX = ".amp"
_AMP_QUERY = re.compile(r"amp(?:=(?:1|true|html)?)?|output(?:type)?=amp", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_WRAPPERS = 20
_MAX_HOST_CHARS = 253  # RFC 1035
_NOISE_PREFIXES = TRACKING_PREFIXES + SESSION_PARAMETERS
_MAX_SITE_LABELS = max(name.count(".") + 1 for name in SITE_PARAMETERS)


def canonical_url(url: str, base: str | None = None) -> str:
    """Return the canonical spelling of an article's address; other texts are returned
    stripped. Idempotent.

    Normalised: case of scheme and host, IDN and punycode, a dot after the host, default
    ports, user and password, dot segments and repeated slashes, percent-encoding,
    fragments, tracking and session parameters, the order of other parameters (by name;
    values of one name keep their order), and AMP variants that state their original
    (`/amp`, `.amp.html`, `?amp=1`, the AMP caches). Redirects that state where they
    lead (`url_tables.py`) give that address.

    Kept: http or https (some council sites serve only one, and others redirect),
    `www.`, a final slash, the case of the path, `/index.html`, `#!` and `#/` routes.
    """
    absolute = resolve(base, url) if base else _absolute(url)
    stated = text = _normal(absolute)
    for _ in range(_MAX_WRAPPERS):
        parts = _split(text)
        if parts is None:
            return text
        target = target_in(text, parts)
        if target is None:
            return text
        if "." not in host_of(_absolute(target)):
            return text
        text = _normal(_absolute(target))
    # wrapped too often: any target short of the last one would not be canonical itself
    return stated


def _normal(text: str) -> str:
    parts = _split(text)
    if parts is None:
        return text
    host = host_of(text)
    query = _query_of(parts.query, host)
    path = _path_of(parts.path, query)
    place = f"{parts.scheme}://{_netloc(parts, host)}"
    return f"{place}{path}{query}{_route(parts.fragment)}"


def served_url(url: str) -> str:
    """Return the canonical spelling of the address that answered a request; it is on
    the host that answered.

    A redirect wrapper that answers with a page of its own does not give its target's
    address. AMP caches do: they serve the target's page.
    """
    text = _normal(_absolute(url))
    if AMP_CACHE.match(text):
        return canonical_url(text)
    return text


def url_hash(url: str) -> str:
    """Return the SHA-256 of the canonical URL, in hex."""
    return address_hash(canonical_url(url))


def address_hash(canonical: str) -> str:
    """Return the SHA-256 of an address that is canonical already, in hex."""
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def host_of(url: str) -> str:
    """Return the host in lower case and punycode, without port; empty if there is none."""
    try:
        host = unquote(urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
    is_encoded = host.isascii() and "xn--" not in host
    if not is_encoded and len(host) <= _MAX_HOST_CHARS:
        # a name that is not valid in DNS is kept
        with suppress(idna.IDNAError, UnicodeError):
            host = idna.encode(host, uts46=True).decode("ascii")
    return host.rstrip(".")


def is_same_site(url: str, other: str) -> bool:
    """Return whether two addresses are on one site (`site_of`)."""
    site = site_of(url)
    if not bool(site):
        return False
    return site == site_of(other)


def site_of(url: str) -> str:
    """Return the registrable domain (public suffix list), the part of an address that
    one publisher holds.

    Of IP addresses, local names, and hosts of platforms with a host for each publisher
    it is the host; empty if there is none.
    """
    from tld import get_fld  # reads its list on first use: 0.1 s

    host = host_of(url)
    if not host:
        return host
    if _IP_OR_LOCAL.fullmatch(host):
        return host
    domain = get_fld(f"https://{host}", fail_silently=True)
    if domain is None:
        top = host.rpartition(".")[2]
        if get_fld(f"https://a.b.{top}", fail_silently=True) is not None:
            return host
        # the list's rule for a top-level domain that it does not have
        domain = ".".join(host.split(".")[-2:])
    if domain in SHARED_DOMAINS:
        return host
    return str(domain)


def resolve(base: str, url: str) -> str:
    """Return a link on the page `base` as an absolute address; the stripped link if it
    cannot be resolved.
    """
    link = _stripped(url)
    try:
        return _absolute(urljoin(base, link))
    except ValueError:
        return link


def web_url(link: str, base: str) -> str | None:
    """Return a link as an absolute http(s) address that can be stored, without user and
    password; None for others.
    """
    url = resolve(base, link)
    parts = _split(url)
    if parts is None:
        return None
    if "@" in parts.netloc:
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return address(url)


def _absolute(url: str) -> str:
    """Return a trimmed address, with https for `//host`."""
    text = _stripped(url)
    if text.startswith("//"):
        return f"https://{text.lstrip('/')}"
    return text


def _stripped(url: str) -> str:
    """Clean as browsers do (WHATWG URL, basic parser): outer controls, inner line
    breaks, slashes after the scheme.
    """
    text = _LINE_BREAKS.sub("", url.strip(_C0_AND_SPACE + "\xa0\ufeff"))
    if "\\" in text and _WEB_OR_RELATIVE.match(text):
        path, separator, query = text.partition("?")
        text = path.replace("\\", "/") + separator + query
    return _SCHEME_SLASHES.sub(r"\1://", _DOUBLED_SCHEME.sub("", text))


def _split(text: str) -> SplitResult | None:
    """Split an http(s) address; None for other texts."""
    try:
        parts = urlsplit(text)
        if parts.scheme not in _DEFAULT_PORTS:
            return None
        if parts.port == 0:
            return None
    except ValueError:
        return None
    host = host_of(text)
    if not host:
        return None
    if _FORBIDDEN_IN_HOST.search(host):
        return None
    return parts


def _netloc(parts: SplitResult, host: str) -> str:
    name = f"[{host}]" if ":" in host else host
    if parts.port in (None, _DEFAULT_PORTS[parts.scheme]):
        return name
    return f"{name}:{parts.port}"


def _route(fragment: str) -> str:
    """Return a fragment only if scripts use it as a route: `#!/news/1`, `#/news/1`."""
    if len(fragment) > 1 and fragment.startswith(("!", "/")):
        return f"#{_encoded(fragment, '?')}"
    return ""


# --- path and query -------------------------------------------------------------------


def _path_of(path: str, query: str) -> str:
    path = _DOTNET_SESSION.sub("", _PATH_SESSION.sub("", _encoded(path)))
    path = _SLASHES.sub("/", path) or "/"
    if "/." in path:
        path = _SLASHES.sub("/", _without_dots(path))
    segments = path.split("/")[1:]
    while _drop_variant(segments):
        pass
    return "/" + "/".join(segments)


def _drop_variant(segments: list[str]) -> bool:
    """Remove one AMP mark, index page or dot segment from the end; return whether there
    was one.

    Works on the list's end only, so that a path of a thousand such segments takes
    linear time.
    """
    last = len(segments) - 1
    if last > 0 and segments[last] == "":
        last -= 1
    name = segments[last]
    if name in (".", ".."):  # what `..amp` leaves
        _drop_dots(segments, last)
        return True
    if name.lower() == "amp" and last > 0 and segments[last - 1]:
        del segments[last:]
        return True
    shorter = _without_amp_suffix(name)
    if shorter == name:
        return False
    segments[last] = shorter
    return True


def _drop_dots(segments: list[str], last: int) -> None:
    """Remove a dot segment at the end, and the one before it where it is `..`."""
    start = last
    if segments[last] == "..":
        start = max(last - 1, 0)
    segments[start:] = [""]
    if segments[-2:] != ["", ""]:
        return
    is_after_scheme = len(segments) > 2 and segments[-3].endswith(":")
    if not is_after_scheme:
        segments.pop()


def _without_amp_suffix(name: str) -> str:
    """Return `story` for `story.amp`, and `story.html` for `story.amp.html`."""
    lower = name.lower()
    end = length = len(name)
    for extension in (".html", ".htm"):
        if lower.endswith(extension):
            end = length = length - len(extension)
            break
    while end > len(_AMP_SUFFIX) and lower.endswith(_AMP_SUFFIX, 0, end):
        end -= len(_AMP_SUFFIX)
    return name[:end] + name[length:]


def _without_dots(path: str) -> str:
    """Remove dot segments (RFC 3986, section 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if kept and segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _encoded(text: str, also_safe: str = "") -> str:
    """Normalise percent-encoding (RFC 3986, section 6.2.2)."""
    if "%" in text:
        text = _ESCAPE.sub(_normal_escape, text)
    return quote(text, safe="%/!$&'()*+,;=:@[]|" + also_safe, errors="replace")


def _normal_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    if character in _UNRESERVED:
        return character
    return match[0].upper()


def _query_of(query: str, host: str) -> str:
    if not query:
        return ""
    site = _site_parameters(host)
    pairs = filter(None, _PAIR_START.sub("&", f"&{query}").split("&"))
    kept = [_encoded(pair, "?") for pair in pairs if not _is_noise(pair, site)]
    if not kept:
        return ""
    kept.sort(key=lambda pair: pair.partition("=")[0])
    return f"?{'&'.join(kept)}"


def _is_noise(pair: str, site: frozenset[str]) -> bool:
    name, _, value = unquote_plus(pair).lower().partition("=")
    if name in TRACKING_PARAMETERS:
        return True
    if name in site:
        return True
    if name.startswith(_NOISE_PREFIXES):
        return True
    if value in CHANNEL_PARAMETERS.get(name, ()):
        return True
    if name in SESSION_PARAMETERS_BY_VALUE and _TOKEN.fullmatch(value):
        return True
    return _AMP_QUERY.fullmatch(pair) is not None


def _site_parameters(host: str) -> frozenset[str]:
    labels = host.rsplit(".", _MAX_SITE_LABELS)[-_MAX_SITE_LABELS:]
    for start in range(len(labels) - 1):
        name = ".".join(labels[start:])
        if name in SITE_PARAMETERS:
            return SITE_PARAMETERS[name]
    return frozenset()
