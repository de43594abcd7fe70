"""Opens the ports that settings name, for commands and for Dagster's resources."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from news_assets.errors import IndexingError
from news_assets.ports.search_index import Embedder, SearchIndex
from news_assets.ports.services import LanguageModel, Lazy, Sandbox
from news_assets.setting_values import LOCAL_ENRICHER
from news_assets.settings import Settings, variable_of

if TYPE_CHECKING:
    from news_assets.clients.local_enrichers import LocalEnrichers
    from news_assets.clients.notifier import ChannelNotifier
    from news_assets.clients.search.typesense.typesense_index import (
        TypesenseSearchIndex,
    )
    from news_assets.clients.subscriber_mail import SubscriptionLinks
    from news_assets.pipeline.alerts.query_file import Alerts
    from news_assets.pipeline.enrich.model.enrichers import Enrichers
    from news_assets.pipeline.reindex import IndexRebuild
    from news_assets.ports.services import Reader
    from news_assets.records.model_calls import Spent


def local_enricher(
    settings: Settings, sandbox: Sandbox, open_embedder: Callable[[], Embedder]
) -> "LocalEnrichers":
    """Return the local enricher with the taxonomy of NEWS_TAXONOMY, else the built-in
    one; desks may have others.

    `open_embedder` opens the embedder that the classifiers of desks are used with.
    """
    from news_assets.clients.local_enrichers import LocalEnrichers

    return LocalEnrichers(
        settings.taxonomy, sandbox, settings.models_dir, open_embedder
    )


def build_enricher(
    settings: Settings,
    sandbox: Sandbox,
    open_embedder: Callable[[], Embedder],
    read_spent: "Callable[[Reader, datetime], Spent] | None" = None,
) -> "Enrichers":
    """Return the enrichers that NEWS_ENRICHER and NEWS_ENTITIES name; see
    `local_enricher`.

    `read_spent` reads the ledger for the ceilings.

    Raises:
        SettingsError: A provider's library is not installed, its key is not set, or a
            prompt is wrong.
    """
    from news_assets.clients.llm.provider_batches import has_batches, open_batches
    from news_assets.clients.llm.provider_models import check_model
    from news_assets.pipeline.enrich.model.enrichers import Enrichers
    from news_assets.pipeline.enrich.model.ledger import Budget
    from news_assets.pipeline.enrich.model.model_requests import (
        AnswerRules,
        load_prompt,
    )
    from news_assets.taxonomy import load_taxonomy, taxonomy_of

    local = local_enricher(settings, sandbox, open_embedder)
    names = [name for name in settings.enricher if name != LOCAL_ENRICHER]
    for name in filter(None, (*names, settings.entities)):
        check_model(name)
    open_model = lru_cache(maxsize=None)(partial(_concurrent_model, settings))
    is_local_first = LOCAL_ENRICHER in settings.enricher
    of_bedrock = (settings.bedrock_batch_folder, settings.bedrock_batch_role)
    return Enrichers(
        local=local,
        models=tuple(map(open_model, names)),
        open_model=open_model,
        entities=settings.entities,
        prompt=load_prompt("enrich", settings.prompts),
        brief_prompt=load_prompt("enrich", settings.prompts, "brief"),
        full_prompt=load_prompt("enrich", settings.prompts, "full"),
        theme_prompt=load_prompt("theme", settings.prompts),
        entities_prompt=load_prompt("entities", settings.prompts),
        taxonomy=load_taxonomy(settings.taxonomy),
        accepted_error=settings.enricher_error_rate if is_local_first else None,
        sandbox=sandbox,
        open_batches=lambda name: open_batches(name, *of_bedrock),
        has_batches=lambda name: has_batches(name, *of_bedrock),
        answer_rules=AnswerRules(
            settings.model_max_tokens,
            settings.model_reasoning,
            settings.model_temperature,
        ),
        max_failures=settings.model_max_failures,
        budget=Budget(settings.ceilings, read_spent),
        taxonomy_of=lambda desk: taxonomy_of(desk, settings.taxonomy),
        local_of=local.for_desk,
    )


def _concurrent_model(settings: Settings, name: str) -> LanguageModel:
    """Return a language model with the limits of its provider; it is opened by
    its first request.
    """
    from news_assets.clients.llm.calls import ConcurrentModel, Limits
    from news_assets.clients.llm.provider_models import open_model

    provider = name.partition(":")[0]
    limits = Limits(
        concurrency=settings.calls_in_flight(provider),
        per_minute=settings.calls_per_minute(provider),
        timeout_s=settings.model_timeout_s,
    )
    return ConcurrentModel(
        name, partial(open_model, name, limits.timeout_s, limits.concurrency), limits
    )


def open_notifier(
    settings: Settings, alerts: "Alerts", lake: "Reader | None" = None
) -> "ChannelNotifier":
    """Return the channels of a file of queries, and of the subscriptions in the lake."""
    from news_assets.clients.notifier import ChannelNotifier, JsonSender, MailServer
    from news_assets.clients.subscriber_mail import SubscriberMail
    from news_assets.pipeline.alerts.subscriptions import found_in

    links = subscription_links(settings)
    subscribers = None
    if links is not None and lake is not None:
        subscribers = SubscriberMail(links, partial(found_in, lake))
    return ChannelNotifier(
        alerts.channels,
        variable_of,
        JsonSender(settings.user_agent, settings.allow_private_hosts),
        MailServer(settings.smtp.get_secret_value(), settings.mail_from),
        subscribers,
    )


def subscription_links(settings: Settings) -> "SubscriptionLinks | None":
    """Return what signs the links of subscriptions; None where they are not offered."""
    from news_assets.clients.subscriber_mail import SubscriptionLinks

    secret = settings.subscription_secret.get_secret_value()
    return SubscriptionLinks(secret, settings.pages_url) if secret else None


@contextmanager
def open_ports(
    settings: Settings,
    names: Collection[str],
    read_spent: "Callable[[Reader, datetime], Spent] | None" = None,
) -> Iterator[dict[str, Any]]:
    """Yield the named ports: fetcher and sandbox open, enricher, embedder and search
    opened on first use.
    """
    with ExitStack() as stack:
        opened = {}
        for name in names:
            if name == "enricher":
                opened[name] = _enricher(settings, stack, read_spent)
            else:
                opened[name] = _OPEN[name](settings, stack)
        yield opened


def _fetcher(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.web.fetcher import HttpFetcher

    fetcher = HttpFetcher(
        user_agent=settings.user_agent,
        delay_s=settings.host_delay_s,
        allow_private_hosts=settings.allow_private_hosts,
        logins=settings.site_logins,
        secret_of=variable_of,
        state_dir=settings.hosts_dir,
        catalog=settings.catalog,
    )
    return stack.enter_context(fetcher)


def _enricher(
    settings: Settings,
    stack: ExitStack,
    read_spent: "Callable[[Reader, datetime], Spent] | None",
) -> Any:
    sandbox = _sandbox(settings, stack)
    embedder = _embedder(settings, stack)
    return Lazy(lambda: build_enricher(settings, sandbox, embedder.open, read_spent))


def _embedder(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.embedding.embedder import OnnxEmbedder

    return Lazy(
        lambda: OnnxEmbedder.open(
            settings.embedding_model, settings.models_dir, settings.threads
        )
    )


def _search(settings: Settings, stack: ExitStack) -> Any:
    opening = partial(open_index, *settings.search_place)
    index = lazy_index(settings.search, opening)
    return stack.enter_context(index)


def _sandbox(settings: Settings, stack: ExitStack) -> Any:
    from news_assets.clients.sandbox import ProcessSandbox

    return stack.enter_context(ProcessSandbox())


_OPEN = {
    "fetcher": _fetcher,
    "embedder": _embedder,
    "search": _search,
    "sandbox": _sandbox,
}


# --- the search index ------------------------------------------------------------------

EMBEDDED = "embedded"
# documents; with more, a search by meaning takes more than a quarter of a second
MOST_EMBEDDED = 3_000_000


class OpenIndex(SearchIndex, Protocol):
    """A search index with its files or connections."""

    def close(self) -> None:
        """Close files and connections."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def open_index(search: str, path: Path, api_key: str) -> OpenIndex:
    """Return the index, which is created if missing.

    Args:
        search: `embedded`, or the address of a Typesense server.
        path: File of the embedded index.
        api_key: Key of the server.

    Raises:
        IndexingError: The index cannot be opened.
    """
    if search == EMBEDDED:
        from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex

        return SqliteSearchIndex.open(path)
    from news_assets.clients.search.typesense.typesense_index import (
        TypesenseSearchIndex,
    )

    return TypesenseSearchIndex.open(search, api_key)


@contextmanager
def open_rebuild(
    search: str,
    path: Path,
    api_key: str,
    dim: int | None,
    model: str | None,
    now: datetime,
) -> "Iterator[IndexRebuild]":
    """Yield a new index to fill, or that of an interrupted rebuild; the index in use
    may be unusable.

    Args:
        search: `embedded`, or the address of a Typesense server.
        path: File of the embedded index.
        api_key: Key of the server.
        dim: Dimensions of the vectors; None without vectors.
        model: Name of the embedding model; None without vectors.
        now: Suffix of a new collection's name.
    """
    if search == EMBEDDED:
        from news_assets.clients.search.embedded.sqlite_index import SqliteRebuild

        with closing(SqliteRebuild.begin(path, dim, model)) as rebuild:
            yield rebuild
    else:
        with closing(connect_typesense(search, path, api_key)) as index:
            yield index.begin_rebuild(dim, model, now)


def connect_typesense(search: str, path: Path, api_key: str) -> "TypesenseSearchIndex":
    """Return the index on the server without a request, for operations that the
    embedded index does not have.

    Raises:
        IndexingError: The setting is `embedded`.
    """
    if search == EMBEDDED:
        raise IndexingError(
            "the embedded index has no search keys; set NEWS_SEARCH=typesense://..."
        )
    from news_assets.clients.search.typesense.typesense_index import (
        TypesenseSearchIndex,
    )

    return TypesenseSearchIndex.connect(search, api_key)


def lazy_index(search: str, open_search: Callable[[], OpenIndex]) -> OpenIndex:
    """Return the index of this setting, which `open_search` opens on first use."""
    backend = search.partition(":")[0]
    index = _LazyIndex(backend, Lazy(open_search))
    return cast(OpenIndex, index)


class _LazyIndex:
    """Implements `ports.SearchIndex` by an index that the first call of a method opens:
    `SqliteSearchIndex` or `TypesenseSearchIndex`.

    An unavailable server fails the operation that needs it, not the start of the
    program.
    """

    def __init__(self, backend: str, index: Lazy[OpenIndex]) -> None:
        self.backend = backend
        self._index = index

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index.open(), name)

    def close(self) -> None:
        """Close the index if it was opened."""
        index = self._index.take()
        if index is not None:
            index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
