"""Reads what a page states for machines: schema.org objects in JSON-LD, and meta tags."""

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from lxml.html import HtmlElement

from news_assets.text.html import plain_text
from news_assets.text.limits import loads

Node = dict[str, Any]
MetaTags = dict[str, list[str]]

ARTICLE_TYPES = frozenset(
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
        if "ld+json" in (script.get("type") or "").lower() and script.text:
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
    names = (str(name).rpartition("/")[2] for name in as_list(node.get("@type")))
    return next(
        (name for name in names if name.endswith("Article") or name in ARTICLE_TYPES),
        None,
    )


def microdata_type(tree: HtmlElement) -> str | None:
    """Return the schema.org type of the first article in microdata."""
    kinds = (
        article_type({"@type": element.get("itemtype")})
        for element in tree.xpath(".//*[@itemtype]")
    )
    return next(filter(None, kinds), None)


def meta_tags(tree: HtmlElement) -> MetaTags:
    """Return the contents of the meta tags by property or name in lower case, in order."""
    found: MetaTags = {}
    for tag in tree.iter("meta"):
        content = (tag.get("content") or "").strip()
        name = (
            tag.get("property")
            or tag.get("name")
            or tag.get("itemprop")
            or tag.get("http-equiv")
        )
        if content and name:
            stated = found.setdefault(name.strip().lower(), [])
            if len(stated) < _MAX_CONTENTS:
                stated.append(content[:_MAX_CHARS])
    return found


def contents(meta: MetaTags, *names: str) -> list[str]:
    """Return the contents of the named tags, in the order of the names."""
    return [content for name in names for content in meta.get(name, ())]


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
            named = next((part[name] for name in names if part.get(name)), None)
            found += texts_of(named, *names) if not isinstance(named, dict) else []
        elif isinstance(part, str) and part.strip():
            found.append(html.unescape(part.strip()))
    return found[:_MAX_TEXTS]


def breadcrumb(nodes: Sequence[Node]) -> str | None:
    """Return the breadcrumb below the home page."""
    for node in nodes:
        if "BreadcrumbList" in str(node.get("@type")):
            steps = [
                part
                for part in node.get("itemListElement") or ()
                if isinstance(part, dict)
            ]
            names = [
                name
                for step in steps
                for name in texts_of(step.get("name") or step.get("item"), "name")[:1]
            ]
            if len(names) > 2:
                return plain_text(names[1])
    return None


def stated_body(article: Node) -> str | None:
    """Return articleBody as lines of plain text."""
    body = next(iter(texts_of(article.get("articleBody"))), "")
    lines = (plain_text(line) for line in _BREAK.sub("\n", body).splitlines())
    return "\n".join(filter(None, lines)) or None


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
        if _EMBEDDED_VIDEO.search(source := frame.get("src") or ""):
            yield source


def _match(node: Node, url: str) -> tuple[bool, bool, bool]:
    stated = [
        *texts_of(node.get("url")),
        *texts_of(node.get("mainEntityOfPage"), "@id", "url"),
    ]
    path = url.partition("?")[0].rstrip("/")
    is_own = any(
        path and path == other.partition("?")[0].rstrip("/") for other in stated
    )
    return is_own, bool(node.get("headline")), bool(node.get("datePublished"))


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
    bare = (
        _OPENING.sub("", text.strip(), count=1)
        if text.lstrip()[:1] in ("<", "/")
        else text.strip()
    )
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
            pending += [
                part for name in _CONTAINERS for part in as_list(node.get(name))
            ][::-1]
