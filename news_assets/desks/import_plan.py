"""What a list of sources adds to a desk file: the rows of the list, the agencies and
sources that are new, and the text of the file with them.

Sources are compared by `same_source_key`. Rows with the same name and host are one
agency, also one of the desk. Comments, order and line ends of a file are kept: lines are
inserted into the existing text, and the result is parsed and compared before the file is
replaced.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, count
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml
from pydantic import ValidationError

from news_assets.desks.desk_files import explain, parse_desk
from news_assets.desks.desk_spec import AGENCY_KEY, SourceSpec
from news_assets.desks.yaml_nodes import child_of, compose
from news_assets.errors import DeskFileError, without_credentials
from news_assets.records.desks import Agency, Desk, Source
from news_assets.text.urls import canonical_url, host_of
from news_assets.text.words import fold

# feed:https://example.org/rss
_FEED_SCHEME = re.compile(r"feed:(?://)?(?=https?:)", re.IGNORECASE)
_FEED_HOST = re.compile(r"feed://", re.IGNORECASE)  # feed://example.org/rss means http
_BARE_HOST = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,63}(?::\d{1,5})?(?:[/?]\S*)?", re.IGNORECASE
)
_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """One source of a list; None for what the list does not state. `line` counts from
    1.
    """

    line: int
    url: str
    name: str | None = None
    agency: str | None = None
    type: str | None = None
    kind: str | None = None
    language: str | None = None
    timezone: str | None = None
    pace: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """A line that cannot be imported, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportRows:
    """The sources of a list in its order, and the lines that could not be read."""

    rows: tuple[ImportRow, ...]
    refused: tuple[Refusal, ...] = ()


def web_address(text: str) -> str | None:
    """Return the http(s) address of a text, also of `feed://...` and of a bare host;
    None if it is not an address.
    """
    address = _FEED_HOST.sub("http://", _FEED_SCHEME.sub("", text.strip()))
    if _BARE_HOST.fullmatch(address):
        address = f"https://{address}"
    if not address.lower().startswith("http"):
        return None
    if re.search(r"\s", address):
        return None
    if not canonical_url(address).startswith(("http://", "https://")):
        return None
    if host_of(address):
        return address
    return None


def same_source_key(url: str) -> str:
    """Return a key that is equal for http and https, with or without `www.`, and with
    or without a final slash.
    """
    path, separator, query = _SCHEME_AND_WWW.sub(
        "", canonical_url(url), count=1
    ).partition("?")
    return path.rstrip("/") + separator + query


# --- the plan -------------------------------------------------------------------------

_NO_KEY = re.compile(r"[^a-z0-9]+")
_MAX_KEY_CHARS = 40
_USUAL_END = re.compile(
    r"(?:/(?:feeds?|rss2?|atom|index|all)(?:\.(?:xml|rss|rdf|atom|json|php))?)+/?$",
    re.IGNORECASE,
)

_Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Additions:
    """What to add to a desk file: new agencies by key, and new sources of agencies that
    the desk has.
    """

    agencies: dict[str, _Plain]
    sources: dict[str, list[_Plain]]
    refused: tuple[Refusal, ...]

    @property
    def source_count(self) -> int:
        """How many sources are new."""
        of_new = sum(len(agency["sources"]) for agency in self.agencies.values())
        return of_new + sum(map(len, self.sources.values()))


def plan_import(
    rows: Iterable[ImportRow],
    desk: Desk | None,
    known: Sequence[Desk],
    kinds: Collection[str],
) -> Additions:
    """Return what the rows add to `desk`, or to a new desk if it is None; `known` are
    the other desks.

    A row is refused if its source is known, or if it is not valid in a desk file. The
    default kind is `feed`.
    """
    plan = _Plan(desk, known, kinds)
    for row in rows:
        plan.add(row)
    return Additions(plan.agencies, plan.sources, tuple(plan.refused))


class _Plan:
    """The additions so far; each row is compared with the desks and with earlier rows."""

    def __init__(
        self, desk: Desk | None, known: Sequence[Desk], kinds: Collection[str]
    ) -> None:
        self.agencies: dict[str, _Plain] = {}
        self.sources: dict[str, list[_Plain]] = {}
        self.refused: list[Refusal] = []
        self._kinds = kinds
        self._existing: dict[str, Agency] = {}
        self._keys: dict[tuple[str, str], str] = {}  # by name and host of an agency
        own = [desk] if desk else []
        for one in own:
            for agency in one.agencies:
                self._add_existing(agency)
        self._taken = {key.lower() for key in self._existing}
        # The keys of each slug, from the first one that was not tried yet.
        self._numbered: dict[str, Iterator[str]] = {}
        self._places = _places([*known, *own])

    def _add_existing(self, agency: Agency) -> None:
        self._existing[agency.key] = agency
        for source in agency.sources:
            self._keys[agency.name, _site(source.url)] = agency.key

    def add(self, row: ImportRow) -> None:
        mistakes = self._mistakes(row)
        if mistakes:
            for mistake in mistakes:
                self.refused.append(Refusal(row.line, mistake))
            return
        self._places[same_source_key(row.url)] = f"on line {row.line}"
        key = self._key_of(row)
        if key in self._existing:
            source = _source_of(row, self._existing[key])
            self.sources.setdefault(key, []).append(source)
        elif key in self.agencies:
            self.agencies[key]["sources"].append(_source_of(row, self.agencies[key]))
        else:
            self.agencies[key] = _agency_of(row)
            self._taken.add(key.lower())

    def _mistakes(self, row: ImportRow) -> list[str]:
        """Return why a row is refused: its source is known, or not valid."""
        place = self._places.get(same_source_key(row.url))
        if place is not None:
            return [f"{without_credentials(row.url)}: already {place}"]
        source = _source_of(row, {})
        try:
            SourceSpec.model_validate(source, context={"kinds": sorted(self._kinds)})
        except ValidationError as error:
            return list(map(explain, error.errors()))
        return []

    def _key_of(self, row: ImportRow) -> str:
        """Return the stated key, the key of the agency with this name and host, or an
        unused key.
        """
        if row.agency is not None:
            if AGENCY_KEY.fullmatch(row.agency):
                return row.agency
            return _slug(row.agency) or self._free_key(row)
        group = (_shown_name(row), _site(row.url))
        if group not in self._keys:
            self._keys[group] = self._free_key(row)
        return self._keys[group]

    def _free_key(self, row: ImportRow) -> str:
        slug = _slug(_shown_name(row)) or _slug(_site(row.url)) or "source"
        if slug not in self._numbered:
            numbered = map(f"{slug}-{{}}".format, count(2))
            self._numbered[slug] = chain([slug], numbered)
        return next(key for key in self._numbered[slug] if key not in self._taken)


def _places(desks: Iterable[Desk]) -> dict[str, str]:
    """Return where the desks have each source."""
    places: dict[str, str] = {}
    for desk in desks:
        for agency in desk.agencies:
            off = "" if agency.is_active else " (not active)"
            place = f"in desk {desk.key}, agency {agency.key}{off}"
            for source in agency.sources:
                places[same_source_key(source.url)] = place
    return places


def _slug(text: str) -> str:
    """Return an ASCII key, cut between words; empty if the text has no letters or
    digits after folding.
    """
    slug = _NO_KEY.sub("-", fold(text).lower()).strip("-")
    if len(slug) <= _MAX_KEY_CHARS:
        return slug
    return slug[: _MAX_KEY_CHARS + 1].rpartition("-")[0] or slug[:_MAX_KEY_CHARS]


def _site(url: str) -> str:
    return host_of(url).removeprefix("www.")


def _name_of(url: str) -> str:
    """Return a name for a source without one: its address without endings such as /feed
    or /rss.xml.
    """
    return _USUAL_END.sub("", same_source_key(url).partition("?")[0]) or url


def _shown_name(row: ImportRow) -> str:
    return row.name or _name_of(row.url)


def _agency_of(row: ImportRow) -> _Plain:
    stated = {"type": row.type, "timezone": row.timezone, "language": row.language}
    agency = {"name": row.name or row.agency or _name_of(row.url)} | _stated(stated)
    return agency | {"sources": [_source_of(row, agency)]}


def _source_of(row: ImportRow, agency: Agency | _Plain) -> _Plain:
    """Return the source as written in a desk file; time zone and language only if they
    differ from the agency's.
    """
    if isinstance(agency, Agency):
        agency = {"timezone": agency.timezone, "language": agency.language}
    own = {"timezone": row.timezone, "language": row.language}
    differing: dict[str, str | None] = {}
    for name in own:
        if own[name] != agency.get(name):
            differing[name] = own[name]
    source = {"kind": row.kind or "feed", "url": row.url}
    return source | _stated({"pace": row.pace} | differing)


def _stated(values: dict[str, str | None]) -> _Plain:
    return {name: value for name, value in values.items() if value is not None}


# --- the text of desk files -----------------------------------------------------------

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


def _block(value: dict[str, _Plain] | list[_Plain], column: int) -> str:
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
