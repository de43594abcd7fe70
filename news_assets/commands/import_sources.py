"""The command `import`: sources from a list into a desk file."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from news_assets.commands.opening import desks_with_key
from news_assets.commands.terminal import documents, report
from news_assets.desks.desk_files import load_desks, parse_desk, path_of, read_text
from news_assets.desks.desk_spec import DESK_KEY
from news_assets.desks.import_plan import (
    Additions,
    ImportRows,
    extended_text,
    new_desk_text,
    plan_import,
    replace_file,
)
from news_assets.desks.site_lists import parse_source_file
from news_assets.errors import NewsAssetsError
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS

MAX_LIST_BYTES = 10_000_000  # a list of 50,000 feeds


@dataclass(frozen=True, slots=True)
class _Defaults:
    """Time zone and language of a new desk file, and the kind of sources whose list
    states none.
    """

    timezone: str
    language: str
    kind: str


_File = Annotated[
    Path, typer.Argument(help="OPML, CSV with a column `url`, or an address a line")
]
_Desk = Annotated[str | None, typer.Option(help="key of the desk")]
_Into = Annotated[
    Path | None,
    typer.Option(help="desk file to write or extend; default: write nothing"),
]
_DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="show what would change, and write nothing"),
]
_Timezone = Annotated[str, typer.Option(help="time zone of a new desk")]
_Language = Annotated[str, typer.Option(help="language of a new desk")]
_Kind = Annotated[str, typer.Option(help="kind of sources whose line has none")]


def import_sources(
    file: _File,
    desk: _Desk = None,
    into: _Into = None,
    dry_run: _DryRun = False,
    timezone: _Timezone = "UTC",
    language: _Language = "en",
    kind: _Kind = "feed",
) -> None:
    """Add the new sources of a list to a desk file; refused lines are reported on
    standard error.

    Without `into` nothing is written: the result is printed, for the desk with the key
    `desk` if there is one.
    """
    if into is None:
        into = _file_of(desk)
        dry_run = True
    _import(file, desk, into, _Defaults(timezone, language, kind), dry_run=dry_run)


def _import(
    file: Path,
    desk_key: str | None,
    into: Path | None,
    defaults: _Defaults,
    *,
    dry_run: bool,
) -> None:
    imported = _read(file)
    desks = _known_desks(into)
    old = read_text(into) if into and into.is_file() else ""
    desk = parse_desk(old, into, ALL_KINDS) if into and old else None
    if desk and desk_key not in (None, desk.key):
        raise NewsAssetsError(
            f"{into} is desk `{desk.key}`, not `{desk_key}`; leave --desk out or name another file"
        )
    others = list(desks)
    if desk:
        others = [one for one in desks if one.key != desk.key]
    rows = []
    for row in imported.rows:
        rows.append(row if row.kind else replace(row, kind=defaults.kind))
    additions = plan_import(rows, desk, others, ALL_KINDS)
    new = old
    if additions.source_count and desk and into:
        new = extended_text(old, into, additions, ALL_KINDS)
    elif additions.source_count:
        new = _new_text(_new_key(desk_key, into or file, others), defaults, additions)
    _report(file, imported, additions)
    _finish(into, old, new, dry_run=dry_run)


def _report(file: Path, imported: ImportRows, additions: Additions) -> None:
    refused = sorted((*imported.refused, *additions.refused))
    for refusal in refused:
        report(f"{file}:{refusal.line}: {refusal.reason}")
    grown = len(additions.agencies) + len(additions.sources)
    report(
        f"{additions.source_count} new source(s) in {grown} agencies, {len(refused)} line(s)"
        " refused"
    )


def _read(file: Path) -> ImportRows:
    try:
        if file.stat().st_size > MAX_LIST_BYTES:
            raise NewsAssetsError(
                f"{file} is larger than {MAX_LIST_BYTES // 1_000_000} MB: not a list of sources"
            )
        return parse_source_file(file.read_bytes())
    except OSError as error:
        raise NewsAssetsError(f"{file} cannot be read: {error.strerror}") from error


def _file_of(desk_key: str | None) -> Path | None:
    """Return the file of the configured desk with this key; None if there is none."""
    if desk_key is None:
        return None
    for name in Settings.read().desks:
        [desk] = load_desks([name], ALL_KINDS)
        if desk.key == desk_key:
            return path_of(name)
    return None


def _known_desks(into: Path | None) -> tuple[Desk, ...]:
    """Return the configured desks, without the one to be written if its file does not
    exist yet.
    """
    names = Settings.read().desks
    if into is not None and not into.exists():
        names = tuple(name for name in names if Path(name) != into)
    return load_desks(names, ALL_KINDS)


def _new_key(desk_key: str | None, named_by: Path, others: Iterable[Desk]) -> str:
    key = desk_key or named_by.stem.lower().replace("-", "_")
    if not DESK_KEY.fullmatch(key):
        raise NewsAssetsError(
            f"`{key}` is not a desk key; use --desk with lower-case letters, digits and _"
        )
    if desks_with_key(others, key):
        raise NewsAssetsError(
            f"desk `{key}` exists; give its file with --into, or another --desk"
        )
    return key


def _new_text(key: str, defaults: _Defaults, additions: Additions) -> str:
    first_day = date(datetime.now(UTC).year, 1, 1)
    text = new_desk_text(
        key, defaults.timezone, defaults.language, first_day, additions
    )
    parse_desk(text, Path(f"{key}.yaml"), ALL_KINDS)
    return text


def _finish(into: Path | None, old: str, new: str, *, dry_run: bool) -> None:
    if into is None:
        documents.write(new)
        report("nothing written; give a file with --into")
    elif dry_run:
        documents.write("".join(_difference(into, old, new)))
        report("nothing written")
    elif new == old:
        report(f"{into} is unchanged")
    else:
        replace_file(into, new)
        is_read = any(path_of(name).samefile(into) for name in Settings.read().desks)
        advice = f"; add it to the configured desks: NEWS_DESKS=...,{into}"
        report(f"{into} written{'' if is_read else advice}")


def _difference(path: Path, old: str, new: str) -> Iterable[str]:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), str(path), str(path), n=1, lineterm=""
    )
    return map("{}\n".format, lines)
