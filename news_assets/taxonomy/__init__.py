"""Taxonomies of themes: the built-in one (`themes.yaml`), and the reader of taxonomy files,
which reports all mistakes of a file at once.

A theme has `code` and `label`, and may have `description`, `keywords`, `hints`,
`includes`, `excludes`, `examples` and `children`, down to level 3. Each text is given
for all languages or by language: `label: Health` or `label: {en: Health, pt: Saúde}`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from news_assets.desks.yaml_nodes import YamlLimitError, bounded_nodes, read_bytes
from news_assets.errors import TaxonomyError, listed
from news_assets.records.desks import Desk

BUILT_IN = Path(__file__).with_name("themes.yaml")
CIVIC_TOPICS = Path(__file__).with_name("civic_topics.yaml")
_MAX_LEVEL = 3
ANY_LANGUAGE = ""

ByLanguage = Mapping[str, tuple[str, ...]]

_LISTS = ("keywords", "hints", "includes", "excludes", "examples")
_KEYS = ("code", "label", "description", *_LISTS, "children")

_LANGUAGE = re.compile(r"[a-z]{2,3}")

# PyYAML's Python scanner takes 2.5 s for 10,000 lines, libyaml's 0.3 s.
_YamlLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """One theme. Its texts are keyed by language; those for all languages by
    ANY_LANGUAGE, the empty string.
    """

    code: str
    level: int
    parent: str | None
    labels: ByLanguage
    descriptions: ByLanguage
    keywords: ByLanguage
    hints: ByLanguage
    includes: ByLanguage
    excludes: ByLanguage
    examples: ByLanguage
    children: tuple[str, ...]

    def label(self, language: str | None = None) -> str:
        """Return the label in this language, else the one for all languages, else the
        first.
        """
        found = self.labels.get(language or ANY_LANGUAGE) or self.labels.get(
            ANY_LANGUAGE
        )
        return (found or next(iter(self.labels.values())))[0]


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Themes by code, parents before their children. `version` is a hash of the content
    without its layout.
    """

    version: str
    themes: Mapping[str, Theme] = field(repr=False)

    @property
    def roots(self) -> tuple[str, ...]:
        """Codes of level 1."""
        return tuple(code for code, theme in self.themes.items() if theme.level == 1)

    def path(self, code: str) -> tuple[str, ...]:
        """Return the codes from level 1 down to this one."""
        theme = self.themes[code]
        if theme.parent:
            return (*self.path(theme.parent), code)
        return (code,)

    def labels(
        self, codes: Iterable[str], language: str | None = None
    ) -> tuple[str, ...]:
        """Return the labels of themes in a language, given by its BCP 47 code."""
        primary = (language or "").partition("-")[0]
        return tuple(self.themes[code].label(primary) for code in codes)


def load_taxonomy(path: Path | None = None) -> Taxonomy:
    """Return the taxonomy of a file, by default the built-in one; it is read again once
    the file has changed.

    Raises:
        TaxonomyError: All mistakes of the file, one `file:line: what; fix` per line.
    """
    path = path or BUILT_IN
    return _loaded(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=16)
def _loaded(path: Path, changed_ns: int) -> Taxonomy:
    reader = _Reader(path.name)
    reader.read(_parse_yaml(path))
    if reader.mistakes:
        raise TaxonomyError(listed(reader.mistakes))
    themes = {theme.code: theme for theme in reader.themes}
    return Taxonomy(_version(themes.values()), MappingProxyType(themes))


def taxonomy_file(desk: Desk, setting: Path | None) -> Path:
    """Return the file of a desk's taxonomy: that of its desk file, else `setting`, else
    a built-in one.

    Of a desk with meetings that is the civic topics.
    """
    return desk.taxonomy or setting or (CIVIC_TOPICS if desk.is_civic else BUILT_IN)


def taxonomy_of(desk: Desk, setting: Path | None) -> Taxonomy:
    """Return the taxonomy of a desk, by `taxonomy_file`.

    Raises:
        TaxonomyError: As `load_taxonomy`.
    """
    return load_taxonomy(taxonomy_file(desk, setting))


def lender_of(file: Path | None) -> Taxonomy | None:
    """Return the taxonomy whose words help to find the themes of this file: the
    built-in one.

    The built-in taxonomies have enough words of their own; they need none.
    """
    if file in (None, BUILT_IN, CIVIC_TOPICS):
        return None
    return load_taxonomy()


def _version(themes: Iterable[Theme]) -> str:
    content = json.dumps([asdict(theme) for theme in themes], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _parse_yaml(path: Path) -> Node | None:
    try:
        text = read_bytes(path).decode("utf-8-sig")
        return bounded_nodes(text, _YamlLoader)
    except OSError as error:
        raise TaxonomyError(
            f"{path}: cannot be read ({error.strerror}); name a YAML file"
        ) from error
    except UnicodeDecodeError as error:
        raise TaxonomyError(
            f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8"
        ) from error
    except yaml.YAMLError as error:
        raise TaxonomyError(_yaml_problem(path, error)) from error


def _yaml_problem(path: Path, error: yaml.YAMLError) -> str:
    """Return what is wrong in a file that cannot be read as YAML, and where."""
    if not isinstance(error, yaml.MarkedYAMLError):
        reason = " ".join(str(error).split())
        hint = "check for control characters and nesting"
        return f"{path.name}: not YAML: {reason}; {hint}"
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    if isinstance(error, YamlLimitError):
        return f"{path.name}:{line}: {error.problem}"
    return f"{path.name}:{line}: not YAML: {error.problem}; check indent and quotes"


class _Reader:
    """Collects the themes of one file, parents first, and its mistakes."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.themes: list[Theme] = []
        self.mistakes: list[str] = []
        self._first_lines: dict[str, int] = {}

    def read(self, document: Node | None) -> None:
        """Read the list under `themes`, or a document that is the list itself."""
        if isinstance(document, MappingNode):
            values = [value for key, value in document.value if key.value == "themes"]
            document = values[0] if values else None
        if not isinstance(document, SequenceNode) or not document.value:
            self.mistakes.append(
                f"{self.file}:1: no themes; begin with `themes:` and a list below it"
            )
            return
        for node in document.value:
            self._theme(node, parent=None, level=1)

    def _theme(self, node: Node, parent: str | None, level: int) -> str | None:
        """Add a theme and its descendants; return its code."""
        if level > _MAX_LEVEL:
            self._mistake(
                node, f"a theme at level {level}", f"keep to {_MAX_LEVEL} levels"
            )
            return None
        fields = self._fields(node)
        code = self._code(fields, node)
        if code is None:
            return None
        if fields is None:
            return None
        texts = self._texts_of(fields)
        if not texts["labels"]:
            self._mistake(node, f"theme {code} has no label", "add `label:`")
        place = len(self.themes)
        children = self._children(fields.get("children"), code, level)
        theme = Theme(code=code, level=level, parent=parent, children=children, **texts)
        self.themes.insert(place, theme)  # before its descendants
        return code

    def _texts_of(self, fields: dict[str, Node]) -> dict[str, ByLanguage]:
        """Return the texts of a theme by the fields of its record."""
        texts: dict[str, ByLanguage] = {
            "labels": self._by_language(fields.get("label"), "label"),
            "descriptions": self._by_language(fields.get("description"), "description"),
        }
        for name in _LISTS:
            texts[name] = self._by_language(fields.get(name), name)
        return texts

    def _children(self, node: Node | None, code: str, level: int) -> tuple[str, ...]:
        if node is None:
            return ()
        if _is_empty(node):
            return ()
        if not isinstance(node, SequenceNode):
            self._mistake(
                node, f"children of {code} are not a list", "begin each with `- code:`"
            )
            return ()
        codes: list[str] = []
        for child in node.value:
            child_code = self._theme(child, parent=code, level=level + 1)
            if child_code is not None:
                codes.append(child_code)
        return tuple(codes)

    def _fields(self, node: Node) -> dict[str, Node] | None:
        if not isinstance(node, MappingNode):
            self._mistake(
                node, "a theme that is not a mapping", "write `code:` and `label:`"
            )
            return None
        fields: dict[str, Node] = {}
        for key, value in node.value:
            if key.value in fields:
                self._mistake(key, f"duplicate key `{key.value}`", "keep one")
            elif key.value not in _KEYS:
                self._mistake(
                    key, f"unknown key `{key.value}`", _suggestion(str(key.value))
                )
            fields[key.value] = value
        return fields

    def _code(self, fields: dict[str, Node] | None, node: Node) -> str | None:
        """Return the code as written, so that an unquoted 01.10 is not the number 1.1."""
        if fields is None:
            return None
        found = fields.get("code")
        if not isinstance(found, ScalarNode) or not found.value.strip():
            self._mistake(found or node, "a theme has no code", "add `code:`")
            return None
        code: str = found.value.strip()
        first = self._first_lines.setdefault(code, _line(found))
        if first != _line(found):
            self._mistake(
                found,
                f"code {code} is already used in line {first}",
                "give every theme its own",
            )
            return None
        return code

    def _by_language(self, node: Node | None, name: str) -> dict[str, tuple[str, ...]]:
        if node is None:
            return {}
        if _is_empty(node):
            return {}
        if not isinstance(node, MappingNode):
            return {ANY_LANGUAGE: self._texts(node, name)}
        texts: dict[str, tuple[str, ...]] = {}
        for key, value in node.value:
            if self._is_language(key, value, name):
                texts[key.value] = self._texts(value, name)
        return texts

    def _is_language(self, key: Node, value: Node, name: str) -> bool:
        is_code = isinstance(key, ScalarNode) and _LANGUAGE.fullmatch(key.value)
        if is_code and not _is_empty(value):
            return True
        self._mistake(
            key,
            f"`{key.value}` under `{name}` is not a language with a text",
            "quote a text that contains a comma",
        )
        return False

    def _texts(self, node: Node, name: str) -> tuple[str, ...]:
        is_list = isinstance(node, SequenceNode)
        wants_list = name in _LISTS
        if is_list != wants_list:
            wanted = "a list" if wants_list else "one text"
            fix = f"write `{name}: {_form(name)}`"
            self._mistake(node, f"`{name}` takes {wanted}", fix)
        items = node.value if is_list and wants_list else [node]
        return tuple(filter(None, [self._text(item, name) for item in items]))

    def _text(self, node: Node, name: str) -> str | None:
        if not isinstance(node, ScalarNode) or not node.value.strip():
            self._mistake(
                node,
                f"an entry of `{name}` is not a text",
                "write words, in quotes if they contain `:`",
            )
            return None
        return " ".join(node.value.split())

    def _mistake(self, node: Node, what: str, fix: str) -> None:
        self.mistakes.append(f"{self.file}:{_line(node)}: {what}; {fix}")


def _form(name: str) -> str:
    if name in _LISTS:
        return "[first, second]"
    return "some words"


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _is_empty(node: Node) -> bool:
    if not isinstance(node, ScalarNode):
        return False
    return node.tag.endswith(":null")


def _suggestion(key: str) -> str:
    near = get_close_matches(key, _KEYS, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"a theme takes {', '.join(_KEYS)}"
