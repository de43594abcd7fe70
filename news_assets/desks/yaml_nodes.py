"""YAML nodes of a desk file with their line numbers, and the plain values in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from news_assets.errors import DeskFileError, without_credentials
from news_assets.text import bounded_yaml
from news_assets.text.bounded_yaml import YamlLimitError

Location = tuple[int | str, ...]

_NO_DESK = "no desk in this file; begin with `desk: name`"
_SLOW_CHARS = 200_000  # PyYAML's own parser takes 2.5 s for 10,000 lines


class _Loader(yaml.SafeLoader):
    """Reads plain scalars as YAML 1.2: only true and false are booleans (agency `on`
    stays a string); no dates.
    """


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Return PyYAML's resolvers of plain scalars but for booleans and dates."""
    dropped = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
    kept: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items():
        kept[first] = [one for one in resolvers if one[0] not in dropped]
    return kept


_Loader.yaml_implicit_resolvers = _resolvers()
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|false|False)$"), list("tTfF")
)


class _QuickLoader(getattr(yaml, "CSafeLoader", _Loader)):  # type: ignore[misc]
    """The same on libyaml, if PyYAML has it: 6 ms instead of 98 for 165 agencies."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def compose(text: str, path: Path, if_empty: str = _NO_DESK) -> yaml.MappingNode:
    """Return the YAML nodes of a file, each with its line. Raises DeskFileError:
    `if_empty` where it is no mapping.
    """
    try:
        root = bounded_yaml.compose(text, _QuickLoader)
    except YamlLimitError as error:
        raise DeskFileError([f"{path}:{_line(error)}: {error.problem}"]) from error
    except yaml.YAMLError:
        root = _compose_clearly(text, path)
    if not isinstance(root, yaml.MappingNode):
        raise DeskFileError([f"{path}:1: {if_empty}"])
    return root


def _compose_clearly(text: str, path: Path) -> yaml.Node | None:
    """Compose with PyYAML's own parser, which has better error messages than libyaml,
    unless that takes long.
    """
    try:
        return bounded_yaml.compose(
            text, _Loader if len(text) < _SLOW_CHARS else _QuickLoader
        )
    except yaml.MarkedYAMLError as error:
        raise DeskFileError(
            [
                f"{path}:{_line(error)}: not YAML: {error.problem}; fix this line or the one above"
            ]
        ) from error
    except yaml.YAMLError as error:
        raise DeskFileError(
            [f"{path}:1: cannot be read: {error}; give a readable YAML file"]
        ) from error


def construct(root: yaml.Node, path: Path) -> Any:
    """Return the plain values of a file's nodes. Raises DeskFileError."""
    try:
        return SafeConstructor().construct_document(root)
    except yaml.MarkedYAMLError as error:
        raise DeskFileError(
            [
                f"{path}:{_line(error)}: not YAML: {error.problem}; fix this line or the one above"
            ]
        ) from error
    except ValueError as error:
        raise DeskFileError(
            [f"{path}:1: cannot be read: {error}; give a readable YAML file"]
        ) from error


def _line(error: yaml.MarkedYAMLError) -> int:
    if not error.problem_mark:
        return 1
    return error.problem_mark.line + 1


def line_of(root: yaml.Node, location: Location) -> int:
    """Return the line, counted from 1, of the deepest existing node on this path."""
    node = root
    line = root.start_mark.line
    for part in location:
        child = child_of(node, part)
        if child is None:
            break
        line, node = child
    return line + 1


def child_of(node: yaml.Node, part: int | str) -> tuple[int, yaml.Node] | None:
    """Return the line, counted from 0, and the node at a key or list index; None if
    there is none.
    """
    if isinstance(node, yaml.MappingNode):
        pairs = reversed(node.value)  # of two equal keys the last one counts
        for key, value in pairs:
            if key.value == str(part):
                return key.start_mark.line, value
        return None
    if not isinstance(node, yaml.SequenceNode):
        return None
    if isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line, node.value[part]
    return None


def repeated_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    """Yield every repeated key of a mapping with its line, counted from 1."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield str(key.value), key.start_mark.line + 1
            seen.add(str(key.value))
            yield from repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from repeated_keys(value)


_SHOWN_CHARS = 100


def quoted(text: str) -> str:
    """Return a text from a file as quoted in a message: on one line, cut to 100
    characters, without passwords.
    """
    words = one_line(without_credentials(text[:1000])) or ""
    if len(words) <= _SHOWN_CHARS:
        return f"`{words}`"
    return f"`{words[:_SHOWN_CHARS]}…`"


def one_line(text: str | None) -> str | None:
    """Return a name without line breaks and control characters; None if nothing
    remains.
    """
    if not text:
        return None
    printable = [character if character.isprintable() else " " for character in text]
    return " ".join("".join(printable).split()) or None
