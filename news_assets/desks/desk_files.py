"""Loads desk files and reports every mistake of every file at once, each with its line
and fix.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from news_assets.desks.desk_spec import (
    DESK_KEY,
    AgencySpec,
    DepthSpec,
    DeskSpec,
    EnrichSpec,
    FiltersSpec,
    SourceSpec,
    suggestion,
)
from news_assets.desks.source_options import (
    PageRuleSpec,
    SelectorsSpec,
    VendorSpec,
    access_of,
)
from news_assets.desks.yaml_nodes import (
    Location,
    YamlLimitError,
    compose,
    construct,
    line_of,
    quoted,
    read_bytes,
    repeated_keys,
)
from news_assets.errors import MAX_MISTAKES, DeskFileError
from news_assets.records.desks import USUAL_CAPS, Agency, Caps, Desk, Source
from news_assets.sources.civic import CIVIC_LIMITS
from news_assets.taxonomy import BUILT_IN, CIVIC_TOPICS

_Mistake = tuple[Location, str]  # where it is in the file, and what is wrong

_BUILT_IN = Path(__file__).parent
_SPECS = (
    DeskSpec,
    AgencySpec,
    SourceSpec,
    SelectorsSpec,
    PageRuleSpec,
    VendorSpec,
    EnrichSpec,
    DepthSpec,
    FiltersSpec,
)


def built_in_desks() -> tuple[str, ...]:
    """Return the names of the built-in desks."""
    return tuple(sorted(path.stem for path in _BUILT_IN.glob("*.yaml")))


def load_desks(
    names: Sequence[str], kinds: Collection[str], caps: Caps = USUAL_CAPS
) -> tuple[Desk, ...]:
    """Return the desks of these built-in names or paths, in order. `kinds` are the
    known kinds of source.

    Raises:
        DeskFileError: All mistakes of all files, one `file:line: what; fix` each.
    """
    mistakes: list[str] = []
    desks: list[Desk] = []
    for name in names:
        try:
            path = path_of(name)
            desks.append(replace(parse_desk(read_text(path), path, kinds), caps=caps))
        except DeskFileError as error:
            mistakes += error.mistakes
    for key, count in Counter(desk.key for desk in desks).items():
        if count > 1:
            mistakes.append(f"{key}: two desks have this key; rename one")
    if mistakes:
        raise DeskFileError(mistakes)
    return with_neighbours(desks)


def with_neighbours(desks: Sequence[Desk]) -> tuple[Desk, ...]:
    """Return the desks, each with the agencies of the others: an address belongs to one
    agency among all desks.
    """
    found = []
    for desk in desks:
        neighbours: list[tuple[str, Agency]] = []
        for other in desks:
            if other.key != desk.key:
                neighbours += zip(repeat(other.key), other.agencies)
        found.append(replace(desk, neighbours=tuple(neighbours)))
    return tuple(found)


def path_of(name: str) -> Path:
    """Return the path of a built-in desk or of a desk file.

    Raises:
        DeskFileError: There is no such file.
    """
    built_in = _BUILT_IN / f"{name}.yaml"
    if DESK_KEY.fullmatch(name) and built_in.exists():
        return built_in
    path = Path(name)
    if path.is_file():
        return path
    known = ", ".join(built_in_desks())
    raise DeskFileError(
        [f"{name}: no such desk or file; built-in desks: {known}; a path ends in .yaml"]
    )


def parse_desk(text: str, path: Path, kinds: Collection[str]) -> Desk:
    """Return the desk described by a file's text; `path` is that of the file, where
    other paths in it begin.

    Raises:
        DeskFileError: All its mistakes, one `file:line: what; fix` each.
    """
    root = compose(text, path)
    mistakes: list[str] = []
    for key, line in repeated_keys(root):
        mistakes.append(f"{path}:{line}: `{key}` is repeated; keep one")
    try:
        spec = DeskSpec.model_validate(
            construct(root, path), context={"kinds": sorted(kinds)}
        )
    except ValidationError as error:
        errors = error.errors()[: MAX_MISTAKES + 1]
        found = [(line["loc"], explain(line)) for line in errors]
        raise DeskFileError(mistakes + _with_lines(found, root, path)) from error
    taxonomy = _taxonomy_file(spec, path)
    names = path.parent / spec.names if spec.names else None
    wrong = islice(_wrong_references(spec, taxonomy, names), MAX_MISTAKES + 1)
    mistakes += _with_lines(wrong, root, path)
    if mistakes:
        raise DeskFileError(mistakes)
    return _desk_of(spec, taxonomy, names)


def _wrong_references(
    spec: DeskSpec, taxonomy: Path | None, names: Path | None
) -> Iterator[_Mistake]:
    """Yield what of a valid file does not fit together."""
    yield from _repeated_sources(spec)
    yield from _unknown_parents(spec)
    yield from _wrong_city_keys(spec)
    yield from _missing_file(spec, taxonomy)
    if names is not None and not names.is_file():
        yield ("names",), f"names: no file {names}; write the path of a CSV file"


def _with_lines(found: Iterable[_Mistake], root: Any, path: Path) -> list[str]:
    """Return mistakes with the lines that they are in, in the order of the lines."""
    numbered = []
    for at, what in found:
        numbered.append((line_of(root, at), what))
    return [f"{path}:{line}: {what}" for line, what in sorted(numbered)]


def read_text(path: Path) -> str:
    """Return a desk file's text. Raises DeskFileError."""
    try:
        return read_bytes(path).decode("utf-8")  # keeps line ends
    except YamlLimitError as error:
        raise DeskFileError([f"{path}:1: {error.problem}"]) from error
    except UnicodeDecodeError as error:
        raise DeskFileError(
            [f"{path}:1: not UTF-8 text; save the file as UTF-8"]
        ) from error
    except OSError as error:
        raise DeskFileError(
            [f"{path}:1: cannot be read: {error}; give a readable YAML file"]
        ) from error


# --- mistakes and their lines ---------------------------------------------------------


def explain(error: Any) -> str:
    """Return `what; fix` for one of pydantic's errors on a desk file or a part of one."""
    names: list[str] = []
    for part in error["loc"]:
        if part != "[key]":
            names.append(str(part))
    name = names[-1] if names else "file"
    where = ".".join(names)
    match error["type"]:
        case "missing":
            return f"{where} is missing; add `{name}: ...`"
        case "extra_forbidden":
            known = _known_keys() - {name}
            return f"{where}: unknown key; {suggestion(name, known, 'remove it')}"
        case "value_error":
            return f"{where}: {error['ctx']['error']}"
        case _:
            return f"{where}: {error['msg']}; change {quoted(str(error['input']))}"


def _known_keys() -> set[str]:
    known: set[str] = set()
    for spec in _SPECS:
        known.update(spec.model_fields)
    return known


def _repeated_sources(spec: DeskSpec) -> Iterator[_Mistake]:
    for key, agency in spec.agencies.items():
        seen: set[str] = set()
        for n, source in enumerate(agency.sources):
            if source.url in seen:
                what = f"agencies.{key}.sources.{n}: this url is repeated; keep one"
                yield ("agencies", key, "sources", n), what
            seen.add(source.url)


def _unknown_parents(spec: DeskSpec) -> Iterator[_Mistake]:
    for key, agency in spec.agencies.items():
        known = {*spec.agencies, *spec.outside} - {key}
        if agency.parent is None:
            continue
        if agency.parent in known:
            continue
        hint = suggestion(agency.parent, known, "declare it under `outside`")
        what = f"agencies.{key}.parent: no agency `{agency.parent}`; {hint}"
        yield ("agencies", key, "parent"), what


def _wrong_city_keys(spec: DeskSpec) -> Iterator[_Mistake]:
    """Yield a mistake for each agency with civic sources whose key names no city,
    unless the desk has other keys.
    """
    if not spec.city_keys:
        return
    for key, agency in spec.agencies.items():
        kinds = {source.kind for source in agency.sources}
        if kinds.isdisjoint(CIVIC_LIMITS):
            continue
        try:
            city_key(key)
        except DeskFileError as error:
            what = f"agencies.{key}: {error.mistakes[0]}; or set `city_keys: false`"
            yield ("agencies", key), what


def _taxonomy_file(spec: DeskSpec, path: Path) -> Path | None:
    if spec.taxonomy is None:
        return None
    for file in (BUILT_IN, CIVIC_TOPICS):
        if file.stem == spec.taxonomy:
            return file
    return path.parent / spec.taxonomy


def _missing_file(spec: DeskSpec, taxonomy: Path | None) -> Iterator[_Mistake]:
    if taxonomy is None:
        return
    if taxonomy.is_file():
        return
    what = (
        f"taxonomy: no file {taxonomy}; write {BUILT_IN.stem} or {CIVIC_TOPICS.stem}, or the path"
        " of a YAML file"
    )
    yield ("taxonomy",), what


# --- from spec to desk ----------------------------------------------------------------


def _desk_of(spec: DeskSpec, taxonomy: Path | None, names: Path | None) -> Desk:
    agencies = []
    for place, (key, agency) in enumerate(spec.agencies.items()):
        agencies.append(_agency_of(spec, key, agency, place))
    agencies.sort(key=lambda one: one.key)
    return Desk(
        key=spec.desk,
        timezone=spec.timezone,
        language=spec.language,
        first_day=spec.first_day,
        agencies=tuple(agencies),
        enrich=spec.enrich.rules(),
        filters=spec.filters.filters(),
        taxonomy=taxonomy,
        names=names,
        contacts=spec.contacts,
    )


def _agency_of(desk: DeskSpec, key: str, spec: AgencySpec, place: int) -> Agency:
    sources = [_source_of(desk, key, spec, source) for source in spec.sources]
    return Agency(
        key=key,
        name=spec.name,
        timezone=spec.timezone or desk.timezone,
        language=spec.language or desk.language,
        sources=tuple(sources),
        type=spec.type,
        parent=spec.parent,
        is_active=spec.active,
        reason=spec.reason,
        since=spec.since,
        page_rules=tuple(rule.rule() for rule in spec.pages),
        hosts=spec.hosts,
        place=place,
    )


def _source_of(
    desk: DeskSpec, key: str, agency: AgencySpec, spec: SourceSpec
) -> Source:
    """Return a source; what it does not state is its agency's, else the desk's."""
    levels = (spec, agency, desk)
    url_hash = hashlib.sha256(spec.url.encode()).hexdigest()[:8]
    is_civic = spec.kind in CIVIC_LIMITS
    return Source(
        source_id=f"{desk.desk}/{key}/{spec.kind}-{url_hash}",
        desk=desk.desk,
        agency=key,
        kind=spec.kind,
        url=spec.url,
        timezone=_nearest(levels, "timezone"),
        language=_nearest(levels, "language"),
        **_interval(*levels),
        pace=_nearest(levels, "pace"),
        access=access_of(spec, spec.url, spec.kind, desk.vendors),
        selectors=spec.selectors.selectors() if spec.selectors else None,
        is_civic=is_civic,
        checks_documents=is_civic and _nearest(levels, "hash") == "metadata",
    )


def _nearest(levels: Iterable[SourceSpec | AgencySpec | DeskSpec], name: str) -> Any:
    """Return the value of the first level that states one; None if none does."""
    for level in levels:
        value = getattr(level, name)
        if value:
            return value
    return None


def _interval(*levels: SourceSpec | AgencySpec | DeskSpec) -> dict[str, int | None]:
    """Return what the nearest level says about the interval: a source that states a
    ceiling has no fixed interval.
    """
    stated: dict[str, int | None] = {}
    for level in levels:
        stated = {
            "every_minutes": level.every_minutes,
            "max_minutes": level.max_minutes,
        }
        if any(stated.values()):
            break
    return stated


# --- keys of cities -------------------------------------------------------------------

_STATES: Final = frozenset(
    [
        "AL",
        "AK",
        "AZ",
        "AR",
        "CA",
        "CO",
        "CT",
        "DE",
        "FL",
        "GA",
        "HI",
        "ID",
        "IL",
        "IN",
        "IA",
        "KS",
        "KY",
        "LA",
        "ME",
        "MD",
        "MA",
        "MI",
        "MN",
        "MS",
        "MO",
        "MT",
        "NE",
        "NV",
        "NH",
        "NJ",
        "NM",
        "NY",
        "NC",
        "ND",
        "OH",
        "OK",
        "OR",
        "PA",
        "RI",
        "SC",
        "SD",
        "TN",
        "TX",
        "UT",
        "VT",
        "VA",
        "WA",
        "WV",
        "WI",
        "WY",
        "DC",
        "PR",
        "GU",
        "VI",
        "AS",
        "MP",
        "AB",
        "BC",
        "MB",
        "NB",
        "NL",
        "NS",
        "NT",
        "NU",
        "ON",
        "PE",
        "QC",
        "SK",
        "YT",
    ]
)
_EXAMPLE: Final = "paloaltoCA"
_KEY = re.compile(r"(?P<name>[a-z0-9]{2,60})(?P<state>[A-Z]{2})")


@dataclass(frozen=True, slots=True)
class CityKey:
    """A city: its name in lower-case letters without spaces, and the two letters of its
    state or province.
    """

    name: str
    state: str


def city_key(text: str) -> CityKey:
    """Return the parts of a key. Raises DeskFileError, which names the mistake and the
    right spelling.
    """
    match = _KEY.fullmatch(text)
    if match and match["state"] in _STATES:
        return CityKey(match["name"], match["state"])
    raise DeskFileError([f"{text[:80]!r} is not the key of a city: {_mistake(text)}"])


def _mistake(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    letters = re.sub(r"[^A-Za-z0-9]", "", plain)
    name = letters[:-2].lower()
    state = letters[-2:].upper()
    if len(letters) < 4:
        return f"a name and two letters of a state, such as {_EXAMPLE}"
    if state not in _STATES:
        return f"it ends in no state or province; write {_EXAMPLE}"
    if odd := sorted(set(text) - set(letters)):
        return f"{' '.join(map(repr, odd))} cannot be in it; write {name}{state}"
    if letters[-2:] != state:
        return f"no state in capitals; write {name}{state} if {state} is the state, else add it"
    return f"the name is in lower case; write {name}{state}"
