"""The commands `import` and `export --opml`: sources from a list into a desk file, and
feeds as OPML.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from news_assets.desks.desk_files import load_desks, parse_desk, path_of, read_text
from news_assets.desks.desk_spec import DESK_KEY
from news_assets.desks.import_plan import Additions, plan_import
from news_assets.desks.import_rows import ImportRows
from news_assets.desks.opml import build_opml, is_feed
from news_assets.desks.site_list import parse_source_file
from news_assets.desks.yaml_edit import extended_text, new_desk_text, replace_file
from news_assets.errors import NewsAssetsError
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.terminal import documents, report, write_document

MAX_LIST_BYTES = 10_000_000  # a list of 50,000 feeds


@dataclass(frozen=True, slots=True)
class Defaults:
    """Time zone and language of a new desk file, and the kind of sources whose list
    states none.
    """

    timezone: str
    language: str
    kind: str


def import_sources(
    file: Path,
    desk_key: str | None,
    into: Path | None,
    defaults: Defaults,
    *,
    dry_run: bool,
) -> None:
    """Add the new sources of a list to a desk file; refused lines are reported on
    standard error.

    Without `into` nothing is written: the result is printed, for the desk of the key
    `desk_key` if there is one.
    """
    imported = _read(file)
    into, dry_run = (into, dry_run) if into else (_file_of(desk_key), True)
    desks = _known_desks(into)
    old = read_text(into) if into and into.is_file() else ""
    desk = parse_desk(old, into, ALL_KINDS) if into and old else None
    if desk and desk_key not in (None, desk.key):
        raise NewsAssetsError(
            f"{into} is desk `{desk.key}`, not `{desk_key}`; leave --desk out or name another file"
        )
    others = [one for one in desks if desk is None or one.key != desk.key]
    rows = (replace(row, kind=row.kind or defaults.kind) for row in imported.rows)
    additions = plan_import(rows, desk, others, ALL_KINDS)
    new = old
    if additions.source_count and desk and into:
        new = extended_text(old, into, additions, ALL_KINDS)
    elif additions.source_count:
        new = _new_text(_new_key(desk_key, into or file, others), defaults, additions)
    refused = sorted((*imported.refused, *additions.refused))
    for refusal in refused:
        report(f"{file}:{refusal.line}: {refusal.reason}")
    grown = len(additions.agencies) + len(additions.sources)
    report(
        f"{additions.source_count} new source(s) in {grown} agencies, {len(refused)} line(s)"
        " refused"
    )
    _finish(into, old, new, dry_run=dry_run)


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
    names = Settings.read().desks if desk_key else ()
    return next(
        (
            path_of(name)
            for name in names
            if load_desks([name], ALL_KINDS)[0].key == desk_key
        ),
        None,
    )


def _known_desks(into: Path | None) -> tuple[Desk, ...]:
    """Return the configured desks, without the one to be written if its file does not
    exist yet.
    """
    names = [
        name
        for name in Settings.read().desks
        if not (into and not into.exists() and Path(name) == into)
    ]
    return load_desks(names, ALL_KINDS)


def _new_key(desk_key: str | None, named_by: Path, others: Iterable[Desk]) -> str:
    key = desk_key or named_by.stem.lower().replace("-", "_")
    if not DESK_KEY.fullmatch(key):
        raise NewsAssetsError(
            f"`{key}` is not a desk key; use --desk with lower-case letters, digits and _"
        )
    if any(key == desk.key for desk in others):
        raise NewsAssetsError(
            f"desk `{key}` exists; give its file with --into, or another --desk"
        )
    return key


def _new_text(key: str, defaults: Defaults, additions: Additions) -> str:
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
        report(
            f"{into} written"
            + (
                ""
                if is_read
                else f"; add it to the configured desks: NEWS_DESKS=...,{into}"
            )
        )


def _difference(path: Path, old: str, new: str) -> Iterable[str]:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), str(path), str(path), n=1, lineterm=""
    )
    return (f"{line}\n" for line in lines)


# --- export ---------------------------------------------------------------------------


def export_opml(desk_key: str | None, output: Path | None) -> None:
    """Write the feeds of the desks as OPML; sources that are not feeds are counted on
    standard error.
    """
    desks = load_desks(Settings.read().desks, ALL_KINDS)
    chosen = [desk for desk in desks if desk_key in (None, desk.key)]
    if not chosen:
        raise NewsAssetsError(
            f"no desk `{desk_key}`; known: {', '.join(desk.key for desk in desks)}"
        )
    _count_left_out(chosen)
    document = build_opml(chosen, datetime.now(UTC))
    write_document(document, output)


def _count_left_out(desks: Iterable[Desk]) -> None:
    for desk in desks:
        no_feeds = [source for source in desk.sources if not is_feed(source)]
        if no_feeds:
            kinds = ", ".join(sorted({source.kind for source in no_feeds}))
            report(
                f"desk {desk.key}: {len(no_feeds)} source(s) left out: not feeds ({kinds})"
            )
        off = sum(not agency.is_active for agency in desk.agencies)
        if off:
            report(f"desk {desk.key}: {off} agencies left out: not active")
