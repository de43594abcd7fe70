"""The command `rebuild search`: the search index made anew from the lake, beside the one in use, then in its place.

Works for every backend and for the whole index at once. Searches go on with the old one until the new one has exactly
what the lake expects; what changes meanwhile is caught up with before and after. Which documents are sent is decided in
`pipeline/reindex.py`.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from news_assets.clients.search.backends import SQLITE, OpenRebuild, open_index, rebuilding, unopened_typesense
from news_assets.commands.lake import open_lake
from news_assets.desks.loader import load_desks
from news_assets.errors import IndexingError, NewsAssetsError
from news_assets.pipeline.reindex import DeskIndex, Filled, bring_up, store_receipts
from news_assets.settings import Settings
from news_assets.sources.kinds import KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.index_drift import expected_documents

MOST_ROUNDS = 5  # each is far shorter than the one before; what changes after the last is caught up with afterwards
FEW = 200  # documents that may have changed meanwhile and are left to the look after the swap

_MODELS = "SELECT DISTINCT model, dim FROM article_embeddings WHERE outcome = 'ok' ORDER BY ALL"
_DESKS = "SELECT DISTINCT desk FROM raw_articles ORDER BY 1"


def rebuild_search(*, dry_run: bool) -> None:
    """Build the index that NEWS_SEARCH names, or only say what would be done."""
    settings = Settings.read()
    with open_lake() as lake:
        model, dim = _model(lake)
        desks = _desks(lake, settings)
        if dry_run:
            _say(*_outlook(lake, settings, desks, model, dim))
            return
        with _alone(settings):
            _rebuild(lake, settings, desks, model, dim)


def _model(lake: Lake) -> tuple[str | None, int | None]:
    """Return what made the lake's vectors and their length. Raises NewsAssetsError where there are several."""
    found = lake.query(_MODELS).rows()
    if len(found) > 1:
        names = ", ".join(f"{model} ({dim} dimensions)" for model, dim in found)
        raise NewsAssetsError(
            f"the lake has vectors of several models: {names}; materialise article_embeddings with replace_model first"
        )
    return found[0] if found else (None, None)


def _desks(lake: Lake, settings: Settings) -> list[DeskIndex]:
    """Return the desks of the settings and those that only the lake has left, which no file names agencies for."""
    names = {
        desk.key: {agency.key: agency.name for agency in desk.agencies} for desk in load_desks(settings.desks, KINDS)
    }
    stored = lake.query(_DESKS).to_series().to_list()
    found = [DeskIndex(key, names.get(key, {})) for key in sorted({*names, *stored})]
    _look_again(lake, found)
    return found


# --- what would be done ----------------------------------------------------------------------------------------------


def _outlook(
    lake: Lake, settings: Settings, desks: Sequence[DeskIndex], model: str | None, dim: int | None
) -> Iterator[str]:
    vectors = f"vectors of {model}, {dim} dimensions" if model else "no vectors"
    total = sum(desk.expected.height for desk in desks)
    yield f"{settings.search}: {total} documents would be sent from the lake, {vectors}"
    try:
        with open_index(*settings.search_place) as index:
            for desk in desks:
                yield f"desk {desk.desk}: {_difference(desk, index)}"
            yield from _schema_changes(settings)
    except IndexingError as error:
        yield f"the index in use cannot be compared: {error}"


def _difference(desk: DeskIndex, index: Filled) -> str:
    stored = index.stored(desk.desk)
    missing = desk.expected.join(stored, on="article_id", how="anti").height
    current = desk.expected.join(stored, on=["article_id", "document_hash"], how="semi").height
    extra = stored.join(desk.expected, on="article_id", how="anti").height
    outdated = desk.expected.height - missing - current
    return f"{desk.expected.height} documents; the index in use lacks {missing}, {outdated} are outdated, {extra} extra"


def _schema_changes(settings: Settings) -> Iterator[str]:
    if settings.search != SQLITE:
        with closing(unopened_typesense(*settings.search_place)) as index:
            changes = index.schema_changes()
        yield from (f"field {change}" for change in changes)
        yield "" if changes else "its fields are as this program writes them"


# --- doing it --------------------------------------------------------------------------------------------------------


def _rebuild(lake: Lake, settings: Settings, desks: Sequence[DeskIndex], model: str | None, dim: int | None) -> None:
    started = time.perf_counter()
    with rebuilding(*settings.search_place, dim, model, datetime.now(UTC)) as rebuild:
        if rebuild.is_resumed:
            _say("an interrupted rebuild goes on")
        try:
            _fill(lake, rebuild, desks)
            rebuild.swap({desk.desk: desk.hashes for desk in desks})
        except KeyboardInterrupt:
            Console(stderr=True).print("interrupted: the same command goes on from here; searches use the old index")
            raise
    mended = 0
    _look_again(lake, desks)
    with open_index(*settings.search_place) as index:
        for desk in desks:
            bring_up(lake, index, desk, lambda _: None)
            mended += store_receipts(lake, desk, datetime.now(UTC))
        count = index.count()
    _say(f"{count} documents in the new index after {time.perf_counter() - started:.0f} s; {mended} receipts were made")
    _say(*_refusals(desks))


def _fill(lake: Lake, rebuild: OpenRebuild, desks: Sequence[DeskIndex]) -> None:
    """Send everything, then what changed while that went on, until that is little."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for number in range(MOST_ROUNDS):
            if number:
                _look_again(lake, desks)
            total = sum(desk.expected.height for desk in desks)
            task = progress.add_task("changed meanwhile" if number else "documents", total=total)
            sent = sum(bring_up(lake, rebuild, desk, lambda n: progress.advance(task, n)) for desk in desks)  # noqa: B023
            if sent <= FEW:
                return


def _look_again(lake: Lake, desks: Sequence[DeskIndex]) -> None:
    for desk in desks:
        desk.expect(expected_documents(lake, desk.desk, desk.agency_names))


def _refusals(desks: Sequence[DeskIndex]) -> Iterator[str]:
    for desk in desks:
        for article_id, (_, reason) in sorted(desk.refused.items()):
            yield f"refused: {article_id}: {reason}"


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Let one rebuild of this home go on at a time. Raises NewsAssetsError where there is one."""
    from filelock import FileLock, Timeout

    settings.home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(settings.home / "rebuild.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise NewsAssetsError(f"another rebuild is going on in {settings.home}; wait for it") from error
    try:
        yield
    finally:
        lock.release()


def _say(*lines: str) -> None:
    """Write plain lines, whatever the width of the terminal."""
    for line in filter(None, lines):
        Console().print(line, markup=False, highlight=False, soft_wrap=True)
