"""Loads desk files and reports every mistake of every file at once, each with its line
and fix.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from news_assets.desks.city_keys import city_key
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
from news_assets.desks.import_rows import quoted
from news_assets.desks.source_options import (
    PageRuleSpec,
    SelectorsSpec,
    VendorSpec,
    access_of,
)
from news_assets.desks.yaml_nodes import (
    Location,
    compose,
    construct,
    line_of,
    repeated_keys,
)
from news_assets.errors import MAX_MISTAKES, DeskFileError
from news_assets.records.desks import USUAL_CAPS, Agency, Caps, Desk, Source
from news_assets.sources.civic.vendor_limits import CIVIC_LIMITS
from news_assets.taxonomy.taxonomy_files import BUILT_IN, CIVIC_TOPICS
from news_assets.text import bounded_yaml
from news_assets.text.bounded_yaml import YamlLimitError

_BUILT_IN = Path(__file__).parent


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
    keys = [desk.key for desk in desks]
    mistakes += [
        f"{key}: two desks have this key; rename one"
        for key in dict.fromkeys(keys)
        if keys.count(key) > 1
    ]
    if mistakes:
        raise DeskFileError(mistakes)
    return with_neighbours(desks)


def with_neighbours(desks: Sequence[Desk]) -> tuple[Desk, ...]:
    """Return the desks, each with the agencies of the others: an address belongs to one
    agency among all desks.
    """
    agencies = [(desk.key, agency) for desk in desks for agency in desk.agencies]
    return tuple(
        replace(desk, neighbours=tuple(one for one in agencies if one[0] != desk.key))
        for desk in desks
    )


def path_of(name: str) -> Path:
    """Return the path of a built-in desk or of a desk file. Raises DeskFileError if
    there is no such file.
    """
    built_in = _BUILT_IN / f"{name}.yaml"
    path = built_in if DESK_KEY.fullmatch(name) and built_in.exists() else Path(name)
    if not path.is_file():
        raise DeskFileError(
            [
                f"{name}: no such desk or file; built-in desks: {', '.join(built_in_desks())}; a"
                " path ends in .yaml"
            ]
        )
    return path


def parse_desk(text: str, path: Path, kinds: Collection[str]) -> Desk:
    """Return the desk described by a file's text; `path` is that of the file, where
    other paths in it begin.

    Raises:
        DeskFileError: All its mistakes, one `file:line: what; fix` each.
    """
    root = compose(text, path)
    mistakes = [
        f"{path}:{line}: `{key}` is repeated; keep one"
        for key, line in repeated_keys(root)
    ]
    try:
        spec = DeskSpec.model_validate(
            construct(root, path), context={"kinds": sorted(kinds)}
        )
    except ValidationError as error:
        found = sorted(
            (line_of(root, line["loc"]), explain(line))
            for line in error.errors()[: MAX_MISTAKES + 1]
        )
        raise DeskFileError(
            mistakes + [f"{path}:{line}: {what}" for line, what in found]
        ) from error
    taxonomy = _taxonomy_file(spec, path)
    found_wrong = chain(
        _repeated_sources(spec),
        _unknown_parents(spec),
        _wrong_city_keys(spec),
        _missing_file(spec, taxonomy),
    )
    wrong = islice(found_wrong, MAX_MISTAKES + 1)
    mistakes += [
        f"{path}:{line}: {what}"
        for line, what in sorted((line_of(root, at), what) for at, what in wrong)
    ]
    if mistakes:
        raise DeskFileError(mistakes)
    return _desk_of(spec, taxonomy)


def read_text(path: Path) -> str:
    """Return a desk file's text. Raises DeskFileError."""
    try:
        return bounded_yaml.read_bytes(path).decode("utf-8")  # keeps line ends
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
    name = next(
        (str(part) for part in reversed(error["loc"]) if part != "[key]"), "file"
    )
    where = ".".join(str(part) for part in error["loc"] if part != "[key]")
    match error["type"]:
        case "missing":
            return f"{where} is missing; add `{name}: ...`"
        case "extra_forbidden":
            specs = (
                *(
                    DeskSpec,
                    AgencySpec,
                    SourceSpec,
                    SelectorsSpec,
                    PageRuleSpec,
                    VendorSpec,
                ),
                *(EnrichSpec, DepthSpec, FiltersSpec),
            )
            known = {key for spec in specs for key in spec.model_fields}
            return (
                f"{where}: unknown key; {suggestion(name, known - {name}, 'remove it')}"
            )
        case "value_error":
            return f"{where}: {error['ctx']['error']}"
        case _:
            return f"{where}: {error['msg']}; change {quoted(str(error['input']))}"


def _repeated_sources(spec: DeskSpec) -> Iterator[tuple[Location, str]]:
    for key, agency in spec.agencies.items():
        seen: set[str] = set()
        for n, source in enumerate(agency.sources):
            if source.url in seen:
                yield (
                    (
                        "agencies",
                        key,
                        "sources",
                        n,
                    ),
                    f"agencies.{key}.sources.{n}: this url is repeated; keep one",
                )
            seen.add(source.url)


def _unknown_parents(spec: DeskSpec) -> Iterator[tuple[Location, str]]:
    known = {*spec.agencies, *spec.outside}
    for key, agency in spec.agencies.items():
        if agency.parent is not None and agency.parent not in known - {key}:
            hint = suggestion(
                agency.parent, known - {key}, "declare it under `outside`"
            )
            yield (
                (
                    "agencies",
                    key,
                    "parent",
                ),
                f"agencies.{key}.parent: no agency `{agency.parent}`; {hint}",
            )


def _wrong_city_keys(spec: DeskSpec) -> Iterator[tuple[Location, str]]:
    """Yield the keys of agencies with civic sources that are not those of a city,
    unless the desk has other keys.
    """
    for key, agency in spec.agencies.items():
        if spec.city_keys and any(
            source.kind in CIVIC_LIMITS for source in agency.sources
        ):
            try:
                city_key(key)
            except DeskFileError as error:
                yield (
                    (
                        "agencies",
                        key,
                    ),
                    f"agencies.{key}: {error.mistakes[0]}; or set `city_keys: false`",
                )


def _taxonomy_file(spec: DeskSpec, path: Path) -> Path | None:
    if spec.taxonomy is None:
        return None
    built_in = {file.stem: file for file in (BUILT_IN, CIVIC_TOPICS)}
    return built_in.get(spec.taxonomy) or path.parent / spec.taxonomy


def _missing_file(
    spec: DeskSpec, taxonomy: Path | None
) -> Iterator[tuple[Location, str]]:
    if taxonomy is not None and not taxonomy.is_file():
        names = " or ".join(file.stem for file in (BUILT_IN, CIVIC_TOPICS))
        yield (
            ("taxonomy",),
            f"taxonomy: no file {taxonomy}; write {names}, or the path of a YAML file",
        )


# --- from spec to desk ----------------------------------------------------------------


def _desk_of(spec: DeskSpec, taxonomy: Path | None) -> Desk:
    places = {key: place for place, key in enumerate(spec.agencies)}
    agencies = tuple(
        _agency_of(spec, key, agency, places[key])
        for key, agency in sorted(spec.agencies.items())
    )
    return Desk(
        key=spec.desk,
        timezone=spec.timezone,
        language=spec.language,
        first_day=spec.first_day,
        agencies=agencies,
        enrich=spec.enrich.rules(),
        filters=spec.filters.filters(),
        taxonomy=taxonomy,
    )


def _agency_of(desk: DeskSpec, key: str, spec: AgencySpec, place: int) -> Agency:
    timezone, language = spec.timezone or desk.timezone, spec.language or desk.language
    sources = tuple(
        Source(
            source_id=f"{desk.desk}/{key}/{source.kind}-{hashlib.sha256(source.url.encode()).hexdigest()[:8]}",
            desk=desk.desk,
            agency=key,
            kind=source.kind,
            url=source.url,
            timezone=source.timezone or timezone,
            language=source.language or language,
            **_interval(source, spec, desk),
            pace=source.pace or spec.pace or desk.pace,
            access=access_of(source, source.url, source.kind, desk.vendors),
            selectors=source.selectors.selectors() if source.selectors else None,
            is_civic=source.kind in CIVIC_LIMITS,
            checks_documents=source.kind in CIVIC_LIMITS
            and (source.hash or spec.hash or desk.hash) == "metadata",
        )
        for source in spec.sources
    )
    return Agency(
        key=key,
        name=spec.name,
        timezone=timezone,
        language=language,
        sources=sources,
        type=spec.type,
        parent=spec.parent,
        is_active=spec.active,
        reason=spec.reason,
        since=spec.since,
        page_rules=tuple(rule.rule() for rule in spec.pages),
        hosts=spec.hosts,
        place=place,
    )


def _interval(*levels: SourceSpec | AgencySpec | DeskSpec) -> dict[str, int | None]:
    """Return what the nearest level says about the interval: a source that states a
    ceiling has no fixed interval.
    """
    nearest = next(
        (one for one in levels if one.every_minutes or one.max_minutes), levels[-1]
    )
    return {"every_minutes": nearest.every_minutes, "max_minutes": nearest.max_minutes}
