"""What a page looks like: the software that made it, or the wall that stands in its place.

A Page enters; a Platform or None leaves. By marks in tables, so a new one is a line. Precision counts: a wall is only
named where the page shows next to nothing else, because articles quote such words too. Refusals by status code belong
to the client, refused articles to extraction, and what to do about a platform to whoever asked.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from lxml.html import HtmlElement

from news_assets.records import Page
from news_assets.sources.guards import guard_of
from news_assets.sources.html.document import html_tree, select, title_of, words_of

_HEAD_BYTES = 400_000  # marks stand in the head and in the first part of the body
_WALL_CHARS = 1500  # of visible text; a page with more of it is no wall
_SHOWN_CHARS = 100  # of a title in a reason
_SHELL_CHARS = 300  # the same for a page that only starts a program


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What a page looks like. `kind` is the kind of source that reads it; a wall stands in the place of the site."""

    name: str
    kind: str | None = None
    is_wall: bool = False


RSS: Final = Platform(name="an RSS feed", kind="feed")
ATOM: Final = Platform(name="an Atom feed", kind="feed")
JSON_FEED: Final = Platform(name="a JSON feed", kind="json_feed")
SITEMAP: Final = Platform(name="a sitemap", kind="sitemap")
PLONE: Final = Platform(name="Plone", kind="plone_listing")
PLONE_6: Final = Platform(name="Plone 6", kind="plone_search")
WORDPRESS: Final = Platform(name="WordPress", kind="wordpress")
DRUPAL: Final = Platform(name="Drupal")
EBC: Final = Platform(name="EBC", kind="ebc")
G1: Final = Platform(name="G1", kind="g1")
LOG_IN: Final = Platform(name="a log-in page", is_wall=True)
SHELL: Final = Platform(name="an empty page that needs JavaScript", is_wall=True)

_MAGIC: Final = (
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "compressed data"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
)
_ROOTS: Final = {
    b"rss": RSS,
    b"rdf:rdf": RSS,
    b"feed": ATOM,
    b"urlset": SITEMAP,
    b"sitemapindex": SITEMAP,
}
# In this order: a site of EBC is Drupal, and Plone 6 has marks of Plone as well.
_SYSTEMS: Final = (
    (G1, (rb"""class=["'][^"']*\bfeed-post-link\b""",)),
    (EBC, (rb"""id=["']?view-ultimas-noticias-ajax\b""", rb"""class=["'](?:[^"']*\s)?ultima-noticia["'\s]""")),
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
    (WORDPRESS, (rb"""content=["']wordpress\b""", rb"""/wp-(?:content|includes)/""", rb"""https://api\.w\.org/""")),
    (
        DRUPAL,
        (
            rb"""content=["']drupal \d""",
            rb"""\sdata-drupal-selector=|drupal\.settings\b|drupal-settings-json""",
            rb"""/sites/(?:default|all)/(?:files|themes|modules)/""",
        ),
    ),
)
_SYSTEM_PATTERNS = tuple((platform, re.compile(b"|".join(marks))) for platform, marks in _SYSTEMS)
_PROLOGUE = re.compile(rb"(?:\s+|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!doctype\b[^>\[]{0,300}>)*", re.DOTALL)
_ROOT = re.compile(rb"<([a-z_][\w.:-]{0,60})")
_HTML_ROOTS = frozenset(
    (b"head", b"meta", b"title", b"script", b"div", b"p", b"b", b"br", b"center", b"table", b"form")
)
_LOG_IN_PATH = re.compile(r"/(?:require_login|login_form|acl_users|wp-login\.php|login|signin|sign-in)(?:[/?]|$)")
_LOG_IN_TITLE = re.compile(
    r"\b(?:log\s?in|log\son|sign\s?in|entrar|acesse|login|autentica\w+|acesso\srestrito|iniciar\ssesión|connexion)\b",
    re.IGNORECASE,
)
_MOUNTS = "div#root, div#app, div#__next, div#__nuxt, app-root"


def file_of(page: Page) -> str | None:
    """Return what kind of file that holds no text the page is, such as "a PDF"; None for any other."""
    return next((name for magic, name in _MAGIC if page.body.startswith(magic)), None)


def platform_of(page: Page) -> Platform | None:
    """Return what the page looks like; None where nothing tells. Never raises."""
    if (file := file_of(page)) is not None:
        return Platform(name=file)
    head = _head(page)
    if head[:1] in (b"{", b"["):
        return _platform_of_json(page)
    return _ROOTS.get(_root_of(head)) or _platform_of_html(page, head)


def found_instead(page: Page, kind: str = "") -> str:
    """Return what the page is, for the reason of an error: `looks like Plone 6: use kind plone_search, titled "News"`.

    `kind` is the one that could not read it, which is not advised again.
    """
    platform, title = platform_of(page), _shown_title(page)
    if platform is None:
        return f"{_form_of(_head(page))} of no known kind{title}"
    if platform.kind is not None and platform.kind == kind:
        return f"looks like {platform.name}, in a form that is not known{title}"
    return f"looks like {platform.name}" + (f": use kind {platform.kind}" if platform.kind else "") + title


def _head(page: Page) -> bytes:
    return page.body[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()


def _root_of(head: bytes) -> bytes:
    start = _PROLOGUE.match(head)
    match = _ROOT.match(head, start.end() if start else 0)
    return match[1] if match else b""


def _form_of(head: bytes) -> str:
    if head[:1] in (b"{", b"["):
        return "JSON"
    root = _root_of(head)
    if _is_html(head):
        return "an HTML page"
    return f"XML with the root <{root.decode('ascii')}>" if root else "plain text"


def _is_html(head: bytes) -> bool:
    return b"<html" in head or b"<body" in head or _root_of(head) in _HTML_ROOTS


def _shown_title(page: Page) -> str:
    tree = html_tree(page) if _is_html(_head(page)) else None
    title = title_of(tree) if tree is not None else None
    return f', titled "{title[:_SHOWN_CHARS]}"' if title else ""


# --- JSON ------------------------------------------------------------------------------------------------------------


def _platform_of_json(page: Page) -> Platform | None:
    try:
        document = json.loads(page.body)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        return WORDPRESS if document and _is_post(document[0]) else None
    if "jsonfeed" in str(document.get("version", ""))[:80]:
        return JSON_FEED
    if "@id" in document and ("items_total" in document or "batching" in document or "@type" in document):
        return PLONE_6
    return WORDPRESS if _is_wordpress(document) else None


def _is_post(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("title"), dict) and "rendered" in item["title"]


def _is_wordpress(document: dict[str, Any]) -> bool:
    return str(document.get("code", "")).startswith("rest_") or ("namespaces" in document and "routes" in document)


# --- HTML ------------------------------------------------------------------------------------------------------------


def _platform_of_html(page: Page, head: bytes) -> Platform | None:
    tree = html_tree(page) if _is_html(head) else None
    if tree is None:
        return None
    wall = _wall_of(page, head, tree)
    system = next((platform for platform, pattern in _SYSTEM_PATTERNS if pattern.search(head)), None)
    return wall or system or _shell_of(tree)


def _wall_of(page: Page, head: bytes, tree: HtmlElement) -> Platform | None:
    text = words_of(tree)
    if len(text) > _WALL_CHARS:
        return None
    guard = guard_of(head)
    if guard is not None and not _asks_for_password(tree):
        return Platform(name=f"an anti-bot page ({guard})", is_wall=True)
    return LOG_IN if _is_log_in(page, head, tree) else None


def _is_log_in(page: Page, head: bytes, tree: HtmlElement) -> bool:
    if _asks_for_password(tree) or b"/require_login" in head:
        return True
    return bool(_LOG_IN_PATH.search(page.final_url.lower()) and _LOG_IN_TITLE.search(title_of(tree) or ""))


def _asks_for_password(tree: HtmlElement) -> bool:
    return any((field.get("type") or "").lower() == "password" for field in tree.iter("input"))


def _shell_of(tree: HtmlElement) -> Platform | None:
    """Return SHELL for a page that shows nothing by itself: a place for a program to draw in, or a plea for one."""
    if len(words_of(tree)) > _SHELL_CHARS or tree.find(".//script") is None:
        return None
    pleas = (" ".join(tag.itertext()).lower() for tag in tree.iter("noscript"))
    return SHELL if select(tree, _MOUNTS) or any("javascript" in plea for plea in pleas) else None
