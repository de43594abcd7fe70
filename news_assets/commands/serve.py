"""The commands `serve` and `mcp`: the pages for readers and operators, and tools for
programs with language models.
"""

import ctypes
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from news_assets.clients.factory import open_ports, subscription_links
from news_assets.commands.opening import open_lake
from news_assets.commands.terminal import Terminal
from news_assets.errors import NewsAssetsError
from news_assets.folders import last_look
from news_assets.settings import Settings

if TYPE_CHECKING:
    from news_assets.web.operations.sessions import Access

_M_ARENA_MAX = -8
_M_MMAP_THRESHOLD = -3  # of mallopt(3)
_MMAP_BYTES = 128 << 10
_ALWAYS = ("localhost", "127.0.0.1", "[::1]")


_Host = Annotated[str, typer.Option(help="address to listen on")]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="port; 0 for a free one")]
_Name = Annotated[
    list[str] | None,
    typer.Option(help="another name that the server is reached by; repeatable"),
]
_Origin = Annotated[
    list[str] | None,
    typer.Option(
        help="https:// address of a site whose pages may read this one; repeatable"
    ),
]
_RequestsPerMinute = Annotated[
    int, typer.Option(min=0, help="most of one client; 0 for no limit")
]
_ConnectionsOfClient = Annotated[
    int,
    typer.Option(
        min=0,
        help="connections from one address; 0, for no limit, behind a proxy",
    ),
]


def serve(
    host: _Host = "127.0.0.1",
    port: _Port = 8970,
    name: _Name = None,
    origin: _Origin = None,
    requests_per_minute: _RequestsPerMinute = 600,
    connections_of_client: _ConnectionsOfClient = 20,
) -> None:
    """Serve until interrupted.

    Raises:
        NewsAssetsError: The address cannot be listened on, or lake, index or desk files
            cannot be opened.
    """
    import uvicorn

    from news_assets.web.app import build_app
    from news_assets.web.archive import Archive
    from news_assets.web.request_limits import STOP_S, Connections, bounded_protocol

    settings = Settings.read()
    listening = _listen(host, port)
    _return_memory()
    opened = ("fetcher",) if settings.page_images else ()
    with (
        listening,
        open_lake(threads=2) as lake,
        Archive.open(settings, lake) as archive,
        open_ports(settings, opened) as ports,
    ):
        archive.load_model()
        hosts = (*_ALWAYS, host, *(name or ()))
        access = _access(settings)
        app = build_app(
            archive,
            hosts,
            origin or (),
            requests_per_minute,
            access,
            ports.get("fetcher"),
            subscription_links(settings),
        )
        Terminal().print_line(
            f"http://{host}:{listening.getsockname()[1]}/ (Ctrl-C stops it)"
        )
        config = uvicorn.Config(
            app,
            http=bounded_protocol(Connections(connections_of_client)),
            ws="none",
            log_level="error",  # clients cause warnings at will
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_S,
        )
        uvicorn.Server(config).run([listening])


def _return_memory() -> None:
    """Let memory go back to the system that one large answer took.

    glibc gives each thread an arena of its own, and keeps blocks of the sizes that were
    freed. Here all threads allocate from two arenas, and large blocks are always
    mapped.
    """
    with suppress(AttributeError, OSError):  # not glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 2)
        libc.mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


def mcp() -> None:
    """Answer the Model Context Protocol on standard input and output until the input
    ends.

    Raises:
        NewsAssetsError: The extra `mcp` is not installed, or lake, index or desk files
            cannot be opened.
    """
    import anyio

    from news_assets.web.archive import Archive

    try:
        from news_assets.web.mcp_tools import serve_tools
    except ModuleNotFoundError as error:
        raise NewsAssetsError(
            f"{error.name} is not installed; pip install --editable '.[mcp]'"
        ) from error
    with open_lake(threads=2) as lake, Archive.open(Settings.read(), lake) as archive:
        anyio.run(serve_tools, archive)


def _access(settings: Settings) -> "Access":
    from news_assets.web.operations.sessions import Access

    def delete_documents(article_ids: Sequence[str]) -> None:
        with open_ports(settings, ("search",)) as ports:
            ports["search"].delete(article_ids)

    token = settings.operator_token.get_secret_value()
    return Access(
        token=token,
        dagster_url=settings.dagster_url,
        dagster_public_url=settings.dagster_public_url,
        delete_documents=delete_documents,
        last_look=partial(last_look, settings.home),
    )


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise NewsAssetsError(
            f"{host}:{port} cannot be listened on: {error.strerror}; name another with --host and"
            " --port"
        ) from error
