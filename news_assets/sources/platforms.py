"""Recognises the software that makes a page, or that the page is a wall: a log-in form,
a bot check, an empty shell.

Patterns are rows of tables. A wall is only reported where the page shows almost no
other text, because articles quote the same words. Refusals by status code are
recognised by the client, refused articles by extraction.

Bot-protection services are recognised by what they serve instead of the site's own page. A
refusal (403, 429, 503) may be matched by looser patterns than a page with status 200. Their
functions take the bytes in lower case.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from lxml.html import HtmlElement

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import Page
from news_assets.sources.html_document import html_tree, select, title_of, words_of
from news_assets.text.limits import loads

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


_HEAD_BYTES = 400_000  # searched for patterns: the head and the first part of the body
_WALL_CHARS = 1500  # of visible text; a page with more is not a wall
_SHELL_CHARS = 300  # of visible text; a page with more is not an empty shell
_TITLE_CHARS = 100  # of a title quoted in a reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What a page looks like. `kind` is the source kind that reads it; a wall is served
    instead of the site.
    """

    name: str
    kind: str | None = None
    is_wall: bool = False


_RSS: Final = Platform(name="an RSS feed", kind="feed")
_ATOM: Final = Platform(name="an Atom feed", kind="feed")
_JSON_FEED: Final = Platform(name="a JSON feed", kind="json_feed")
_SITEMAP: Final = Platform(name="a sitemap", kind="sitemap")
PLONE: Final = Platform(name="Plone", kind="plone_listing")
PLONE_6: Final = Platform(name="Plone 6", kind="plone_search")
WORDPRESS: Final = Platform(name="WordPress", kind="wordpress")
DRUPAL: Final = Platform(name="Drupal")
EBC: Final = Platform(name="EBC", kind="ebc")
_G1: Final = Platform(name="G1", kind="g1")
_LOG_IN: Final = Platform(name="a log-in page", is_wall=True)
_SHELL: Final = Platform(name="an empty page that needs JavaScript", is_wall=True)

_MAGIC: Final = (
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "compressed data"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
)
_ROOTS: Final = {
    b"rss": _RSS,
    b"rdf:rdf": _RSS,
    b"feed": _ATOM,
    b"urlset": _SITEMAP,
    b"sitemapindex": _SITEMAP,
}
# The first match counts: EBC's sites are Drupal too, and Plone 6 also matches the
# patterns of Plone.
_SYSTEMS: Final = (
    (_G1, (rb"""class=["'][^"']*\bfeed-post-link\b""",)),
    (
        EBC,
        (
            rb"""id=["']?view-ultimas-noticias-ajax\b""",
            rb"""class=["'](?:[^"']*\s)?ultima-noticia["'\s]""",
        ),
    ),
    (
        PLONE_6,
        (
            rb"""content=["']plone 6\b""",
            rb"""class=["'][^"']*\bview-viewview\b""",  # Volto's body
            rb"""/\+\+api\+\+(?:/|["'])""",
            rb"""window\.env\s*=\s*\{[^<]{0,500}apipath""",
        ),
    ),
    (
        PLONE,
        (
            rb"""content=["']plone - https?://plone""",
            rb"""\bportaltype-[a-z]""",
            rb"""\sdata-portal-url=|/portal_(?:css|javascripts)/""",
            rb"""\+\+(?:plone|resource|theme)\+\+""",
            rb"""id=["']?(?:visual-portal-wrapper|portal-column-content)\b""",
        ),
    ),
    (
        WORDPRESS,
        (
            rb"""content=["']wordpress\b""",
            rb"""/wp-(?:content|includes)/""",
            rb"""https://api\.w\.org/""",
        ),
    ),
    (
        DRUPAL,
        (
            rb"""content=["']drupal \d""",
            rb"""\sdata-drupal-selector=|drupal\.settings\b|drupal-settings-json""",
            rb"""/sites/(?:default|all)/(?:files|themes|modules)/""",
        ),
    ),
)
_SYSTEM_PATTERNS = tuple(
    (platform, re.compile(b"|".join(patterns))) for platform, patterns in _SYSTEMS
)
_PROLOGUE = re.compile(
    rb"(?:\s+|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!doctype\b[^>\[]{0,300}>)*", re.DOTALL
)
_ROOT = re.compile(rb"<([a-z_][\w.:-]{0,60})")
_HTML_ROOTS = frozenset(
    (
        b"head",
        b"meta",
        b"title",
        b"script",
        b"div",
        b"p",
        b"b",
        b"br",
        b"center",
        b"table",
        b"form",
    )
)
_LOG_IN_PATH = re.compile(
    r"/(?:require_login|login_form|acl_users|wp-login\.php|login|signin|sign-in)(?:[/?]|$)"
)
_LOG_IN_TITLE = re.compile(
    r"\b(?:log\s?in|log\son|sign\s?in|entrar|acesse|login|autentica\w+|acesso\srestrito|iniciar\ssesión|connexion)\b",
    re.IGNORECASE,
)
_PLONE_KEYS = ("items_total", "batching", "@type")  # in answers of its API
_MOUNTS = "div#root, div#app, div#__next, div#__nuxt, app-root"


def file_of(page: Page) -> str | None:
    """Return the kind of binary file that the page is, such as "a PDF"; None for a text
    format.
    """
    for magic, name in _MAGIC:
        if page.body.startswith(magic):
            return name
    return None


def platform_of(page: Page) -> Platform | None:
    """Return what the page looks like; None if it is not recognised. Never raises."""
    if (file := file_of(page)) is not None:
        return Platform(name=file)
    head = _head(page)
    if head[:1] in (b"{", b"["):
        return _platform_of_json(page)
    return _ROOTS.get(_root_of(head)) or _platform_of_html(page, head)


def found_instead(page: Page, kind: str = "") -> str:
    """Return what the page is, for an error message: `looks like Plone 6: use kind
    plone_search, titled "News"`.

    `kind` is the one that failed to read the page, which is not recommended again.
    """
    platform, title = platform_of(page), _shown_title(page)
    if platform is None:
        return f"{_form_of(_head(page))} of no known kind{title}"
    if platform.kind is None:
        return f"looks like {platform.name}{title}"
    if platform.kind == kind:
        return f"looks like {platform.name}, in an unknown form{title}"
    return f"looks like {platform.name}: use kind {platform.kind}{title}"


def _head(page: Page) -> bytes:
    return page.body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()


def _root_of(head: bytes) -> bytes:
    start = _PROLOGUE.match(head)
    match = _ROOT.match(head, start.end() if start else 0)
    if not match:
        return b""
    return match[1]


def _form_of(head: bytes) -> str:
    if head[:1] in (b"{", b"["):
        return "JSON"
    root = _root_of(head)
    if _is_html(head):
        return "an HTML page"
    if not root:
        return "plain text"
    return f"XML with the root <{root.decode('ascii')}>"


def _is_html(head: bytes) -> bool:
    if b"<html" in head:
        return True
    if b"<body" in head:
        return True
    return _root_of(head) in _HTML_ROOTS


def _shown_title(page: Page) -> str:
    tree = html_tree(page) if _is_html(_head(page)) else None
    title = title_of(tree) if tree is not None else None
    if not title:
        return ""
    return f', titled "{title[:_TITLE_CHARS]}"'


# --- JSON -----------------------------------------------------------------------------


def _platform_of_json(page: Page) -> Platform | None:
    try:
        document = loads(page.body)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        if document and _is_post(document[0]):
            return WORDPRESS
        return None
    if "jsonfeed" in str(document.get("version", ""))[:80]:
        return _JSON_FEED
    if "@id" in document and not document.keys().isdisjoint(_PLONE_KEYS):
        return PLONE_6
    if _is_wordpress(document):
        return WORDPRESS
    return None


def _is_post(item: Any) -> bool:
    title = item.get("title") if isinstance(item, dict) else None
    if not isinstance(title, dict):
        return False
    return "rendered" in title


def _is_wordpress(document: dict[str, Any]) -> bool:
    if str(document.get("code", "")).startswith("rest_"):
        return True
    return document.keys() >= {"namespaces", "routes"}


# --- HTML -----------------------------------------------------------------------------


def _platform_of_html(page: Page, head: bytes) -> Platform | None:
    tree = html_tree(page) if _is_html(head) else None
    if tree is None:
        return None
    wall = _wall_of(page, head, tree)
    if wall is not None:
        return wall
    for platform, pattern in _SYSTEM_PATTERNS:
        if pattern.search(head):
            return platform
    return _shell_of(tree)


def _wall_of(page: Page, head: bytes, tree: HtmlElement) -> Platform | None:
    if len(words_of(tree)) > _WALL_CHARS:
        return None
    protection = protection_of_page(head)
    if protection is not None and not _has_password_field(tree):
        return Platform(name=f"an anti-bot page ({protection})", is_wall=True)
    if _is_log_in(page, head, tree):
        return _LOG_IN
    return None


def _is_log_in(page: Page, head: bytes, tree: HtmlElement) -> bool:
    if _has_password_field(tree):
        return True
    if b"/require_login" in head:
        return True
    if not _LOG_IN_PATH.search(page.final_url.lower()):
        return False
    return _LOG_IN_TITLE.search(title_of(tree) or "") is not None


def _has_password_field(tree: HtmlElement) -> bool:
    return any(
        field.get("type", "").lower() == "password" for field in tree.iter("input")
    )


def _shell_of(tree: HtmlElement) -> Platform | None:
    """Return `_SHELL` for a page without content of its own: a mount point for a script or
    a note to enable it.
    """
    if len(words_of(tree)) > _SHELL_CHARS:
        return None
    if tree.find(".//script") is None:
        return None
    notes = (" ".join(tag.itertext()).lower() for tag in tree.iter("noscript"))
    if select(tree, _MOUNTS):
        return _SHELL
    if any("javascript" in note for note in notes):
        return _SHELL
    return None


# --- decoding of JSON -----------------------------------------------------------------


_MAX_ERROR_CHARS = 120


def decoded_json(page: Page, source: Source, expected: str) -> Any:
    """Return the document of a page that has to be JSON; `expected` names it in errors,
    such as "a JSON Feed".

    Raises:
        ListingChangedError: The page is not JSON, or is nested too deeply.
        SourceError: The page is empty, or its JSON is broken.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    try:
        return loads(page.body)
    except RecursionError as error:
        raise ListingChangedError(f"{page.url}: JSON nested too deeply") from error
    except ValueError as error:  # also UnicodeDecodeError
        if page.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            raise ListingChangedError(
                f"{page.url}: not {expected}: {found_instead(page, source.kind)}"
            ) from error
        raise SourceError(
            f"{page.url}: JSON that cannot be read: {str(error)[:_MAX_ERROR_CHARS]}"
        ) from error


def string_of(owner: Any, name: str) -> str:
    """Return a trimmed string value of an object; empty if `owner` is not an object or
    the value not a string.
    """
    value = owner.get(name) if isinstance(owner, dict) else None
    if not isinstance(value, str):
        return ""
    return value.strip()
