"""The command `withdraw`: remove the texts of articles from lake and index, or bring
them back.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from news_assets.clients.factory import open_ports
from news_assets.commands.opening import open_lake
from news_assets.commands.terminal import Terminal
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.articles.withdrawal import undo_withdrawal
from news_assets.pipeline.articles.withdrawal import withdraw as withdraw_rows
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import IndexedDocument
from news_assets.records.reading import WITHDRAWN
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.maintenance import KEEP_DAYS
from news_assets.store.queries.url_history import article_ids_at


def withdraw(
    articles: Annotated[
        list[str],
        typer.Argument(metavar="ARTICLE|URL...", help="ids or addresses of articles"),
    ],
    reason: Annotated[
        str, typer.Option(help="why, kept in the article's row")
    ] = "withdrawn by the operator",
    undo: Annotated[
        bool, typer.Option("--undo", help="bring withdrawn articles back")
    ] = False,
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
        found |= {article.article_id: article for article in articles}
        if not articles:
            unknown.append(name)
    if unknown:
        raise NewsAssetsError(
            f"no article {', '.join(f'`{name}`' for name in unknown)}; nothing was changed"
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
