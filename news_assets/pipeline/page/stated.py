"""Reads what a page states for machines: schema.org objects in JSON-LD, and meta tags;
and its absolute http(s) URLs: the canonical one, media, and links out of the text.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from news_assets.text.html import plain_text
from news_assets.text.limits import loads, most
from news_assets.text.urls import (
    canonical_url,
    is_same_site,
    resolve,
    served_url,
    web_url,
)

Node = dict[str, Any]
MetaTags = dict[str, list[str]]

_ARTICLE_TYPES = frozenset(
    {
        "BlogPosting",
        "Blog",
        "LiveBlogPosting",
        "Report",
        "PressRelease",
        "SocialMediaPosting",
        "NewsItem",
    }
)
_VIDEO = ("og:video:secure_url", "og:video:url", "og:video")
# attributes of a meta tag that may name it, best first
_NAMES_OF_TAG = ("property", "name", "itemprop", "http-equiv")
_CONTAINERS = ("@graph", "mainEntity", "mainEntityOfPage", "hasPart", "liveBlogUpdate")
_MAX_NODES = 300
_MAX_TEXTS = 100  # of one property: keywords, authors
_MAX_SCRIPT_CHARS = 2_000_000
_MAX_CONTENTS = 100  # of one name: a tag for each keyword
_MAX_CHARS = 10_000  # longer than any list of keywords
_OPENING = re.compile(r"<!--|(?://\s*+)?<!\[CDATA\[")
_BREAK = re.compile(r"</p>|<br\s*/?>|</h\d>|</li>", re.IGNORECASE)
_EMBEDDED_VIDEO = re.compile(
    r"//(?:www\.)?(?:youtube(?:-nocookie)?\.com/embed|player\.vimeo\.com/video)/[\w-]+"
)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_KNOWN_PROPERTY = re.compile(
    r'"(@type|headline|datePublished|dateModified|articleSection|articleBody)"\s*:\s*"((?:[^"\\]|\\.)*)"'
)


def json_ld_nodes(tree: HtmlElement) -> list[Node]:
    """Return all objects of the page as a flat list, in order, and what can be salvaged
    of invalid scripts.
    """
    nodes: list[Node] = []
    for script in tree.iter("script"):
        if "ld+json" not in script.get("type", "").lower():
            continue
        if script.text:
            nodes += _flat(_parsed(script.text[:_MAX_SCRIPT_CHARS]))
    return nodes[:_MAX_NODES]


def article_of(nodes: list[Node], url: str) -> Node:
    """Return the page's own article: the one that states this URL, else one with a
    headline; empty without any.
    """
    articles = [node for node in nodes if article_type(node)]
    return max(articles, key=lambda node: _match(node, url), default={})


def article_type(node: Node) -> str | None:
    """Return the schema.org type of an article; None for other objects."""
    for stated in as_list(node.get("@type")):
        name = str(stated).rpartition("/")[2]
        if name.endswith("Article"):
            return name
        if name in _ARTICLE_TYPES:
            return name
    return None


def microdata_type(tree: HtmlElement) -> str | None:
    """Return the schema.org type of the first article in microdata."""
    for element in tree.xpath(".//*[@itemtype]"):
        kind = article_type({"@type": element.get("itemtype")})
        if kind is not None:
            return kind
    return None


def meta_tags(tree: HtmlElement) -> MetaTags:
    """Return the contents of the meta tags by property or name in lower case, in order."""
    found: MetaTags = {}
    for tag in tree.iter("meta"):
        content = tag.get("content", "").strip()
        name = next(filter(None, map(tag.get, _NAMES_OF_TAG)), "")
        if not content:
            continue
        if name:
            stated = found.setdefault(name.strip().lower(), [])
            if len(stated) < _MAX_CONTENTS:
                stated.append(content[:_MAX_CHARS])
    return found


def contents(meta: MetaTags, *names: str) -> list[str]:
    """Return the contents of the named tags, in the order of the names."""
    found: list[str] = []
    for name in names:
        found += meta.get(name, [])
    return found


def as_list(value: Any) -> list[Any]:
    """Return a JSON-LD value, which may be absent, single or a list, as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def texts_of(value: Any, *names: str) -> list[str]:
    """Return the strings in a value: plain ones, and the first of the named properties
    of each object.
    """
    found: list[str] = []
    for part in as_list(value):
        if isinstance(part, dict):
            named = next(filter(None, map(part.get, names)), None)
            if not isinstance(named, dict):
                found += texts_of(named, *names)
        elif isinstance(part, str) and part.strip():
            found.append(html.unescape(part.strip()))
    return found[:_MAX_TEXTS]


def breadcrumb(nodes: Sequence[Node]) -> str | None:
    """Return the breadcrumb below the home page."""
    for node in nodes:
        if "BreadcrumbList" not in str(node.get("@type")):
            continue
        names: list[str] = []
        for step in node.get("itemListElement") or ():
            if isinstance(step, dict):
                names += texts_of(step.get("name") or step.get("item"), "name")[:1]
        if len(names) > 2:
            return plain_text(names[1])
    return None


def stated_body(article: Node) -> str | None:
    """Return articleBody as lines of plain text."""
    body = next(iter(texts_of(article.get("articleBody"))), "")
    lines: list[str] = []
    for part in _BREAK.sub("\n", body).splitlines():
        text = plain_text(part)
        if text:
            lines.append(text)
    return "\n".join(lines) or None


def video_texts(
    tree: HtmlElement, article: Node, nodes: Sequence[Node], meta: MetaTags
) -> Iterator[str]:
    """Yield the addresses of videos: of the article, of the page, and embedded ones."""
    videos = [
        article.get("video"),
        *(node for node in nodes if node.get("@type") == "VideoObject"),
    ]
    yield from texts_of(videos, "contentUrl", "embedUrl", "url")
    yield from contents(meta, *_VIDEO)
    for frame in tree.iter("iframe"):
        if _EMBEDDED_VIDEO.search(source := frame.get("src", "")):
            yield source


def _match(node: Node, url: str) -> tuple[bool, bool, bool]:
    """Return how well an article fits the page, the best one largest."""
    stated = texts_of(node.get("url"))
    stated += texts_of(node.get("mainEntityOfPage"), "@id", "url")
    own = _without_query(url)
    is_own = own != "" and own in map(_without_query, stated)
    return is_own, bool(node.get("headline")), bool(node.get("datePublished"))


def _without_query(url: str) -> str:
    return url.partition("?")[0].rstrip("/")


def _parsed(text: str) -> Any:
    """Parse a script, also with control characters, comment wrappers, trailing commas
    or HTML escapes.
    """
    for candidate in (
        text,
        _TRAILING_COMMA.sub("", _unwrapped(text)),
        html.unescape(text),
    ):
        try:
            return loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return _salvaged(text)


def _unwrapped(text: str) -> str:
    """Return a script without the comment or CDATA section around it, and without a
    semicolon at its end.
    """
    bare = text.strip()
    if bare.startswith(("<", "/")):
        bare = _OPENING.sub("", bare, count=1)
    if bare.endswith("]]>"):
        return bare.removesuffix("]]>").rstrip().removesuffix("//")
    return bare.removesuffix("-->").removesuffix(";")


def _salvaged(text: str) -> Node:
    """Return the first of each known property in a script that is not valid JSON."""
    found: Node = {}
    for name, value in _KNOWN_PROPERTY.findall(text):
        if name != "@type" or article_type({"@type": value}):
            found.setdefault(name, value.replace('\\"', '"').replace("\\/", "/"))
    return found


def _flat(value: Any) -> Iterator[Node]:
    """Yield the objects in a value and in its containers, without lists of other
    articles (ItemList).
    """
    pending = as_list(value)[::-1]
    for _ in range(10 * _MAX_NODES):
        if not pending:
            return
        node = pending.pop()
        if isinstance(node, list):
            pending += node[::-1]
        elif isinstance(node, dict):
            if "@type" in node or "headline" in node:
                yield node
            for name in reversed(_CONTAINERS):
                pending += as_list(node.get(name))[::-1]


# --- URLs -----------------------------------------------------------------------------

_BLOCKS = frozenset(
    {
        "p",
        "li",
        "td",
        "blockquote",
        "h2",
        "h3",
        "h4",
        "dd",
        "div",
        "section",
        "article",
        "body",
    }
)
_MAX_CLIMB = 8  # elements between a link and its block
_COMPARED_CHARS = 60  # of a block that is searched for in the text
_LINK_CHARS = 500  # of a link's own text
_READ_CHARS = 5000  # of an element, until it has as many letters
_MAX_LINKS = 200
# links with an address; the words of each are searched for in the text
_MAX_TRIED = 2000
_MAX_STATED = 10
_NO_WORD = re.compile(r"[\W_]+")


def base_url(tree: HtmlElement, url: str) -> str:
    """Return the URL that relative links are resolved against."""
    for tag in tree.iter("base"):
        if href := tag.get("href"):
            return resolve(url, href)
    return resolve(url, url)


def first_url(base: str, texts: Iterable[str]) -> str | None:
    """Return the first http(s) URL, made absolute."""
    for text in texts:
        url = web_url(text, base)
        if url:
            return url
    return None


def canonical_url_of(
    tree: HtmlElement, shared: Iterable[str], base: str, url: str
) -> str:
    """Return the canonical URL that the page states if it is on the same site and not a
    home page, else its own.

    `shared` holds the URLs stated for sharing (og:url), which rank below
    `rel=canonical`.
    """
    own = served_url(url)
    links = filter(_is_canonical, tree.iter("link"))
    stated_urls = [link.get("href", "") for link in islice(links, _MAX_STATED)]
    for text in (*stated_urls, *shared):
        if not 0 < len(text) <= most("address"):
            continue
        stated = canonical_url(text, base)
        if not _is_page(stated):
            continue
        if is_same_site(stated, own):
            return stated
    return own


def _is_canonical(link: HtmlElement) -> bool:
    return "canonical" in link.get("rel", "").lower().split()


def _is_page(url: str) -> bool:
    if not _is_web(url):
        return False
    return not is_home(url)


def is_home(url: str) -> bool:
    """Whether an http(s) URL has no path, query or fragment."""
    if not _is_web(url):
        return False
    parts = urlsplit(url)
    return not any((parts.path.strip("/"), parts.query, parts.fragment))


def _is_elsewhere(target: str, url: str) -> bool:
    if len(target) > most("address"):
        return False
    return not is_same_site(target, url)


def out_links(tree: HtmlElement, text: str, base: str, url: str) -> tuple[str, ...]:
    """Return the URLs on other sites that the text links to, in order."""
    squeezed = _squeezed(text)
    found: dict[str, None] = {}
    links = (link for link in tree.iter("a") if "//" in link.get("href", ""))
    for link in islice(links, _MAX_TRIED):
        # before the address, whose parsing takes longer
        if not _is_in_text(link, squeezed):
            continue
        target = web_url(link.get("href", ""), base)
        if target is not None and _is_elsewhere(target, url):
            found.setdefault(target)
        if len(found) == _MAX_LINKS:
            break
    return tuple(found)


def _is_in_text(link: HtmlElement, squeezed: str) -> bool:
    """Whether the block around a link is part of the text, judged by the beginnings of
    both.
    """
    words = _beginning(link, _LINK_CHARS)
    if not words:
        return False
    if words not in squeezed:
        return False
    return _beginning(_block_of(link), _COMPARED_CHARS) in squeezed


def _block_of(link: HtmlElement) -> HtmlElement:
    block = link
    for _ in range(_MAX_CLIMB):
        parent = block.getparent()
        if parent is None:
            break
        if block.tag in _BLOCKS:
            break
        block = parent
    return block


def _beginning(element: HtmlElement, chars: int) -> str:
    """Return the first letters and digits of an element's text."""
    words, read = "", 0
    for part in element.itertext():
        words += _squeezed(part[:_READ_CHARS])
        read += len(part)
        if len(words) >= chars:
            break
        if read >= _READ_CHARS:
            break
    return words[:chars]


def _squeezed(text: str) -> str:
    return _NO_WORD.sub("", text)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https"):
        return False
    return bool(parts.netloc)
