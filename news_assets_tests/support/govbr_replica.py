"""The built-in desk `govbr` on loopback: its sources at the same paths, on hosts of our
own, with generated listings.

    with govbr_server() as (port, log):
        desk = local_desk(port, is_one_host=False)

Listings have the format of their kind: Plone's HTML in four templates, plone.restapi's
JSON for Plone 6, EBC's page. `log` gets a line for each request: monotonic seconds,
host, path. The server runs in a process of its own (`python -m
news_assets_tests.support.govbr_replica PORT LOG`), so that its CPU time is not added to
the client's.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Desk, Source
from news_assets.sources.source_kinds import KINDS
from news_assets_tests.support.servers import free_port

LISTED = {"plone_listing": 30, "plone_search": 25, "ebc": 20}  # entries on one page
_READY = "/ready"
_PLONE = (
    (
        '<div id="content-core">{items}</div>',
        '<article class="tileItem"><h2 class="tileHeadline"><a class="summary url" href="{url}">{title}</a></h2>'
        '<p class="tileBody"><span class="description">Resumo de {title}.</span></p><span class="documentByLine">'
        '<span class="summary-view-icon">{at:%d/%m/%Y}</span><span class="summary-view-icon">{at:%Hh%M}</span>'
        "</span></article>",
    ),
    (
        '<ul class="noticias listagem-noticias-com-foto">{items}</ul>',
        '<li><h2 class="titulo"><a href="{url}">{title}</a></h2><span class="descricao">'
        '<span class="data">{at:%d/%m/%Y}</span> - Resumo de {title}.</span></li>',
    ),
    (
        '<div id="content-core"><div class="entries">{items}</div></div>',
        '<article class="entry"><header><span class="summary"><a class="url" href="{url}">{title}</a></span>'
        '<div class="documentByLine"><span class="documentPublished">publicado {at:%d/%m/%Y %Hh%M}</span></div>'
        '</header><p class="description">Resumo de {title}.</p></article>',
    ),
    (
        '<div id="content-core">{items}</div>',
        '<div class="item"><h2 class="headline"><a href="{url}">{title}</a></h2><span class="documentPublished">'
        '{at:%d/%m/%Y %Hh%M}</span><p class="description">Resumo de {title}.</p></div>',
    ),
)
_EBC = (
    "<div>{items}</div>",
    '<div class="ultima-noticia"><a class="titulo-noticia" href="{url}">{title}</a><div class="linha-fina-noticia">'
    'Resumo de {title}.</div><div class="data-publicacao"><span class="data">{at:%d/%m/%Y - %H:%M}</span></div></div>',
)


def local_desk(port: int, *, is_one_host: bool) -> Desk:
    """Return the desk with each agency on a host of its own, or with agencies that
    share a public host on one.
    """
    desk = load_desks(["govbr"], KINDS)[0]
    hosts: dict[str, str] = {}
    agencies = []
    for agency in desk.agencies:
        sources = []
        for source in agency.sources:
            public = str(urlsplit(source.url).hostname) if is_one_host else agency.key
            number = hosts.setdefault(
                public, f"127.20.{len(hosts) // 250}.{len(hosts) % 250 + 1}"
            )
            sources.append(replace(source, url=_moved(source.url, f"{number}:{port}")))
        agencies.append(replace(agency, sources=tuple(sources)))
    return replace(desk, agencies=tuple(agencies))


def _moved(url: str, netloc: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(("http", netloc, parts.path, parts.query, ""))


@contextmanager
def govbr_server() -> Iterator[tuple[int, Path]]:
    """Run the server and yield its port and its log."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests"
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "news_assets_tests.support.govbr_replica",
                str(port),
                str(log),
            ]
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}{_READY}")
            yield port, log
        finally:
            server.terminate()
            server.wait()


def _wait_for(url: str) -> None:
    for _ in range(200):
        with suppress(OSError):
            urlopen(url, timeout=5).close()
            return
        time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


# --- the server's process -------------------------------------------------------------


def listing_of(source: Source, number: int, now: datetime) -> tuple[str, str]:
    """Return content type and body of a source's first page, newest first; `number`
    picks the template.
    """
    path = urlsplit(source.url).path.rstrip("/")
    said = [
        {
            "url": f"{path}/{n}",
            "title": f"Notícia {n} de {source.agency}",
            "at": now - timedelta(hours=5 * n),
        }
        for n in range(1, LISTED[source.kind] + 1)
    ]
    if source.kind == "plone_search":
        items = [
            {
                "@id": one["url"],
                "@type": "News Item",
                "title": one["title"],
                "effective": f"{one['at']:%FT%T+00:00}",
            }
            for one in said
        ]
        answer = {
            "@id": f"{path}/@search",
            "items": items,
            "items_total": 900,
            "batching": {"next": "?b_start=25"},
        }
        return "application/json", json.dumps(answer)
    box, item = _EBC if source.kind == "ebc" else _PLONE[number % len(_PLONE)]
    items_html = "".join(item.format(**one) for one in said)
    pager = f'<ul class="paginacao listingBar"><li><a class="proximo" href="{path}?b_start:int=30">Próximo</a></li></ul>'
    body = f"{box.format(items=items_html)}{'' if source.kind == 'ebc' else pager}"
    head = '<meta charset="utf-8"><title>Notícias</title>'
    return (
        "text/html",
        f'<!DOCTYPE html><html lang="pt-br"><head>{head}</head><body>{body}</body></html>',
    )


def _answers(now: datetime) -> dict[str, bytes]:
    """Return every response by its path."""
    answers = {_READY: _as_http("text/plain", "")}
    for number, source in enumerate(load_desks(["govbr"], KINDS)[0].sources):
        asked = urlsplit(KINDS[source.kind].first_url(source))
        path = asked.path + (f"?{asked.query}" if asked.query else "")
        # tvbrasil and agenciabrasil share path and template
        answers.setdefault(path, _as_http(*listing_of(source, number, now)))
    return answers


def _as_http(content_type: str, text: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}; charset=utf-8\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve(port: int, log: TextIO) -> None:
    answers = _answers(datetime.now(UTC))

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                asked_at, path = time.monotonic(), request.split(" ", 2)[1]
                if path != _READY:
                    log.write(
                        f"{asked_at} {writer.get_extra_info('sockname')[0]} {path}\n"
                    )
                    log.flush()
                writer.write(
                    answers.get(path) or b"HTTP/1.1 404 -\r\ncontent-length: 0\r\n\r\n"
                )
                await writer.drain()
        writer.close()

    # all of 127.0.0.0/8
    server = await asyncio.start_server(answer, "0.0.0.0", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w") as log_file:
        asyncio.run(_serve(int(sys.argv[1]), log_file))
