"""Reads the authors of an article: those that the page states for machines, else those
of its byline.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from lxml.etree import XPath
from lxml.html import HtmlElement

from news_assets.pipeline.page.stated import MetaTags, Node, contents, texts_of
from news_assets.text.html import plain_text

_MAX_AUTHORS, _MAX_AUTHOR_CHARS = 12, 80
_MAX_BYLINES = 30  # elements that are named as bylines
_MAX_PARTS = 8  # texts of one byline; a description of the author follows the name
_MAX_BYLINE_CHARS = 200
_NAME_WORDS = range(2, 6)

_STATED = ("author", "article:author", "parsely-author", "sailthru.author", "byl", "dc.creator",
"dcterms.creator",
           "citation_author", "cxenseparse:author")  # fmt: skip
_BY = re.compile(
    r"^\W*(?:(?:written|posted|story|words|published|reported|escrito|publicado|redactado)\s+(?:by|por):?"
    r"|by|por|von|par|texto:|reportagem(?: de)?:?|autora?:|autor(?=\s)|author:?)\s+",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"https?:|www\.|@|^\(|^\W*$|^\d+$|^(?:admin|administrator|null|none|undefined|redaktion|(?:written|posted)"
    r" by)$",
    re.IGNORECASE,
)
# an account name; the page gives the person's name as well
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")
# In plain text, which has single spaces.
_BETWEEN_NAMES = re.compile(
    rf" ?(?:;|\||\band\b|&|\bund\b|\bog\b|,(?= ?\S{{1,{_MAX_AUTHOR_CHARS}}} \S)) ?"
)

_BYLINES = ("a", "address", "div", "h3", "h4", "li", "p", "span", "strong")
_BYLINE = re.compile(
    r"author|byline|autor(?!iz)|auteur|redactor|journalist|writer|posted-by",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"comment|related|relacionad|sidebar|footer|recommend|teaser|quote", re.IGNORECASE
)
_TEXTS = XPath(".//text()[not(parent::script or parent::style)]", smart_strings=False)
_ARTICLES = re.compile(
    r"(?:about|the|more|meet|view|all|follow|read|share|our|o|sobre|todos|mais)$",
    re.IGNORECASE,
)


def authors_of(tree: HtmlElement, article: Node, meta: MetaTags) -> tuple[str, ...]:
    """Return the names of people and newsrooms; those of the first byline with a name
    where none are stated.
    """
    for texts in (texts_of(article.get("author"), "name"), contents(meta, *_STATED)):
        if names := _names(texts):
            return names
    return next(filter(None, map(_names_in, _bylines(tree))), ())


def _names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in some texts, without "by", URLs and account names."""
    found: dict[str, None] = {}
    for text in texts:
        for part in _BETWEEN_NAMES.split(_BY.sub("", plain_text(text))):
            name = part.strip(" ,.•|·-")
            if (
                name
                and len(name) <= _MAX_AUTHOR_CHARS
                and not (_NO_NAME.search(name) or _SLUG.fullmatch(name))
            ):
                found.setdefault(name)
    return tuple(found)[:_MAX_AUTHORS]


# --- bylines --------------------------------------------------------------------------


def _bylines(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the elements that are marked up or named as an author, outside comments and
    teasers.
    """
    named = (one for one in tree.iter(*_BYLINES) if _BYLINE.search(_marks(one)))
    for element in islice(named, _MAX_BYLINES):
        around = (
            element,
            *element.iterancestors(
                "div", "section", "aside", "footer", "ul", "ol", "blockquote"
            ),
        )
        if not any(_OTHERS.search(_marks(one)) for one in around):
            yield element


def _marks(element: HtmlElement) -> str:
    return " ".join(filter(None, map(element.get, ("class", "id", "rel", "itemprop"))))


def _names_in(byline: HtmlElement) -> tuple[str, ...]:
    """Return the names in the first text of a byline that has any."""
    for text in islice(filter(str.strip, _TEXTS(byline)), _MAX_PARTS):
        names = tuple(
            name for name in _names([text[:_MAX_BYLINE_CHARS]]) if _is_person(name)
        )
        if names:
            return names
    return ()


def _is_person(name: str) -> bool:
    """Whether a text is two to five words in capitals, with particles between them."""
    words = name.split()
    ends = (words[0], words[-1])
    return (
        len(words) in _NAME_WORDS
        and not any(map(str.isdigit, name))
        and not any(end[0].islower() for end in ends)
        and not _ARTICLES.match(words[0])
    )
