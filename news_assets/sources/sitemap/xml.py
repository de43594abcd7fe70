"""A sitemap's XML in, its root and the stated fields of each `url` or `sitemap` out, in time linear in its length.

expat reads it once, opens no address and resolves no entity. Behind a mistake of form it goes on with the next item, so
that a mistake costs its own item only. lxml's recovery was measured and left out: it drops what stands behind a bare
`&`, which makes another address of one, and needs the square of the length for `<a <a <a` (1.2 million: 10 s). What the
fields mean belongs to `sitemap.py`. (`xml_document.py` is made for feeds: it stops at 100,000 elements.)
"""

import re
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from news_assets.errors import SourceError

Fields = dict[str, str]  # "loc", "lastmod", "news:title", "image:loc", ... -> the first text that is not empty

MAX_ITEMS = 50_000  # of one document, as the protocol allows
_MAX_MISTAKES = 100
_MAX_FIELD_CHARS = 10_000  # no address and no headline is as long
_TAIL_CHARS = 8192
_ITEM_NAMES: Final = ("url", "sitemap")
_ITEM_START = re.compile(rb"<(?:[\w.-]+:)?(?:url|sitemap)\s*>", re.IGNORECASE)
_ROOT_END = re.compile(
    r"</(?:[\w.-]+:)?(?:urlset|sitemapindex)\s*>|<(?:[\w.-]+:)?(?:urlset|sitemapindex)\b[^<>]*/>\s*$", re.IGNORECASE
)
_BARE_AMPERSAND = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)", re.DOTALL
)
_NAMESPACE = re.compile(r"/schemas/sitemap(?:-(news|image|video))?/")


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap states, in its order. `root` is the local name of its root element in lower case."""

    root: str
    items: tuple[Fields, ...]
    problems: tuple[str, ...] = ()
    is_whole: bool = True


def read_sitemap(text: str, url: str) -> Sitemap:
    """Return what is there: of a document that ends in the middle, every item before its end.

    Raises:
        SourceError: Entities of its own, which no sitemap has.
    """
    if "<!ENTITY" in text:
        raise SourceError(f"{url}: XML that declares entities, as no sitemap does")
    is_whole = _ROOT_END.search(text[-_TAIL_CHARS:]) is not None
    reader = _Reader()
    mistakes = _read(_BARE_AMPERSAND.sub(_escaped, text).encode("utf-8", "replace"), reader)
    count = len(reader.items)
    problems = (
        f"truncated document: {count:,} addresses read" if not is_whole else None,
        f"not well-formed: {mistakes[0]}: {count:,} addresses read" if mistakes and is_whole else None,
        f"more than {MAX_ITEMS:,} addresses: the others are not read" if count > MAX_ITEMS else None,
    )
    return Sitemap(reader.root, tuple(reader.items[:MAX_ITEMS]), tuple(filter(None, problems)), is_whole)


def _escaped(match: re.Match[str]) -> str:
    return "&amp;" if match[0] == "&" else match[0]


def _read(body: bytes, reader: "_Reader") -> list[str]:
    """Let the reader see the whole body; return the mistakes of form, behind each of which it went on."""
    mistakes: list[str] = []
    start, opening = 0, b""
    while len(mistakes) < _MAX_MISTAKES:
        parser = reader.parser()
        try:
            parser.Parse(opening, False)
            parser.Parse(body[start:], True)
            break
        except expat.ExpatError as error:
            mistakes.append(str(error))
            behind = start + max(parser.ErrorByteIndex - len(opening), 1)
        following = _ITEM_START.search(body, behind)
        if following is None or not reader.root:
            break
        start, opening = following.start(), b"<%s>" % reader.root.encode()
    return mistakes


@dataclass(slots=True)
class _Reader:
    """What was read so far. Handlers of expat; names are read as written, since many forget to declare a prefix."""

    root: str = ""
    items: list[Fields] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    item: Fields | None = None
    text: list[str] = field(default_factory=list)

    def parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text.append
        self.item = None
        return parser

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.text.clear()
        if self.item is None:
            self._learn_prefixes(attributes)
            self.root = self.root or self._local(name)
            if self._local(name) in _ITEM_NAMES:
                self.item = {}

    def end(self, name: str) -> None:
        if self.item is None:
            return
        local = self._local(name)
        if local in _ITEM_NAMES:
            if len(self.items) <= MAX_ITEMS:
                self.items.append(self.item)
            self.item = None
        elif text := "".join(self.text)[:_MAX_FIELD_CHARS].strip():
            self.item.setdefault(local, text)
        self.text.clear()

    def _learn_prefixes(self, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if name.startswith("xmlns:") and (match := _NAMESPACE.search(value)):
                self.prefixes[name[6:]] = match[1] or ""

    def _local(self, name: str) -> str:
        """Return `loc`, or `news:title` for an extension's element, whatever its prefix is."""
        if name not in self.names:
            prefix, _, local = name.rpartition(":")
            known = self.prefixes.get(prefix, prefix)
            self.names[name] = f"{known}:{local}".lstrip(":").lower()
        return self.names[name]
