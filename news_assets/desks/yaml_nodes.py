"""YAML nodes of a file from outside with their line numbers, bounded in size, depth and
number of values, without aliases; and the plain values in the nodes of a desk file.

PyYAML recurses for each level and can end the process with a stack overflow, aliases
make a billion values of ten lines ("billion laughs"), and integers in base 60 take
quadratic time. The check reads a file's events one by one, without recursion, and stops
at the first that exceeds a limit.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from yaml import events
from yaml.constructor import SafeConstructor

from news_assets.errors import DeskFileError, without_credentials

MAX_FILE_BYTES: Final = 5_000_000
MAX_DEPTH: Final = 32  # desk files have 6 levels, taxonomies 10
MAX_VALUES: Final = 200_000  # keys and values: 16,000 agencies with one source each
# of one value; Python's limit of digits (4300) stays out of reach, also from base 16
MAX_TEXT_CHARS: Final = 3000


class YamlLimitError(yaml.MarkedYAMLError):
    """A file that exceeds a limit; `problem` is what and the fix, `problem_mark` is
    where.
    """

    def __init__(self, problem: str, mark: Any = None) -> None:
        super().__init__(problem=problem, problem_mark=mark)


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes. Raises YamlLimitError if it is too large, OSError if it
    cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise YamlLimitError(
            f"larger than {MAX_FILE_BYTES // 1_000_000} MB; split the file"
        )
    return data


def bounded_nodes(text: str, loader: Any) -> yaml.Node | None:
    """Return the nodes of the only document in a text, None if it is empty.

    Raises:
        YamlLimitError: The text exceeds a limit, has an alias, or a key that is not a
            text.
        yaml.YAMLError: It is not YAML.
    """
    _check(text, loader)
    node: yaml.Node | None = yaml.compose(text, Loader=loader)
    return node


def _check(text: str, loader: Any) -> None:
    """Raise YamlLimitError at the first event that is over a limit."""
    # whether each open collection is a mapping, and how many nodes it has so far
    open_nodes: list[list[Any]] = []
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if isinstance(event, events.CollectionEndEvent):
            open_nodes.pop()
        elif isinstance(event, events.NodeEvent):
            if problem := _problem(event, count, open_nodes):
                raise YamlLimitError(problem, event.start_mark)
            if open_nodes:
                open_nodes[-1][1] += 1
            if isinstance(event, events.CollectionStartEvent):
                open_nodes.append([isinstance(event, events.MappingStartEvent), 0])


def _problem(
    event: events.NodeEvent, count: int, open_nodes: list[list[Any]]
) -> str | None:
    if isinstance(event, events.AliasEvent):
        return f"an alias, `*{event.anchor}`; write the values out"
    if count > MAX_VALUES:
        return f"more than {MAX_VALUES:,} keys and values; split the file"
    if isinstance(event, events.ScalarEvent):
        if len(event.value) <= MAX_TEXT_CHARS:
            return None
        return f"a text of more than {MAX_TEXT_CHARS:,} characters; shorten it or close its quotes"
    if len(open_nodes) == MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} levels deep; check the brackets and the indent"
    if not open_nodes:
        return None
    is_mapping, node_count = open_nodes[-1]
    if is_mapping and node_count % 2 == 0:
        return "a key that is not a text; quote it"
    return None


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
        root = bounded_nodes(text, _QuickLoader)
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
        return bounded_nodes(text, _Loader if len(text) < _SLOW_CHARS else _QuickLoader)
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
