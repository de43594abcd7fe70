"""Creates and extends the text of a desk file; comments, order and line ends are kept.

Lines are inserted into the existing text, and the result is parsed and compared before
the file is replaced.
"""

import os
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import replace
from datetime import date
from itertools import chain
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from news_assets.desks.desk_files import parse_desk
from news_assets.desks.import_plan import Additions, Plain
from news_assets.desks.yaml_nodes import child_of, compose
from news_assets.errors import DeskFileError
from news_assets.records.desks import Desk, Source

_WIDTH = 1_000_000  # columns, so that long names are not wrapped


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, as in the built-in desk files."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def new_desk_text(
    key: str, timezone: str, language: str, first_day: date, additions: Additions
) -> str:
    """Return the text of a new desk file with these agencies."""
    head = {"desk": key, "timezone": timezone, "language": language}
    return f"{_yaml(head)}first_day: {first_day}\nagencies:\n{_block(additions.agencies, 2)}"


def pasted_text(additions: Additions) -> str:
    """Return the lines to put below `agencies:`; of agencies that the desk has, only
    the new sources.
    """
    grown = {key: {"sources": sources} for key, sources in additions.sources.items()}
    return _block(additions.agencies | grown, 2)


def extended_text(
    text: str, path: Path, additions: Additions, kinds: Collection[str]
) -> str:
    """Return a desk file's text with the additions: new agencies at the end, new
    sources after an agency's own.

    Raises:
        DeskFileError: The file has its agencies or sources on one line, or the result
            would differ from the desk plus the additions.
    """
    agencies = _value(compose(text, path), "agencies", path)
    column = agencies.value[0][0].start_mark.column
    inserted = [(_last_line(agencies), _block(additions.agencies, column))]
    for key, sources in additions.sources.items():
        existing = _value(_value(agencies, key, path), "sources", path)
        block = _block(sources, existing.start_mark.column)
        inserted.append((_last_line(existing), block))
    longer = _with_lines(text, inserted)
    before = parse_desk(text, path, kinds)
    after = parse_desk(longer, path, kinds)
    is_same = _without(after, additions) == _without(before, additions)
    if not is_same or not _has(after, before, additions):
        reason = "cannot be extended without changing other entries; edit it by hand"
        raise DeskFileError([f"{path}:1: {reason}"])
    return longer


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically, with the same permissions.

    Raises:
        DeskFileError: It cannot be written.
    """
    try:
        _write(path.resolve(), text)
    except OSError as error:
        reason = f"cannot be written: {error.strerror or error}; nothing was changed"
        raise DeskFileError([f"{path}:1: {reason}"]) from error


def _write(target: Path, text: str) -> None:
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=folder) as drafts:
        draft = Path(drafts) / target.name
        with draft.open("wb") as file:
            file.write(text.encode("utf-8"))
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)


def _yaml(value: object) -> str:
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH
    )


def _block(value: dict[str, Plain] | list[Plain], column: int) -> str:
    if not value:
        return ""
    return indent(_yaml(value), " " * column)


def _value(node: Any, key: str, path: Path) -> Any:
    """Return the block-style collection under a key, which lines can be added to."""
    line, value = child_of(node, key) or (0, None)
    if isinstance(value, yaml.CollectionNode) and not value.flow_style:
        return value
    reason = f"`{key}` is not in block style; write one item per line"
    raise DeskFileError([f"{path}:{line + 1}: {reason}"])


def _last_line(node: yaml.Node) -> int:
    """Return the last line of a node, counted from 0, without the comments after it."""
    end: int = node.end_mark.line
    if isinstance(node, yaml.ScalarNode):
        if node.style in ("|", ">"):
            return end - 1
        return end
    if not isinstance(node, yaml.CollectionNode):
        return end
    if node.flow_style:
        return end
    if not node.value:
        return end
    if not isinstance(node, yaml.MappingNode):
        return max(map(_last_line, node.value))
    return max(map(_last_line, chain.from_iterable(node.value)))


def _with_lines(text: str, inserted: list[tuple[int, str]]) -> str:
    """Return the text with each block inserted after a line, counted from 0."""
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    for number, block in sorted(inserted, reverse=True):
        if not lines[number].endswith(("\n", "\r")):
            lines[number] += end
        lines.insert(number + 1, block.replace("\n", end))
    return "".join(lines)


def _without(desk: Desk, additions: Additions) -> Desk:
    grown = {*additions.agencies, *additions.sources}
    kept = tuple(agency for agency in desk.agencies if agency.key not in grown)
    return replace(desk, agencies=kept)


def _has(after: Desk, before: Desk, additions: Additions) -> bool:
    """Return whether each extended agency has its former sources followed by the new
    ones.
    """
    former = _sources_by_agency(before)
    sources = _sources_by_agency(after)
    added = dict(additions.sources)
    for key, agency in additions.agencies.items():
        added[key] = agency["sources"]
    for key, new in added.items():
        old = former.get(key, ())
        if sources[key][: len(old)] != old:
            return False
        urls = [source.url for source in sources[key][len(old) :]]
        if urls != [source["url"] for source in new]:
            return False
    return True


def _sources_by_agency(desk: Desk) -> dict[str, tuple[Source, ...]]:
    return {agency.key: agency.sources for agency in desk.agencies}
