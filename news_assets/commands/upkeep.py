"""The commands `backup`, `restore`, `migrate`, `retention` and `withdraw`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from news_assets.clients.factory import open_ports
from news_assets.commands.opening import lake_address, open_lake
from news_assets.commands.terminal import Terminal, in_backquotes
from news_assets.errors import LakeError, NewsAssetsError
from news_assets.pipeline.articles.withdrawal import undo_withdrawal
from news_assets.pipeline.articles.withdrawal import withdraw as withdraw_rows
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import IndexedDocument
from news_assets.records.reading import WITHDRAWN
from news_assets.settings import Settings
from news_assets.store.address import Address, way_back_of_files
from news_assets.store.backup import Backup, Plan, back_up, plan_restore
from news_assets.store.backup import restore as restore_lake
from news_assets.store.connection import pending_changes
from news_assets.store.lake import Lake
from news_assets.store.maintenance import FILE_GRACE, KEEP_DAYS, RESTORE_GRACE
from news_assets.store.queries.url_history import article_ids_at
from news_assets.store.retention import OldRows, delete_old_rows

_SHOWN_FILES = 20


_To = Annotated[
    Path | None,
    typer.Option(help="folder of the backup; default: NEWS_HOME/backups"),
]
_WithData = Annotated[
    bool, typer.Option("--data", help="copy the data files too, or link them")
]


def backup(
    to: _To = None,
    with_data: _WithData = False,
) -> None:
    """Make a backup of the lake and print what is in it."""
    settings = Settings.read()
    now = datetime.now(UTC)
    with open_lake() as lake:
        address = lake.address
    made = back_up(address, to or settings.backups_dir, now, with_data=with_data)
    _say(f"{made.file}: {_contents(made)}")
    if not with_data:
        whole_until = now + max(FILE_GRACE, timedelta(days=settings.backup_days))
        _say(
            f"its data files stay in {address.data} until {whole_until:%Y-%m-%d %H:%M} UTC at least"
        )


def _contents(backup: Backup) -> str:
    megabytes = backup.data_bytes / 1e6
    return (
        f"commit {backup.commit} of {backup.committed_at:%Y-%m-%d %H:%M:%S} UTC, "
        f"{len(backup.files)} data files of {megabytes:.1f} MB"
    )


_File = Annotated[Path, typer.Argument(help="the backup")]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="show what would be done, and do nothing")
]
_Force = Annotated[
    bool,
    typer.Option("--force", help="also over a newer catalog or without some files"),
]


def restore(
    file: _File,
    dry_run: _DryRun = False,
    force: _Force = False,
) -> None:
    """Bring the lake back from a backup and print what was done, or would be done."""
    address = lake_address()
    plan = plan_restore(address, file)
    _show_plan(plan)
    if not force:
        _check_loss(address, plan)
    if dry_run:
        _say("nothing was changed")
        return
    restored = restore_lake(address, plan, datetime.now(UTC))
    if restored.kept_as:
        _say(f"the replaced catalog is kept: {restored.kept_as}")
    if restored.orphans:
        until = datetime.now(UTC) + RESTORE_GRACE
        _say(
            f"{len(restored.orphans)} files were written after the backup; they are kept until"
            f" {until:%Y-%m-%d}:"
        )
        _show_files(restored.orphans)
    _say(
        f"the lake {address} is restored; bring the index in line with `news-assets rebuild search`"
    )


def _show_plan(plan: Plan) -> None:
    _say(f"{plan.backup.file}: {_contents(plan.backup)}")
    if plan.copied:
        _say(f"{len(plan.copied)} of them come back from the backup's copy")
    if plan.missing:
        _say(f"{len(plan.missing)} of them are missing or have another size:")
        _show_files(plan.missing)
    if plan.lost_commits:
        _say(f"the present catalog has {plan.lost_commits} later commits")


def _show_files(files: tuple[str, ...]) -> None:
    for file in files[:_SHOWN_FILES]:
        _say(f"  {file}")
    if len(files) > _SHOWN_FILES:
        _say(f"  and {len(files) - _SHOWN_FILES} more")


def _check_loss(address: Address, plan: Plan) -> None:
    """Raise LakeError where the restore would lose rows."""
    if plan.missing:
        raise LakeError(
            f"{address.data}: {len(plan.missing)} data files of this backup are missing;"
            f" {way_back_of_files(address)}; with --force, the lake is restored, and reading their"
            " tables fails"
        )
    if plan.lost_commits:
        raise LakeError(
            f"{address}: this catalog can be read and is newer than the backup; stop what writes to"
            " it, and use --force to replace it; it is kept beside the restored one"
        )


_MigrateDryRun = Annotated[
    bool, typer.Option("--dry-run", help="show what would change, and do nothing")
]


def migrate(
    dry_run: _MigrateDryRun = False,
) -> None:
    """Bring the lake's tables up to date, which opening it does too; or print what that
    would change.
    """
    address = lake_address()
    changes = pending_changes(address)
    if not changes:
        _say(f"the lake {address} is up to date")
        return
    for change in changes:
        _say(change)
    if not dry_run:
        open_lake().close()
        _say("done")


def _say(line: str) -> None:
    Terminal().print_line(line)


# --- retention ------------------------------------------------------------------------


_RetentionDryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="show what would be deleted, and do nothing"),
]
_Irreplaceable = Annotated[
    bool,
    typer.Option("--irreplaceable", help="also of articles whose page may be gone"),
]


def retention(
    dry_run: _RetentionDryRun = False,
    irreplaceable: _Irreplaceable = False,
) -> None:
    """Delete the rows that are too old, or only count them; print rows and bytes by
    table and month.
    """
    keep = Settings.read().keep_days
    now = datetime.now(UTC)
    with open_lake() as lake:
        deleted = delete_old_rows(
            lake, keep, now, irreplaceable=irreplaceable, dry_run=dry_run
        )
        months = list(deleted)
    if months:
        Terminal().print(_months_table(months))
    rows = sum(month.rows for month in months)
    size = sum(month.file_bytes for month in months)
    verb = "would be" if dry_run else "were"
    _say(f"{rows:,} rows {verb} deleted, about {size / 1e6:,.1f} MB of files")
    if rows and not dry_run:
        _say("maintenance deletes the files when no snapshot and no backup needs them")


def _months_table(months: list[OldRows]) -> Table:
    table = Table("table", "month", box=None)
    for name in ("rows", "MB", "kept whatever their age"):
        table.add_column(name, justify="right")
    for one in months:
        size = f"{one.file_bytes / 1e6:,.1f}"
        table.add_row(
            one.table, f"{one.month:%Y-%m}", f"{one.rows:,}", size, f"{one.kept:,}"
        )
    return table


# --- withdraw -------------------------------------------------------------------------


_Articles = Annotated[
    list[str],
    typer.Argument(metavar="ARTICLE|URL...", help="ids or addresses of articles"),
]
_Reason = Annotated[str, typer.Option(help="why, kept in the article's row")]
_Undo = Annotated[bool, typer.Option("--undo", help="bring withdrawn articles back")]


def withdraw(
    articles: _Articles,
    reason: _Reason = "withdrawn by the operator",
    undo: _Undo = False,
) -> None:
    """Withdraw the articles with these ids or addresses, or bring them back.

    Raises:
        NewsAssetsError: No such article, or none that can be brought back.
    """
    if undo:
        _bring_back(articles)
    else:
        _withdraw(articles, reason)


def _withdraw(names: Sequence[str], reason: str) -> None:
    with open_lake() as lake:
        now = datetime.now(UTC)
        articles = lake.transact(
            lambda rows: withdraw_rows(rows, _present(rows, names), reason, now)
        )
        if not articles:
            Terminal().print_line("withdrawn already")
            return
        for article in articles:
            _report("withdrawn", article)
        Terminal().print_line(
            f"--undo brings them back for {KEEP_DAYS} days, as long as the lake keeps the last"
            " state"
        )
        _delete_documents(lake, [article.article_id for article in articles])


def _present(rows: Reader, names: Sequence[str]) -> list[RawArticle]:
    return [article for article in _named(rows, names) if article.outcome != WITHDRAWN]


def _bring_back(names: Sequence[str]) -> None:
    with open_lake() as lake:
        named = _named(lake, names)
        articles = [article for article in named if article.outcome == WITHDRAWN]
        if not articles:
            raise NewsAssetsError("none of these articles is withdrawn")
        for article in articles:
            undo_withdrawal(lake, article, lambda rows: None)
            _report("brought back", article)
        Terminal().print_line(
            "the daemon or `dagster asset materialize` puts them into the index again"
        )


def _report(change: str, article: RawArticle) -> None:
    title = article.title or "without a title"
    Terminal().print_line(f"{change}: {article.article_id}: {title}")


def _named(lake: Reader, names: Sequence[str]) -> list[RawArticle]:
    """Return the articles with these ids or addresses, which may be written in any way,
    and may be those of entries.
    """
    found: dict[str, RawArticle] = {}
    unknown = []
    for name in names:
        ids = article_ids_at(lake, name) if "://" in name else [name]
        articles = lake.read(RawArticle, article_id=ids)
        for article in articles:
            found[article.article_id] = article
        if not articles:
            unknown.append(name)
    if unknown:
        raise NewsAssetsError(
            f"no article {in_backquotes(unknown)}; nothing was changed"
        )
    return list(found.values())


def _delete_documents(lake: Lake, ids: Sequence[str]) -> None:
    """Delete the documents and their receipts; where the index is unavailable, the
    sensors do so later.
    """
    try:
        with open_ports(Settings.read(), ("search",)) as ports:
            ports["search"].delete(ids)
    except NewsAssetsError as error:
        Terminal().print_line(
            f"still in the index, until a run of `search_index` removes them: {error}"
        )
        return
    lake.transact(lambda rows: rows.delete(IndexedDocument, article_id=ids))
