"""YAML nodes of a file from outside: bounded in size, depth and number of values,
without aliases.

PyYAML recurses for each level and can end the process with a stack overflow, aliases
make a billion values of ten lines ("billion laughs"), and integers in base 60 take
quadratic time. The check reads a file's events one by one, without recursion, and stops
at the first that exceeds a limit.
"""

from pathlib import Path
from typing import Any, Final

import yaml
from yaml import events

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


def compose(text: str, loader: Any) -> yaml.Node | None:
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
