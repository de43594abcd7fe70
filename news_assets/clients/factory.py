"""Opens the ports that settings name, for commands and for Dagster's resources."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from news_assets.lazy import Lazy
from news_assets.ports import Embedder, Enricher, Sandbox
from news_assets.settings import Settings, variable_of


def build_enricher(
    enricher: str,
    taxonomy: Path | None,
    sandbox: Sandbox,
    models_dir: Path,
    open_embedder: Callable[[], Embedder],
) -> Enricher:
    """Return the enricher of this name (NEWS_ENRICHER), with the taxonomy of this file, else the built-in one.

    `models_dir` holds the classifiers of desks, and `open_embedder` opens the embedder that they are used with.
    """
    if enricher != "local":
        raise ValueError(f"no enricher {enricher!r}; there is: local")
    from news_assets.clients.sandbox.enricher import SandboxedEnricher

    return SandboxedEnricher(taxonomy, sandbox, models_dir, open_embedder)


@contextmanager
def open_ports(settings: Settings, names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the named ports: fetcher and sandbox open, enricher, embedder and search opened on first use."""
    with ExitStack() as stack:
        yield {name: _OPEN[name](settings, stack) for name in names}


def _fetcher(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.web.fetcher import HttpFetcher

    fetcher = HttpFetcher(
        user_agent=settings.user_agent,
        delay_s=settings.host_delay_s,
        allow_private_hosts=settings.allow_private_hosts,
        logins=settings.site_logins,
        secret_of=variable_of,
        state_dir=settings.hosts_dir,
    )
    return stack.enter_context(fetcher)


def _enricher(settings: Settings, stack: ExitStack) -> Any:
    sandbox = _sandbox(settings, stack)
    embedder = _embedder(settings, stack)
    return Lazy(
        lambda: build_enricher(settings.enricher, settings.taxonomy, sandbox, settings.models_dir, embedder.open)
    )


def _embedder(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.embedding.embedder import OnnxEmbedder

    return Lazy(lambda: OnnxEmbedder.open(settings.embedding_model, settings.models_dir, settings.threads))


def _search(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.search.backends import lazy_index

    return stack.enter_context(lazy_index(*settings.search_place))


def _sandbox(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.sandbox.process_sandbox import ProcessSandbox

    return stack.enter_context(ProcessSandbox())


_OPEN = {"fetcher": _fetcher, "enricher": _enricher, "embedder": _embedder, "search": _search, "sandbox": _sandbox}
