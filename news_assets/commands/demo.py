"""The command `demo`: serves the sample site on loopback, runs the asset graph over it
and shows the results.
"""

import json
import runpy
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from datetime import UTC, date, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from news_assets.commands import search_articles as search
from news_assets.commands.lake_status import show_counts
from news_assets.commands.opening import open_lake
from news_assets.commands.terminal import Terminal
from news_assets.demo import HOST, PORT, SampleSite
from news_assets.desks.desk_files import load_desks, path_of
from news_assets.errors import NewsAssetsError
from news_assets.folders import private_folder
from news_assets.pipeline.stages import stage_names
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.search import Filters, open_index
from news_assets.settings import Settings, child_environment
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.queries.listed_articles import stage_counts

_BUILT_IN = "sample"
_EDITED = "vacinacao-gripe-escolas"
_QUERY = "vacinacao nas escolas"
_ENVIRONMENT = {"NEWS_ALLOW_PRIVATE_HOSTS": HOST, "NEWS_HOST_DELAY_S": "0"}
_RUNS_COMMANDS = "from news_assets.commands.demo import run_dagster; run_dagster()"
_LOG_LINES = 30  # of a failed run's log: Dagster's error and ours

_terminal = Terminal()


def demo(
    serve: Annotated[
        bool,
        typer.Option("--serve", help="only serve the sample site, until interrupted"),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help=f"port of the site; by default {PORT}, or a free one"
        ),
    ] = None,
) -> None:
    """Serve the sample site; unless `serve`, run the graph over it, edit an article,
    run again, and show the results.
    """
    if serve:
        _serve(port)
    else:
        _run(port)


def _serve(port: int | None) -> None:
    site = _site(port, publishes=True)
    _terminal.print(
        f"sample site: {site.base}/prefeitura/rss.xml and {site.base}/gazeta/atom.xml, with a new"
        " article each minute (Ctrl-C stops it)"
    )
    desk = _desk_of(site)
    if desk != _BUILT_IN:
        _terminal.print(f"its desk, for other commands: export NEWS_DESKS={desk}")
    site.serve_forever()


def _run(port: int | None) -> None:
    started = time.perf_counter()
    desk = load_desks([_BUILT_IN], ALL_KINDS)[0]
    today = datetime.now(ZoneInfo(desk.timezone)).date()
    agencies = list(desk.agency_names)
    with _site(port) as site, _Runs(_desk_of(site)) as runs:
        _terminal.rule(
            "Two newsrooms, three days: poll, then run every stage up to the search index"
        )
        runs.materialise(["feed_entries"], f"{agencies[0]}...{agencies[-1]}")
        runs.materialise(
            stage_names(),
            f"{agencies[0]}|{today - timedelta(days=2)}...{agencies[-1]}|{today}",
        )
        _terminal.rule(
            "An article is edited after publication: poll again and re-run its day"
        )
        site.edit(_EDITED, datetime.now(UTC))
        runs.materialise(["feed_entries"], "prefeitura...prefeitura")
        edited_on = _day_of(_EDITED)
        runs.materialise(
            stage_names(), f"prefeitura|{edited_on}...prefeitura|{edited_on}"
        )
    _show(desk)
    _terminal.rule(f"One search: news-assets search '{_QUERY}'")
    with open_index() as index:
        answer = index.search(_QUERY, Filters(desk=desk.key), limit=3)
    search.show(answer, _QUERY, search.hits_with_copies(answer.hits, Filters())[1])
    _terminal.print()
    _terminal.print(
        f"Done in {time.perf_counter() - started:.0f} s. Next: `make up` keeps the graph running,"
        " with Dagster and the pages."
    )


def _site(port: int | None, *, publishes: bool = False) -> SampleSite:
    """Return the site on this port; without one on PORT, or on a free one where that is
    in use.
    """
    now = datetime.now(UTC)
    try:
        return SampleSite(now, port=PORT if port is None else port, publishes=publishes)
    except OSError as error:
        if port is None:
            return SampleSite(now, port=0, publishes=publishes)
        raise NewsAssetsError(
            f"the sample site cannot listen on {HOST}:{port}: {error.strerror}"
        ) from error


def _desk_of(site: SampleSite) -> str:
    """Return the desk of this site for NEWS_DESKS: the built-in one, or a file with the
    site's own port.
    """
    if site.port == PORT:
        return _BUILT_IN
    path = private_folder(Settings.read().home) / "sample.yaml"
    text = path_of(_BUILT_IN).read_text(encoding="utf-8")
    path.write_text(
        text.replace(f"{HOST}:{PORT}", f"{HOST}:{site.port}"), encoding="utf-8"
    )
    return str(path)


class _Runs:
    """A process that runs the graph by `dagster asset materialize`, and so imports
    Dagster and the graph once; its log is NEWS_HOME/demo.log.
    """

    def __init__(self, desk: str) -> None:
        self._log = private_folder(Settings.read().home) / "demo.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUNS_COMMANDS],
                env=child_environment(**_ENVIRONMENT, NEWS_DESKS=desk),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __enter__(self) -> "_Runs":
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()

    def materialise(self, assets: Sequence[str], partitions: str) -> None:
        """Run these assets for these partitions. Raises NewsAssetsError with the end of
        the log if that fails.
        """
        select = ",".join(f"key:sample/{asset}" for asset in assets)
        arguments = [
            "asset",
            "materialize",
            "-m",
            "news_assets.definitions",
            "--select",
            select,
        ]
        arguments += ["--partition-range", partitions]
        _terminal.print_line(
            Text.assemble(("$", "dim"), f" dagster {shlex.join(arguments)}")
        )
        started = time.perf_counter()
        with _terminal.status("running"):
            code = self._run(arguments)
        if code != "0":
            tail = "\n".join(self._log.read_text().splitlines()[-_LOG_LINES:])
            raise NewsAssetsError(
                f"{tail}\nthe run failed; the full log is {self._log}"
            )
        _terminal.print(f"  {time.perf_counter() - started:.1f} s", style="dim")

    def _run(self, arguments: list[str]) -> str:
        """Return the exit code of one command as text; empty if the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(arguments) + "\n")
            self._process.stdin.flush()
        return self._process.stdout.readline().strip()


def run_dagster() -> None:
    """Run `dagster` commands one after the other until stdin ends.

    A line of stdin has the arguments of a command as a JSON list; the answer is a line
    with its exit code. What the command prints goes to stderr.
    """
    for line in sys.stdin:
        with redirect_stdout(sys.stderr):
            code = _exit_code(json.loads(line))
        _terminal.print_line(str(code))


def _exit_code(arguments: list[str]) -> int:
    sys.argv = ["dagster", *arguments]
    try:
        runpy.run_module("dagster", run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, int):
            return ended.code
        return int(ended.code is not None)
    return 0


def _day_of(slug: str) -> date:
    with open_lake() as lake:
        articles = lake.read(RawArticle, desk=[_BUILT_IN])
    return next(row.day for row in articles if slug in row.url)


def _show(desk: Desk) -> None:
    with open_lake() as lake:
        _terminal.rule("Results, stage by stage")
        show_counts(
            stage_counts(lake, desk.first_day, datetime.now(UTC).date(), desk.key)
        )
        articles = lake.read(RawArticle, desk=[desk.key])
        enriched = lake.read(EnrichedArticle, desk=[desk.key])
        revisions = lake.read(ArticleRevision, desk=[desk.key])
    _terminal.print(_articles_table(articles, enriched))
    _terminal.print(
        f"{len(revisions)} earlier text in `article_revisions`; the fetched pages are in `pages`"
    )


def _articles_table(
    articles: Sequence[RawArticle], enriched: Sequence[EnrichedArticle]
) -> Table:
    labels_of = {row.article_id: row.theme_labels for row in enriched}
    agency_of = {article.article_id: article.agency for article in articles}
    table = Table("day", "agency", "title", "theme", "outcome", box=box.SIMPLE_HEAD)
    for one in sorted(articles, key=lambda article: (article.day, article.agency)):
        labels = " > ".join(labels_of.get(one.article_id, ()))
        note = _note(one, agency_of)
        table.add_row(str(one.day), one.agency, one.title, labels, note)
    return table


def _note(article: RawArticle, agency_of: Mapping[str, str]) -> str | Text:
    if article.outcome != "ok":
        reason = article.reason or ""
        return Text(f"{article.outcome}: {reason}", style="red")
    if article.duplicate_of:
        return Text(f"copy of {agency_of[article.duplicate_of]}'s", style="yellow")
    return f"edited: revision {article.rev_n}" if article.rev_n > 1 else "ok"
