"""Dagster resources: typed settings that open plain objects of `clients/` and `store/`.

Objects that are slow to open are cached for the life of the process, for sensors and
for workers that run many jobs: a lake takes 0.3 s (its extensions are verified each
time), a model 0.5 s, a taxonomy 0.1 s. Resource keys name roles (`lake`, `fetcher`,
`sandbox`, `enricher`, `embedder`, `search`), not products. What a run opens is imported
by it, so that the definitions load fast.
"""

import atexit
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import dagster as dg
from pydantic import Field

from news_assets.clients.sandbox import (
    LIMIT_S,
    MEMORY_MB,
    ProcessSandbox,
)
from news_assets.clients.sandbox_child import load_module
from news_assets.errors import LakeError
from news_assets.ports.search_index import SearchIndex
from news_assets.ports.services import Fetcher, Lazy
from news_assets.records.derived import DatasetOptions
from news_assets.records.model_calls import Ceilings
from news_assets.settings import Settings, variable_of
from news_assets.store.address import HIDDEN, Address, without_password
from news_assets.store.lake import Lake, Mark

if TYPE_CHECKING:
    import ssl

    from news_assets.clients.embedding.embedder import RecentEmbedder
    from news_assets.clients.factory import OpenIndex
    from news_assets.pipeline.enrich.model.enrichers import Enrichers
    from news_assets.pipeline.stories.update import Kept

_READING_MODULES = (
    "news_assets.pipeline.page.readers",
    "news_assets.sources.source_kinds",
    "py3langid.langid",
    "trafilatura",
)
_BACKFILL_TAG = "dagster/backfill"
# a minute at the default delay of one second; none without a delay, as for the sample
# site
_COOLDOWN_DELAYS = 60

_logger = logging.getLogger(__name__)
_lock = threading.Lock()
_cached: dict[str, tuple[Lake, int]] = {}  # the open lake, and its last known commit


class LakeResource(dg.ConfigurableResource[Lake]):
    """The lake of every table. The password of the catalog is no field, because the UI
    shows them; it is read when it is used.
    """

    catalog: str = Field(
        description="SQLite file, or postgresql:// address without its password"
    )
    data: str = Field(description="folder, or s3:// address")
    backups: str = Field("", description="folder of the backups")

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Lake]:
        """Yield the open lake."""
        yield self.open()

    def open(self) -> Lake:
        """Return the lake that this process has open, or open it."""
        catalog = self.catalog
        if HIDDEN in catalog:
            catalog = _with_password(catalog)
        return _cached_lake(Address(catalog, self.data, self.backups))


@lru_cache(maxsize=1)
def _with_password(catalog: str) -> str:
    """Return the setting that this address is the shown form of: sensors open the lake
    each second, and the settings of a process stay.
    """
    return Settings.read().catalog


def _cached_lake(address: Address) -> Lake:
    """Return the lake that this process has open, or open it.

    It is opened again at another address, after a lost connection, and where its last
    commit is an earlier one because a copy was restored: DuckLake caches statistics by
    commit number, and with another history under the same numbers it dropped the
    condition `next_try_at > now`, which its statistics showed as true for every row.

    Sensors and runs read few rows at a time. A second thread only costs them: a read of
    an agency-day takes 6 ms of processor time with one thread and 12 with two.
    """
    with _lock:
        lake, known = _cached.get("lake", (None, 0))
        if lake is not None and lake.address == address:
            commit = _last_commit(lake)
            if commit >= known:
                _cached["lake"] = (lake, commit)
                return lake
            _logger.debug("The lake is opened again: commit %d after %d", commit, known)
        lake = Lake.open(
            address.catalog, address.data, backups=address.backups, threads=1
        )
        _cached["lake"] = (lake, lake.snapshot())
        return lake


def opener_of(lake: object) -> Callable[[], Lake]:
    """Return what opens the lake of a resource, which is the lake itself in tests."""
    if isinstance(lake, LakeResource):
        return lake.open
    return lambda: cast(Lake, lake)


def mark_of_open_lake() -> Mark | None:
    """Return the mark of the lake that this process has open; None if it has none, or
    Postgres is unavailable.
    """
    lake, _ = _cached.get("lake", (None, 0))
    if lake is None:
        return None
    try:
        return lake.mark()
    except LakeError:
        return None


def _last_commit(lake: Lake) -> int:
    """Return the number of the lake's last commit; -1 if it is unavailable."""
    try:
        return lake.snapshot()
    except LakeError:
        return -1


class FetcherResource(dg.ConfigurableResource[Fetcher]):
    """The polite HTTP client. Logins, tokens and the catalog's address are no fields,
    because the UI shows them; they are read when used.
    """

    user_agent: str = Field(description="User-Agent header")
    host_delay_s: float = Field(
        ge=0, description="pause between two requests to one host, in seconds"
    )
    allow_private_hosts: list[str] = Field(
        description="hosts or CIDR blocks on private networks that may be fetched"
    )
    state_dir: str = Field(
        description="folder of what the runs of this machine know of hosts"
    )

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Fetcher]:
        """Yield the open client."""
        from news_assets.clients.web.fetcher import HttpFetcher

        settings = Settings.read()
        with HttpFetcher(
            user_agent=self.user_agent,
            delay_s=self.host_delay_s,
            allow_private_hosts=tuple(self.allow_private_hosts),
            logins=settings.site_logins,
            secret_of=variable_of,
            state_dir=Path(self.state_dir),
            catalog=settings.catalog,
            ssl_context=_cached_ssl_context(),
        ) as fetcher:
            yield fetcher


@lru_cache(maxsize=1)
def _cached_ssl_context() -> "ssl.SSLContext":
    """Return the context with the certificates of authorities, which take 30 ms to
    read.
    """
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class CooldownResource(dg.ConfigurableResource[timedelta]):
    """How long runs started by hand skip a source after a poll."""

    seconds: float = Field(ge=0, description="how long, in seconds")

    def create_resource(self, context: dg.InitResourceContext) -> timedelta:
        """Return the span."""
        return timedelta(seconds=self.seconds)


class SandboxResource(dg.ConfigurableResource[ProcessSandbox]):
    """The process that reads bytes and text from outside, one for each process that
    executes runs.
    """

    limit_s: float = Field(
        gt=0, description="CPU time of reading one page, listing or text, in seconds"
    )
    memory_mb: int = Field(gt=0, description="address space of the process, in MiB")

    def create_resource(self, context: dg.InitResourceContext) -> ProcessSandbox:
        """Return the sandbox, whose process starts with its first call."""
        return _cached_sandbox(self.limit_s, self.memory_mb)


@lru_cache(maxsize=1)
def _cached_sandbox(limit_s: float, memory_mb: int) -> ProcessSandbox:
    sandbox = ProcessSandbox(limit_s, memory_mb)
    atexit.register(sandbox.close)
    return sandbox


def warm_sandbox() -> None:
    """Start the sandbox of this process and import there what reading needs, which
    takes 0.5 s.
    """
    _cached_sandbox(LIMIT_S, MEMORY_MB).run(
        load_module, [(name,) for name in _READING_MODULES]
    )


@lru_cache(maxsize=1)
def kept_stories() -> "Kept":
    """Return the stories that the runs of this process have loaded."""
    return {}


def close_sandbox() -> None:
    """End the sandbox of this process; its next call starts another one."""
    _cached_sandbox(LIMIT_S, MEMORY_MB).close()


class EnricherResource(dg.ConfigurableResource[Lazy["Enrichers"]]):
    """The enrichers that NEWS_ENRICHER names. Keys of providers are no fields: their
    libraries read them when used.
    """

    enricher: str = Field(
        "local", description="names of the enrichers, comma separated"
    )

    taxonomy: str = Field(
        "", description="path of a taxonomy file; empty for the built-in one"
    )
    embedding_model: str = Field(
        description="model of the vectors that classifiers of themes read"
    )
    models_dir: str = Field(
        description="folder of exported models and of classifiers of themes"
    )
    threads: int = Field(ge=1, description="threads the model may use")

    max_usd: list[float] = Field(
        [0.0, 0.0, 0.0],
        description="most that a run, a day and a month may cost; 0: no limit",
    )

    def create_resource(self, context: dg.InitResourceContext) -> "Lazy[Enrichers]":
        """Return the enricher of one run, with its budget; its taxonomy is loaded on
        first use.
        """
        is_backfill = context.run is not None and _BACKFILL_TAG in context.run.tags
        return Lazy(lambda: self._open(is_backfill=is_backfill))

    def _open(self, *, is_backfill: bool) -> "Enrichers":
        from news_assets.pipeline.enrich.model.ledger import Budget
        from news_assets.store.queries.spending import spent

        file = Path(self.taxonomy)
        embedding = (self.embedding_model, self.models_dir, self.threads)
        changed_ns = file.stat().st_mtime_ns if file.is_file() else 0
        budget = Budget(Ceilings(*self.max_usd), spent, is_backfill=is_backfill)
        return replace(
            _cached_enricher(self.enricher, self.taxonomy, changed_ns, embedding),
            budget=budget,
        )


@lru_cache(maxsize=1)
def _cached_enricher(
    enricher: str, taxonomy: str, changed_ns: int, embedding: tuple[str, str, int]
) -> "Enrichers":
    from news_assets.clients.factory import build_enricher

    named = {
        "enricher": tuple(enricher.split(",")),
        "taxonomy": Path(taxonomy) if taxonomy else None,
    }
    settings = Settings.read().model_copy(update=named)
    return build_enricher(
        settings,
        _cached_sandbox(LIMIT_S, MEMORY_MB),
        lambda: _cached_embedder(*embedding),
    )


class EmbedderResource(dg.ConfigurableResource[Lazy["RecentEmbedder"]]):
    """The embedding model."""

    model: str = Field(description="name or folder of a sentence-transformers model")
    models_dir: str = Field(description="folder of exported models")
    threads: int = Field(ge=1, description="threads the model may use")

    def create_resource(
        self, context: dg.InitResourceContext
    ) -> "Lazy[RecentEmbedder]":
        """Return the model, which is loaded on first use, and before its very first
        exported to ONNX.
        """
        return Lazy(lambda: _cached_embedder(self.model, self.models_dir, self.threads))


@lru_cache(maxsize=1)
def _cached_embedder(model: str, models_dir: str, threads: int) -> "RecentEmbedder":
    from news_assets.clients.embedding.embedder import OnnxEmbedder, RecentEmbedder

    return RecentEmbedder(OnnxEmbedder.open(model, Path(models_dir), threads))


class SearchResource(dg.ConfigurableResource[SearchIndex]):
    """The search index. The server's API key is not a field, because the UI shows them;
    it is read when it is used.
    """

    search: str = Field(description="embedded, or the address of a Typesense server")
    path: str = Field(description="file of the embedded index")

    @contextmanager
    def yield_for_execution(
        self, context: dg.InitResourceContext
    ) -> Iterator[SearchIndex]:
        """Yield the index, which is opened at its first use."""
        from news_assets.clients.factory import lazy_index

        with lazy_index(self.search, self._open) as index:
            yield index

    def _open(self) -> "OpenIndex":
        from news_assets.clients.factory import EMBEDDED, open_index

        api_key = ""
        if self.search != EMBEDDED:
            api_key = Settings.read().typesense_api_key.get_secret_value()
        return open_index(self.search, Path(self.path), api_key)


class ReportsResource(dg.ConfigurableResource[Path]):
    """The folder of the reports."""

    folder: str = Field(description="folder of the reports, one HTML file a day")

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        """Return the folder, which is created with the first report."""
        return Path(self.folder)


class DatasetResource(dg.ConfigurableResource[DatasetOptions]):
    """Where the data set is published, and what it holds."""

    place: str = Field(description="folder or s3:// address; empty for none")
    fields: list[str] = Field(description="columns of articles that it has")
    licence: str = Field(description="identifier of its licence; empty for none")
    keep_days: int = Field(description="how many days its changes are listed")

    def create_resource(self, context: dg.InitResourceContext) -> DatasetOptions:
        """Return the options."""
        return DatasetOptions(
            self.place, tuple(self.fields), self.licence, self.keep_days
        )


def build_resources(settings: Settings) -> dict[str, object]:
    """Return the resources of these settings."""
    return {
        "lake": LakeResource(
            catalog=without_password(settings.catalog),
            data=settings.data,
            backups=str(settings.backups_dir),
        ),
        "fetcher": FetcherResource(
            user_agent=settings.user_agent,
            host_delay_s=settings.host_delay_s,
            allow_private_hosts=list(settings.allow_private_hosts),
            state_dir=str(settings.hosts_dir),
        ),
        "sandbox": SandboxResource(limit_s=LIMIT_S, memory_mb=MEMORY_MB),
        "cooldown": CooldownResource(seconds=_COOLDOWN_DELAYS * settings.host_delay_s),
        "enricher": EnricherResource(
            enricher=",".join(settings.enricher),
            taxonomy=str(settings.taxonomy or ""),
            embedding_model=settings.embedding_model,
            models_dir=str(settings.models_dir),
            threads=settings.threads_per_run,
            max_usd=list(astuple(settings.ceilings)),
        ),
        "embedder": EmbedderResource(
            model=settings.embedding_model,
            models_dir=str(settings.models_dir),
            threads=settings.threads_per_run,
        ),
        "search": SearchResource(
            search=settings.search, path=str(settings.search_path)
        ),
        "reports": ReportsResource(folder=str(settings.reports_dir)),
        "dataset_options": DatasetResource(
            place=settings.dataset,
            fields=list(settings.dataset_fields),
            licence=settings.dataset_licence,
            keep_days=settings.keep_changes_days,
        ),
    }
