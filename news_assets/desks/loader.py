"""Desk files in, desks out; every mistake of every file is reported at once, with its line and the fix.

What a desk file may hold is declared in `spec.py`. No adapter, no network and no lake belong here.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from news_assets.desks.spec import DESK_KEY, AgencySpec, DeskSpec, SourceSpec, close_to
from news_assets.errors import DeskFileError
from news_assets.records import Agency, Desk, Source

_BUILT_IN = Path(__file__).parent

Location = tuple[int | str, ...]


class _Loader(yaml.SafeLoader):
    """YAML 1.2's view of plain words: only true and false are booleans (agency `on` keeps its name); no dates."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|True|false|False"), list("tTfF"))


def built_in_desks() -> tuple[str, ...]:
    """Return the names of the desks that come with the package."""
    return tuple(sorted(path.stem for path in _BUILT_IN.glob("*.yaml")))


def load_desks(names: Sequence[str], kinds: Collection[str]) -> tuple[Desk, ...]:
    """Return the desks of these built-in names or paths, in order. `kinds` are the adapters there are.

    Raises:
        DeskFileError: All mistakes of all files, one `file:line: what; fix` each.
    """
    mistakes: list[str] = []
    desks: list[Desk] = []
    for name in names:
        try:
            desks.append(_load(_path_of(name), kinds))
        except DeskFileError as error:
            mistakes += error.mistakes
    keys = [desk.key for desk in desks]
    mistakes += [f"{key}: two desks have this name; rename one" for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if mistakes:
        raise DeskFileError(mistakes)
    return tuple(desks)


def _path_of(name: str) -> Path:
    built_in = _BUILT_IN / f"{name}.yaml"
    path = built_in if DESK_KEY.fullmatch(name) and built_in.exists() else Path(name)
    if not path.is_file():
        raise DeskFileError(
            [f"{name}: no such desk or file; built-in desks: {', '.join(built_in_desks())}; a path ends in .yaml"]
        )
    return path


def _load(path: Path, kinds: Collection[str]) -> Desk:
    root, data = _read_yaml(path)
    repeated = [f"{path}:{line}: `{key}` stands twice; keep one" for key, line in _repeated_keys(root)]
    try:
        spec = DeskSpec.model_validate(data, context={"kinds": sorted(kinds)})
    except ValidationError as error:
        found = sorted((_line_of(root, line["loc"]), _explain(line)) for line in error.errors())
        raise DeskFileError(repeated + [f"{path}:{line}: {text}" for line, text in found]) from error
    repeated += _repeated_sources(path, root, spec)
    if repeated:
        raise DeskFileError(repeated)
    return _desk_of(spec)


def _read_yaml(path: Path) -> tuple[yaml.Node, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=_Loader)
        data = yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError as error:
        raise DeskFileError([f"{path}:1: not UTF-8 text; save the file as UTF-8"]) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DeskFileError([f"{path}:{line}: not YAML: {error.problem}; mend the line or the one above"]) from error
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise DeskFileError([f"{path}:1: cannot be read: {error}; name a readable YAML file"]) from error
    if root is None or not isinstance(data, dict):
        raise DeskFileError([f"{path}:1: no desk in it; begin with `desk: name`"])
    return root, data


# --- mistakes and their lines ----------------------------------------------------------------------------------------


def _explain(error: Any) -> str:
    """Return `what; fix` for one of pydantic's findings."""
    name = next((str(part) for part in reversed(error["loc"]) if part != "[key]"), "file")
    where = ".".join(str(part) for part in error["loc"] if part != "[key]")
    match error["type"]:
        case "missing":
            return f"{where} is missing; add `{name}: ...`"
        case "extra_forbidden":
            known = {*DeskSpec.model_fields, *AgencySpec.model_fields, *SourceSpec.model_fields}
            return f"{where}: unknown key; {close_to(name, known - {name}, 'remove it')}"
        case "value_error":
            return f"{where}: {error['ctx']['error']}"
        case _:
            return f"{where}: {error['msg']}; change `{error['input']}`"


def _line_of(root: yaml.Node, location: Location) -> int:
    """Return the line of the deepest node on this path that the file has, counted from 1."""
    node, line = root, root.start_mark.line
    for part in location:
        child = _child_of(node, part)
        if child is None:
            break
        line, node = child
    return line + 1


def _child_of(node: yaml.Node, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        pairs = reversed(node.value)  # of two equal keys the last one counts
        return next(((key.start_mark.line, value) for key, value in pairs if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line, node.value[part]
    return None


def _repeated_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                yield str(key.value), key.start_mark.line + 1
            seen.add(str(key.value))
            yield from _repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _repeated_keys(value)


def _repeated_sources(path: Path, root: yaml.Node, spec: DeskSpec) -> list[str]:
    mistakes = []
    for key, agency in spec.agencies.items():
        urls = [source.url for source in agency.sources]
        for n, url in enumerate(urls):
            if url in urls[:n]:
                line = _line_of(root, ("agencies", key, "sources", n))
                mistakes.append(f"{path}:{line}: agencies.{key}.sources.{n}: the same url again; keep one")
    return mistakes


# --- from spec to desk -----------------------------------------------------------------------------------------------


def _desk_of(spec: DeskSpec) -> Desk:
    agencies = tuple(_agency_of(spec, key, agency) for key, agency in sorted(spec.agencies.items()))
    return Desk(
        key=spec.desk, timezone=spec.timezone, language=spec.language, first_day=spec.first_day, agencies=agencies
    )


def _agency_of(desk: DeskSpec, key: str, spec: AgencySpec) -> Agency:
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
            every_minutes=source.every_minutes,
        )
        for source in spec.sources
    )
    return Agency(
        key=key,
        name=spec.name,
        timezone=timezone,
        language=language,
        sources=sources,
        is_active=spec.active,
        reason=spec.reason,
        since=spec.since,
    )
