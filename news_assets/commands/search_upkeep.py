"""The commands `rebuild search`, `search-key` and `search-fields`.

A new index is built from the lake beside the one in use, then swapped in. Searches use the
old index until the new one has exactly the documents that the lake expects. Articles that
change meanwhile are sent before and after the swap.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import starmap
from time import perf_counter
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from news_assets.clients.factory import (
    EMBEDDED,
    MOST_EMBEDDED,
    connect_typesense,
    open_index,
    open_rebuild,
)
from news_assets.clients.sandbox import ProcessSandbox
from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.terminal import Json, Terminal, day_of, write_line
from news_assets.desks.desk_files import load_desks
from news_assets.errors import IndexingError, NewsAssetsError
from news_assets.folders import private_folder
from news_assets.pipeline.reindex import (
    DeskDocuments,
    IndexRebuild,
    WritableIndex,
    store_receipts,
    sync_desk,
)
from news_assets.ports.services import Sandbox
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import expected_documents

# --- rebuild --------------------------------------------------------------------------

_MAX_ROUNDS = 5  # each is far shorter than the one before
# a round that sends no more is the last; later changes are sent after the swap
_FEW_DOCUMENTS = 200

_MODELS = "SELECT DISTINCT model, dim FROM article_embeddings WHERE outcome = 'ok' ORDER BY ALL"
_HELP = (
    "Rebuild the search index from the lake beside the one in use; an interrupted rebuild is"
    " continued."
)
_DESKS = "SELECT DISTINCT desk FROM raw_articles ORDER BY 1"


app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _rebuilds() -> None:
    """Keep `search` a subcommand: without a callback typer merges the only command of a
    group into the group.
    """


_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="show what would be done, and do nothing")
]


@app.command("search", help=_HELP)
def rebuild_search(
    dry_run: _DryRun = False,
) -> None:
    """Rebuild the index that NEWS_SEARCH names, or print what a rebuild would do."""
    settings = Settings.read()
    with open_lake() as lake:
        model, dim = _model(lake)
        desks = _desks(lake, settings)
        if dry_run:
            _print(*_dry_run(lake, settings, desks, model, dim))
            return
        with _rebuild_lock(settings), ProcessSandbox() as sandbox:
            _rebuild(lake, settings, sandbox, desks, model, dim)


def _model(lake: Lake) -> tuple[str | None, int | None]:
    """Return model and dimensions of the lake's vectors. Raises NewsAssetsError if
    there are several models.
    """
    found = lake.query(_MODELS).rows()
    if len(found) > 1:
        names = ", ".join(f"{model} ({dim} dimensions)" for model, dim in found)
        raise NewsAssetsError(
            f"the lake has vectors of several models: {names}; materialise article_embeddings with"
            " replace_model first"
        )
    return found[0] if found else (None, None)


def _desks(lake: Lake, settings: Settings) -> list[DeskDocuments]:
    """Return the desks of the settings, and those that only the lake has, whose
    agencies have no names.
    """
    names: dict[str, dict[str, str]] = {}
    for key in lake.query(_DESKS).to_series().to_list():
        names[key] = {}
    for desk in load_desks(settings.desks, ALL_KINDS):
        names[desk.key] = desk.agency_names
    found = list(starmap(DeskDocuments, sorted(names.items())))
    _refresh(lake, found)
    return found


# --- dry run --------------------------------------------------------------------------


def _dry_run(
    lake: Lake,
    settings: Settings,
    desks: Sequence[DeskDocuments],
    model: str | None,
    dim: int | None,
) -> Iterator[str]:
    vectors = f"vectors of {model}, {dim} dimensions" if model else "no vectors"
    total = _expected_count(desks)
    yield f"{settings.search}: {total} documents would be sent from the lake, {vectors}"
    yield from _size_notes(settings.search, total)
    try:
        with open_index(*settings.search_place) as index:
            for desk in desks:
                yield f"desk {desk.key}: {_difference(desk, index)}"
            yield from _schema_changes(settings)
    except IndexingError as error:
        yield f"the index in use cannot be compared: {error}"


def _size_notes(search: str, count: int) -> Iterator[str]:
    """Yield that an index has more documents than the embedded one is made for."""
    if search == EMBEDDED and count > MOST_EMBEDDED:
        yield (
            f"{count:,} documents are more than the {MOST_EMBEDDED:,} that the embedded index is"
            " made for; see docs/search.md, section How large"
        )


def _difference(desk: DeskDocuments, index: WritableIndex) -> str:
    stored = index.stored(desk.key)
    missing = desk.expected.join(stored, on="article_id", how="anti").height
    current = desk.expected.join(
        stored, on=["article_id", "document_hash"], how="semi"
    ).height
    extra = stored.join(desk.expected, on="article_id", how="anti").height
    outdated = desk.expected.height - missing - current
    return (
        f"{desk.expected.height} documents; the index lacks {missing}, {outdated} are outdated,"
        f" {extra} extra"
    )


def _schema_changes(settings: Settings) -> Iterator[str]:
    if settings.search != EMBEDDED:
        with closing(connect_typesense(*settings.search_place)) as index:
            changes = index.schema_changes()
        for change in changes:
            yield f"field {change}"
        if not changes:
            yield _NO_CHANGES


# --- rebuild --------------------------------------------------------------------------


def _rebuild(
    lake: Lake,
    settings: Settings,
    sandbox: Sandbox,
    desks: Sequence[DeskDocuments],
    model: str | None,
    dim: int | None,
) -> None:
    started = perf_counter()
    with open_rebuild(*settings.search_place, dim, model, datetime.now(UTC)) as rebuild:
        if rebuild.is_resumed:
            _print("resuming an interrupted rebuild")
        try:
            _fill(lake, rebuild, sandbox, desks)
            rebuild.swap({desk.key: desk.hashes for desk in desks})
        except KeyboardInterrupt:
            Terminal(stderr=True).print(
                "interrupted: run the command again to resume; searches still use the old index"
            )
            raise
    updated = 0
    _refresh(lake, desks)
    with open_index(*settings.search_place) as index:
        for desk in desks:
            sync_desk(lake, index, sandbox, desk, lambda _: None)
            updated += store_receipts(lake, desk, datetime.now(UTC))
        count = index.count()
    _print(
        f"{count} documents in the new index after {perf_counter() - started:.0f} s;"
        f" {updated} receipts updated"
    )
    _print(*_size_notes(settings.search, count))
    _print(*_refusals(desks))


def _fill(
    lake: Lake,
    rebuild: IndexRebuild,
    sandbox: Sandbox,
    desks: Sequence[DeskDocuments],
) -> None:
    """Send all documents, then what changed meanwhile, until a round sends few."""
    terminal = Terminal(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=terminal, disable=not terminal.is_terminal
    ) as progress:
        for round_ in range(_MAX_ROUNDS):
            if round_:
                _refresh(lake, desks)
            label = "changed meanwhile" if round_ else "documents"
            task = progress.add_task(label, total=_expected_count(desks))
            advance = partial(progress.advance, task)
            sent = 0
            for desk in desks:
                sent += sync_desk(lake, rebuild, sandbox, desk, advance)
            if sent <= _FEW_DOCUMENTS:
                return


def _refresh(lake: Lake, desks: Sequence[DeskDocuments]) -> None:
    for desk in desks:
        desk.refresh(expected_documents(lake, desk.key, desk.agency_names))


def _expected_count(desks: Sequence[DeskDocuments]) -> int:
    return sum(desk.expected.height for desk in desks)


def _refusals(desks: Sequence[DeskDocuments]) -> Iterator[str]:
    for desk in desks:
        for article_id, (_, reason) in sorted(desk.refused.items()):
            yield f"refused: {article_id}: {reason}"


@contextmanager
def _rebuild_lock(settings: Settings) -> Iterator[None]:
    """Hold the rebuild lock of this home. Raises NewsAssetsError if another rebuild
    holds it.
    """
    from filelock import FileLock, Timeout

    private_folder(settings.home)
    lock = FileLock(settings.home / "rebuild.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise NewsAssetsError(
            f"another rebuild is running in {settings.home}; wait until it has finished"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _print(*lines: str) -> None:
    for line in filter(None, lines):
        Terminal().print_line(line)


# --- keys and fields of a server ------------------------------------------------------

_DEFAULT_DAYS = 30
_MAX_DAYS = 3650
_NO_CHANGES = "the index has every field that this program writes"


_Desk = Annotated[str | None, typer.Option(help="the only desk that can be searched")]
_Days = Annotated[
    int | None,
    typer.Option(min=1, max=_MAX_DAYS, help="valid for so many days"),
]
_Expires = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], help="last valid day, UTC")
]
_Description = Annotated[str, typer.Option(help="purpose, as listed by the server")]


def make_search_key(
    desk: _Desk = None,
    days: _Days = None,
    expires: _Expires = None,
    description: _Description = "news-assets search-key",
    as_json: Json = False,
) -> None:
    """Create the key on the server and print it.

    Raises:
        NewsAssetsError: An unknown desk or a past expiry.
    """
    settings = Settings.read()
    expires_at = _expiry(datetime.now(UTC), days, day_of(expires))
    with closing(connect_typesense(*settings.search_place)) as index:
        check_names(desk, None)
        key = index.search_key(desk, expires_at, description)
    if not as_json:
        Terminal().print_line(key)
        return
    about = {"desk": desk, "expires_at": expires_at, "description": description}
    write_line({"key": key, **about})


def _expiry(now: datetime, days: int | None, expires: date | None) -> datetime:
    """Return the end of the `expires` day in UTC, else `days` from now."""
    if expires is None:
        return now + timedelta(days=days or _DEFAULT_DAYS)
    if days is not None:
        raise NewsAssetsError("give --days or --expires, not both")
    if expires < now.date():
        raise NewsAssetsError(f"--expires {expires} is in the past")
    return datetime.combine(expires + timedelta(days=1), time(), UTC)


_AddSearchFieldsDryRun = Annotated[
    bool, typer.Option("--dry-run", help="show where fields differ, and do nothing")
]


def add_search_fields(
    dry_run: _AddSearchFieldsDryRun = False,
) -> None:
    """Add the missing fields, or show where fields differ.

    Raises:
        NewsAssetsError: The index is unavailable, or a field needs a rebuild; nothing
            was changed.
    """
    for line in _field_lines(Settings.read(), dry_run=dry_run):
        Terminal().print_line(line)


def _field_lines(settings: Settings, *, dry_run: bool) -> Iterator[str]:
    if settings.search == EMBEDDED:  # opening it checks its version
        with open_index(*settings.search_place):
            yield _NO_CHANGES
        return
    with closing(connect_typesense(*settings.search_place)) as index:
        changes = index.schema_changes() if dry_run else index.apply_schema_changes()
    for change in changes:
        yield str(change) if dry_run else f"{change.field}: added {change.expected}"
    if not changes:
        yield _NO_CHANGES
