"""Hostile documents, markup and addresses: how many cases hold, with CPU time and
memory of the costliest.

Run: `python -m news_assets_tests.quality.hostile`. Reads ../shared/corpus/hostile;
exits 1 below a floor, 0 if it is missing. Each document is read in a process of its
own, where a connection or the resolving of a name is an error, and may take 5 s of CPU
and 200 MB. `best` counts what a case calls a plus.
"""

import html as html_module
import json
import os
import re
import resource
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from socket import AI_NUMERICHOST, gaierror, getaddrinfo
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import psutil
from lxml.html import fragment_fromstring

from news_assets.clients.web.responses import BodyCaps, read_body
from news_assets.clients.web.transport import AddressPolicy
from news_assets.errors import FetchError, SourceError
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.page.markdown import markdown_of_fragment
from news_assets.pipeline.page.readers import read_page
from news_assets.records.desks import Source
from news_assets.records.reading import ExtractedArticle, Listing, Page
from news_assets.sources.source_kinds import KINDS
from news_assets.taxonomy import load_taxonomy
from news_assets.text.html import plain_text, sanitize
from news_assets.text.limits import address, clean_line, identifier
from news_assets.text.urls import canonical_url, web_url
from news_assets_tests.quality.themes import GOVBR_TREE

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "hostile"
FLOORS = {"cases": 1.0, "best": 0.6, "markup": 1.0, "addresses": 1.0, "common": 1.0}
MAX_CPU_S, MAX_MB = 5.0, 200
URL = "https://example.com/feed"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
REFUSED = (SourceError, FetchError)
_WEB = ("http://", "https://")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSAFE_TAGS = frozenset(
    ("base", "button", "embed", "form", "frame", "iframe", "input", "link", "math", "meta", "object", "script",
     "select", "style", "svg", "template", "textarea")
)  # fmt: skip
_URL_ATTRIBUTES = frozenset(
    (
        "action",
        "background",
        "cite",
        "data",
        "formaction",
        "href",
        "longdesc",
        "poster",
        "src",
        "srcset",
        "xlink:href",
    )
)

scores: dict[str, list[bool]] = defaultdict(list)
costs: list[tuple[float, float, str]] = []


class Read(NamedTuple):
    """What became of a document: a listing or an article, or the words of its refusal."""

    listing: Listing | None = None
    article: ExtractedArticle | None = None
    refusal: str | None = None


def main() -> int:
    if not CORPUS.is_dir():
        print(f"skipped: no corpus at {CORPUS}")
        return 0
    # loads libraries
    read_document(
        f"<html><body>{'<p>Uma frase de teste.</p>' * 20}".encode(), "text/html", None
    )
    parts = [part for part in (CORPUS / "dev", CORPUS / "test") if part.is_dir()]
    for part in parts:
        cases(part)
        markup(part)
        addresses(part)
    common()
    below = []
    for name, floor in FLOORS.items():
        share = sum(scores[name]) / max(1, len(scores[name]))
        below += [name] if share < floor else []
        print(
            f"{name:10} {sum(scores[name]):4} of {len(scores[name]):4}  {share:6.1%}  floor {floor:.0%}"
        )
    for cpu_s, megabytes, name in sorted(costs, reverse=True)[:5]:
        print(f"costly     {name:40} {cpu_s:5.2f} s  {megabytes:4.0f} MB")
    print(f"most memory {max((cost[1] for cost in costs), default=0):.0f} MB")
    print(
        "below the floor: " + ", ".join(below)
        if below
        else "all at or above their floors"
    )
    return 1 if below else 0


def score(name: str, mistakes: Iterable[str], what: str) -> None:
    found = list(mistakes)
    scores[name].append(not found)
    if found:
        print(
            f"  {name}: {what}: {'; '.join(found)}"[:400]
            .encode("utf-8", "replace")
            .decode()
        )


def rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


# --- documents ------------------------------------------------------------------------


def cases(part: Path) -> None:
    for row in rows(part / "cases.jsonl"):
        body = (part / row["file"]).read_bytes()
        found = apart(row["id"], lambda body=body, row=row: _found(body, row))  # type: ignore[misc]
        score("cases", found["mistakes"], row["id"])
        if row["expect"].get("titles_best"):
            score(
                "best",
                [] if found.get("best") else [f"titles {found.get('titles')}"],
                row["id"],
            )


def apart(name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run the work in a child process, and return its result with what it cost too
    much.
    """
    reading, writing = os.pipe()
    before = psutil.Process().memory_info().rss / 1024
    child = os.fork()
    if child == 0:
        os.close(reading)
        sys.addaudithook(_refuse)
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(4 * MAX_CPU_S), int(4 * MAX_CPU_S))
        )
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - any other exception is the finding
            result = {"mistakes": [f"{type(error).__name__}: {error}"]}
        with os.fdopen(writing, "w", errors="replace") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status, used = os.wait4(child, 0)
    megabytes, cpu_s = (used.ru_maxrss - before) / 1024, used.ru_utime + used.ru_stime
    costs.append((cpu_s, megabytes, name))
    result = json.loads(text) if text else {"mistakes": [f"killed: status {status}"]}
    result["mistakes"] += [f"{cpu_s:.1f} s of CPU"] if cpu_s > MAX_CPU_S else []
    result["mistakes"] += [f"{megabytes:.0f} MB"] if megabytes > MAX_MB else []
    return dict(result)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in (
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "subprocess.Popen",
        "os.system",
    ):
        raise AssertionError(f"{event} {arguments!r:.100}")
    if event == "open" and str(arguments[0]).startswith(
        ("/etc/passwd", "/etc/hostname", "/dev/random")
    ):
        raise AssertionError(f"read {arguments[0]}")


def _found(body: bytes, row: dict[str, Any]) -> dict[str, Any]:
    read = read_document(body, row["content_type"], row["content_encoding"])
    expect = row["expect"]
    titles = [entry.title for entry in read.listing.entries] if read.listing else []
    best = expect.get("titles_best")
    return {
        "mistakes": list(mistakes_of(read, expect)),
        "best": not best or titles == best,
        "titles": titles,
    }


def read_document(body: bytes, content_type: str, coding: str | None) -> Read:
    try:
        whole = decompressed(body, coding)
        kind, _, parameters = content_type.partition(";")
        charset = parameters.partition("=")[2].strip() or None
        page = Page(
            url=URL,
            final_url=URL,
            status=200,
            body=whole,
            content_type=kind,
            encoding=charset,
            fetched_at=NOW,
        )
        if kind == "text/html":
            return Read(article=read_page(page, "America/Sao_Paulo", "pt-BR"))
        return Read(
            listing=KINDS["json_feed" if "json" in kind else "feed"].parse(
                page, source("feed")
            )
        )
    except REFUSED as error:
        return Read(refusal=str(error))


def decompressed(body: bytes, coding: str | None) -> bytes:
    headers = {"content-encoding": coding} if coding else {}
    into = bytearray()
    read_body(
        httpx.Response(200, headers=headers, stream=httpx.ByteStream(body)),
        BodyCaps(),
        into,
        URL,
    )
    return bytes(into)


def source(kind: str) -> Source:
    return Source(
        source_id="a/1",
        desk="a",
        agency="a",
        kind=kind,
        url=URL,
        timezone="America/Sao_Paulo",
        language="pt",
    )


def mistakes_of(read: Read, expect: dict[str, Any]) -> Iterator[str]:
    is_refused = read.refusal is not None or (
        read.article is not None and read.article.outcome != "ok"
    )
    if expect["outcome"] == "reject" and not is_refused:
        yield "was read"
    if expect["outcome"] == "parse" and is_refused:
        yield f"was refused: {read.refusal or (read.article and read.article.reason)}"
    if read.listing is not None:
        yield from _listing_mistakes(read.listing, expect)
    if read.article is not None and not is_refused:
        yield from _article_mistakes(read.article, expect)
    for value in texts_in(
        asdict(read.listing or read.article) if read.listing or read.article else {}
    ):
        if _NO_TEXT.search(value) or "root:" in value:
            yield f"{value!r} in the output"


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def _listing_mistakes(listing: Listing, expect: dict[str, Any]) -> Iterator[str]:
    yield from _differences(listing, expect)
    stated = (
        [datetime.fromisoformat(expect["published"])] if expect.get("published") else []
    )
    if stated and [entry.published_at for entry in listing.entries] != stated:
        yield f"published {listing.entries[0].published_at}"
    for entry in listing.entries:
        yield from _address_mistakes(entry.url, entry.image_url)
        yield from unsafe_in(entry.content_html or "")
        if entry.published_at and not 1990 <= entry.published_at.year < 2100:
            yield f"published {entry.published_at}"


def _differences(listing: Listing, expect: dict[str, Any]) -> Iterator[str]:
    """Yield what differs from the entries that a case expects."""
    entries = listing.entries
    titles, links = [entry.title for entry in entries], [entry.url for entry in entries]
    ids = [entry.entry_id for entry in entries]
    # not lost silently
    is_reported = any("link" in problem for problem in listing.problems)
    if len(entries) != expect.get("n_items", len(entries)) and not is_reported:
        yield f"{len(entries)} entries instead of {expect['n_items']}"
    if len(entries) < expect.get("min_items", 0):
        yield f"only {len(entries)} entries"
    if expect.get("titles", titles) != titles or expect.get("ids", ids) != ids:
        yield f"titles {titles}, ids {ids}"
    yield from (
        f"no title {one}"
        for one in expect.get("titles_include", ())
        if one not in titles
    )
    yield from (
        f"no {one!r} in {titles}"
        for one in expect.get("titles_contain", ())
        if one not in str(titles)
    )
    wanted = (*expect.get("links_include", ()), *filter(None, expect.get("links", ())))
    yield from (f"no link {one}" for one in wanted if one not in links)


def _address_mistakes(*urls: str | None) -> Iterator[str]:
    for url in filter(None, urls):
        if not url.startswith(_WEB) or "@" in urlsplit(url).netloc:
            yield f"address {url}"


def _article_mistakes(
    article: ExtractedArticle, expect: dict[str, Any]
) -> Iterator[str]:
    text = f"{article.title}\n{article.text}"
    yield from (
        f"no {one!r} in the text"
        for one in [expect.get("text_contains", [])]
        for one in one
        if one not in text
    )
    if "script" in str(expect.get("must_not")) and re.search(
        r"<script|onerror\s*=|javascript:", text, re.IGNORECASE
    ):
        yield f"markup in {text[:100]!r}"
    if "flagged as partial" in expect.get("note", "") and "paywall" not in (
        article.reason or ""
    ):
        yield "not flagged as partial"
    if theme := expect.get("theme"):
        found = enricher().enrich(
            article.title or "", article.text or "", article.language
        )
        if found.theme_path and not found.theme_path[0].startswith(theme):
            yield f"theme {found.theme_path}"
    yield from _address_mistakes(
        article.image_url, article.video_url, *article.out_links
    )


@lru_cache(maxsize=1)
def enricher() -> LocalEnricher:
    return LocalEnricher(load_taxonomy(GOVBR_TREE))


# --- markup ---------------------------------------------------------------------------


def markup(part: Path) -> None:
    for row in rows(part / "sanitize_dompurify.jsonl"):
        for payload in (row["payload"], html_module.unescape(row["payload"])):
            safe = sanitize(payload, "https://example.com/")
            again = (
                []
                if sanitize(safe, "https://example.com/") == safe
                else [f"changes when read again: {safe!r}"]
            )
            score("markup", [*unsafe_in(safe), *again], row["id"])


def unsafe_in(markup: str) -> Iterator[str]:
    """Yield what a browser could run or load in sanitised markup, as lxml reads it."""
    if not markup:
        return
    for element in fragment_fromstring(markup, create_parent="div").iter():
        if not isinstance(element.tag, str) or element.tag.lower() in _UNSAFE_TAGS:
            yield f"element {element.tag}"
            continue
        for name, value in element.attrib.items():
            scheme = re.match(
                r"\s*([a-z][a-z0-9+.-]*):",
                re.sub(r"[\x00-\x20]", "", value),
                re.IGNORECASE,
            )
            if name.lower().startswith("on") or name.lower() in (
                "style",
                "srcdoc",
                "formaction",
            ):
                yield f"attribute {name}"
            elif (
                name in _URL_ATTRIBUTES
                and scheme
                and scheme[1].lower() not in ("http", "https", "mailto")
            ):
                yield f"{name}={value[:60]!r}"


# --- addresses ------------------------------------------------------------------------


def addresses(part: Path) -> None:
    policy = AddressPolicy()
    for row in rows(part / "ssrf_urls.jsonl"):
        is_allowed = allows(
            policy, row["url"], resolves_inside="resolves to" in row["why"]
        )
        wrong = (
            []
            if is_allowed == (row["expect"] == "allow")
            else [f"allowed: {is_allowed}"]
        )
        score("addresses", wrong, f"{row['url']} ({row['why']})")


def allows(policy: AddressPolicy, link: str, *, resolves_inside: bool) -> bool:
    """Return whether a link may be requested, without resolving: names have the address
    that the case states.
    """
    url = web_url(link, "https://example.com/")
    try:
        host = httpx.URL(url or "").raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError):
        return False
    if not host:
        return False
    try:
        resolved = str(getaddrinfo(host.strip("[]"), 80, flags=AI_NUMERICHOST)[0][4][0])
    except (gaierror, UnicodeError):
        name = host.rstrip(".").lower()
        # RFC 6761
        is_inside = (
            resolves_inside or name == "localhost" or name.endswith(".localhost")
        )
        resolved = "127.0.0.1" if is_inside else "1.1.1.1"
    return policy.is_allowed(host, resolved)


# --- published lists ------------------------------------------------------------------


def common() -> None:
    """Any document of these lists is read as every kind: within the limits, and with no
    exception but SourceError.
    """
    folder = CORPUS / "common"
    for file in sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name != "FILES.tsv"
    ):
        coding = re.search(r"-(br|zstd|gzip|deflate)\.bin$|(gz)$", file.name)
        name = "gzip" if coding and coding[2] else coding[1] if coding else None
        found = apart(
            file.name,
            lambda file=file, name=name: _read_as_all(file.read_bytes(), name),
        )  # type: ignore[misc]
        score("common", found["mistakes"], f"{file.parent.name}/{file.name}")
    naughty = json.loads(
        (folder / "naughty_strings" / "blns.json").read_text(encoding="utf-8")
    )
    score(
        "common",
        apart("naughty strings", lambda: _naughty(naughty))["mistakes"],
        "naughty strings",
    )


def _read_as_all(body: bytes, coding: str | None) -> dict[str, Any]:
    mistakes: list[str] = []
    try:
        whole = decompressed(body, coding)
    except FetchError:
        return {"mistakes": []}
    page = Page(
        url=URL,
        final_url=URL,
        status=200,
        body=whole,
        content_type="text/html",
        fetched_at=NOW,
    )
    for kind, adapter in KINDS.items():
        try:
            listing = adapter.parse(page, source(kind))
            mistakes += [
                f"{kind}: {one}"
                for one in mistakes_of(Read(listing=listing), {"outcome": "either"})
            ]
        except SourceError:
            continue
    article = read_page(page, "America/Sao_Paulo")
    mistakes += [
        f"page: {one}"
        for one in mistakes_of(Read(article=article), {"outcome": "either"})
    ]
    return {"mistakes": mistakes}


def _naughty(texts: list[str]) -> dict[str, Any]:
    mistakes = []
    for text in texts:
        mistakes += [f"{text!r}: {one}" for one in unsafe_in(sanitize(text, URL))]
        markdown_of_fragment(sanitize(text, URL))
        for clean in (clean_line, identifier, address, canonical_url, plain_text):
            once = clean(text)
            # what is no address is returned as it is
            is_clean = clean is canonical_url or not _NO_TEXT.search(once)
            if not is_clean or (clean is not plain_text and clean(once) != once):
                mistakes.append(f"{clean.__name__} of {text!r}: {once!r}")
    return {"mistakes": mistakes}


if __name__ == "__main__":
    sys.exit(main())
