"""Parses a sitemap's XML with expat in linear time: the root's name, and the fields of
each `url` or `sitemap`.

Nothing external is loaded and no entity is resolved. After an error of form parsing
resumes at the next item, so that only the broken item is lost. lxml's recovery is not
used: it drops the text after a bare `&`, which changes the address, and takes quadratic
time for `<a <a <a` (10 s for 1.2 million). `feeds/xml.py` is not used either: it stops
at 100,000 elements.
"""

import re
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from news_assets.errors import SourceError

Fields = dict[
    str, str
]  # "loc", "lastmod", "news:title", "image:loc", ... -> the first non-empty text

MAX_ITEMS = 50_000  # in one document, as the protocol allows
_MAX_ERRORS = 100
_MAX_FIELD_CHARS = 10_000  # longer than any address or headline
_TAIL_CHARS = 8192
_ITEM_NAMES: Final = ("url", "sitemap")
_ITEM_START = re.compile(rb"<(?:[\w.-]+:)?(?:url|sitemap)\s*>", re.IGNORECASE)
_ROOT_END = re.compile(
    r"</(?:[\w.-]+:)?(?:urlset|sitemapindex)\s*>|<(?:[\w.-]+:)?(?:urlset|sitemapindex)\b[^<>]*/>\s*$",
    re.IGNORECASE,
)
_BARE_AMPERSAND = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)",
    re.DOTALL,
)
_NAMESPACE = re.compile(r"/schemas/sitemap(?:-(news|image|video))?/")


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The items of a sitemap in order. `root` is the local name of its root element in
    lower case.
    """

    root: str
    items: tuple[Fields, ...]
    problems: tuple[str, ...] = ()
    is_whole: bool = True


def read_sitemap(text: str, url: str) -> Sitemap:
    """Return the items of a sitemap; of a truncated document, every item before its
    end.

    Raises:
        SourceError: The document declares entities, which no sitemap needs.
    """
    if "<!ENTITY" in text:
        raise SourceError(f"{url}: XML that declares entities, which no sitemap needs")
    is_whole = _ROOT_END.search(text[-_TAIL_CHARS:]) is not None
    reader = _Reader()
    errors = _read(
        _BARE_AMPERSAND.sub(_escaped, text).encode("utf-8", "replace"), reader
    )
    count = len(reader.items)
    problems = (
        f"truncated document: {count:,} addresses read" if not is_whole else None,
        f"not well-formed: {errors[0]}: {count:,} addresses read"
        if errors and is_whole
        else None,
        (
            f"more than {MAX_ITEMS:,} addresses: the others are not read"
            if count > MAX_ITEMS
            else None
        ),
    )
    return Sitemap(
        reader.root,
        tuple(reader.items[:MAX_ITEMS]),
        tuple(filter(None, problems)),
        is_whole,
    )


def _escaped(match: re.Match[str]) -> str:
    return "&amp;" if match[0] == "&" else match[0]


def _read(body: bytes, reader: "_Reader") -> list[str]:
    """Feed the body to the reader, resuming at the next item after each error of form;
    return the errors.
    """
    errors: list[str] = []
    start, opening = 0, b""
    while len(errors) < _MAX_ERRORS:
        parser = reader.parser()
        try:
            parser.Parse(opening, False)
            parser.Parse(body[start:], True)
            break
        except expat.ExpatError as error:
            errors.append(str(error))
            error_end = start + max(parser.ErrorByteIndex - len(opening), 1)
        following = _ITEM_START.search(body, error_end)
        if following is None or not reader.root:
            break
        start, opening = following.start(), b"<%s>" % reader.root.encode()
    return errors


@dataclass(slots=True)
class _Reader:
    """Collects items as expat's handlers. Names are not namespace-aware: many sitemaps
    use undeclared prefixes.
    """

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
        """Return the name with its extension's usual prefix: `loc`, `news:title`."""
        if name not in self.names:
            prefix, _, local = name.rpartition(":")
            known = self.prefixes.get(prefix, prefix)
            self.names[name] = f"{known}:{local}".lstrip(":").lower()
        return self.names[name]
