"""Which operations of a lake grow faster than their result: `python -m
news_assets_tests.bench.large_lake [--articles 10000000] [--s3]`.

A made lake of 1,000,000 articles over five years, or of as many as are given, is
compared with two of 100,000: one has the same days and fewer articles a day, the other
the same articles a day and only the last days. An operation over some days has more to
read than in the first lake, and as much as in the second, however old the archive is.

Beside each time is the number of rows that the operation returns, or sums up of the
days it is about. Fails where a time has grown more than MOST times as much as this
number, by more than SLACK_MS, which allows for fixed costs and other load.
Times are the least processor time of some runs, of one process and of Postgres.

500 agencies of one desk; which one an article is from and the length of its text follow
Zipf's law, 90 words on average. Files have up to 25,000 articles. The catalog is in
Postgres, the data in a folder, or with --s3 on a server that speaks S3 (moto's, in
memory; with MOTO_S3_DEFAULT_KEY_BUFFER_SIZE=100000 in temporary files). Pages are
stored for the last 400 days, vectors have 8 dimensions, and those of stories 384, drawn
from 300.
"""

import argparse
import asyncio
import itertools
import logging
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.pipeline.articles.dedupe import marked_articles, store_marked
from news_assets.pipeline.articles.likeness import minhash
from news_assets.pipeline.enrich.enrich import enrich_batch
from news_assets.pipeline.stages import stage_named
from news_assets.pipeline.stories.packing import pack_features, pack_vector
from news_assets.pipeline.stories.update import Kept, update_stories
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import ArticleEmbedding
from news_assets.records.desks import Agency, Desk, KeepDays
from news_assets.records.reading import AgencyDays
from news_assets.search import Index
from news_assets.store.address import Address
from news_assets.store.backup import back_up, plan_restore, restore
from news_assets.store.lake import Lake
from news_assets.store.maintenance import lake_size, maintain
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.story_lists import (
    StoryFilters,
    days_without_stories,
    ranked_stories,
)
from news_assets.store.retention import delete_old_rows
from news_assets.store.tables import ArrowStream
from news_assets.store.transaction import Transaction
from news_assets.taxonomy import load_taxonomy
from news_assets.text.fingerprint import text_hash
from news_assets.web.app import build_app
from news_assets.web.archive import Archive
from news_assets.web.operations.monitoring import coverage
from news_assets_tests.bench.backlog import _STAGES
from news_assets_tests.bench.lake import catalog_in
from news_assets_tests.bench.stories import DIM, Made
from news_assets_tests.store.examples import full
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.s3 import BUCKET, s3_bucket
from news_assets_tests.support.small_desk import Words

SMALL = 100_000
MOST, SLACK_MS = 2.0, 100.0
LAST = date(2026, 11, 10)
NOW = datetime(2026, 11, 10, 20, tzinfo=UTC)
DAYS_OF_FIVE_YEARS = 1826
AGENCIES = 500
_TOGETHER = 25_000  # articles of a file
_KEPT_PAGES = timedelta(days=400)
_SAMPLES = 300
_ATTEMPTS = 20
DESK = Desk(
    key="govbr",
    timezone="UTC",
    language="pt-BR",
    first_day=LAST - timedelta(days=DAYS_OF_FIVE_YEARS - 1),
    agencies=tuple(
        Agency(
            key=f"agency{n:03}",
            name=f"Ministério agency{n:03}",
            timezone="UTC",
            language="pt-BR",
            sources=(),
        )
        for n in range(AGENCIES)
    ),
)

# --- a made lake ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Size:
    """How many articles a lake has, and how many days up to LAST."""

    articles: int
    days: int

    @property
    def first_day(self) -> date:
        return LAST - timedelta(days=self.days - 1)

    def numbers(self, first: date, last: date) -> tuple[int, int]:
        """Return the number of the first article of these days, and of the next after
        them.
        """

        def first_of(day: date) -> int:
            return -(-(day - self.first_day).days * self.articles // self.days)

        return first_of(first), min(self.articles, first_of(last + timedelta(days=1)))

    def between(self, first: date, last: date) -> int:
        """Return how many articles the days have that are in the lake."""
        from_i, to_i = self.numbers(max(first, self.first_day), last)
        return to_i - from_i

    def months(self) -> Iterator[tuple[date, date]]:
        """Yield the first and last day of each month."""
        first = self.first_day
        while first <= LAST:
            following = (first.replace(day=1) + timedelta(days=32)).replace(day=1)
            last = min(LAST, following - timedelta(days=1))
            yield first, last
            first = following

    def spans(self, first: date, last: date) -> Iterator[tuple[date, date]]:
        """Yield the first and last day of parts of these days with about _TOGETHER
        articles.
        """
        days = timedelta(days=max(1, _TOGETHER * self.days // self.articles))
        while first <= last:
            yield first, min(last, first + days - timedelta(days=1))
            first += days


_BODIES = """
    CREATE TABLE given.bodies AS
    SELECT k, string_agg(word, ' ') AS body FROM (
        SELECT k, md5((hash(k * 1000 + j) % 5000)::VARCHAR)[:2 + (hash(k * 1000 + j) % 9)::INT] AS word
        FROM range(2000) texts(k), range(900) words(j)
        WHERE j < greatest(20, 900 / (1 + k % 200) ** 0.6)
    ) GROUP BY k
"""
_MADE = f"""
    CREATE OR REPLACE TEMP TABLE made AS
    SELECT i, day, agency, sha256(i::VARCHAR) AS h, day::TIMESTAMPTZ + to_seconds(i % 80000) AS seen_at,
        concat(agency, '-', day, '-um-titulo-qualquer-', h[:10]) AS article_id,
        concat(min(day) OVER (PARTITION BY i // 3), '-', i // 3) AS story_id
    FROM (
        SELECT i, $first_day::DATE + (i * $days::BIGINT // $articles)::INT AS day,
            'agency' || lpad(floor({AGENCIES} ** ((hash(i) % 1000003) / 1000003.0) - 1)::INT::VARCHAR, 3, '0') AS agency
        FROM range($from_i, $to_i) numbers(i)
    )
"""
_ARTICLES = """
    INSERT INTO raw_articles BY NAME
    SELECT article_id, 'govbr' AS desk, agency, day, agency || '-feed' AS source_id,
        'https://www.gov.br/' || agency || '/noticias/' || h AS url, url AS entry_id, sha256('e' || i) AS entry_hash,
        url AS canonical_url, sha256('u' || i) AS url_hash, sha256('t' || i) AS text_hash,
        sha256('c' || i) AS content_hash, 'Um título qualquer ' || i AS title, ['A B'] AS authors, ['x', 'y'] AS tags,
        'pt-BR' AS "language", seen_at AS first_seen_at, seen_at AS published_at, seen_at AS fetched_at,
        body || ' ' || h AS "text", 'page' AS text_origin, length("text") AS text_chars, 90 AS word_count,
        []::VARCHAR[] AS out_links, CASE WHEN i % 20 = 1 THEN lag(article_id) OVER (ORDER BY i) END AS duplicate_of,
        if(duplicate_of IS NULL, NULL, 'same text') AS duplicate_reason, 'ok' AS outcome, 1 AS rev_n, 0 AS attempts,
        h[:16] AS trace_id
    FROM made JOIN given.bodies ON k = i % 2000 WHERE day BETWEEN $1 AND $2
    ORDER BY article_id
"""
_COPY_KEYS = """
    INSERT INTO copy_keys BY NAME
    SELECT article_id, day, unhex(h || md5(h)[:8]) AS copy_key FROM made ORDER BY day
"""
_MEMBERS = f"""
    INSERT INTO story_members BY NAME
    SELECT article_id, 'govbr' AS desk, agency, day, story_id, seen_at AS first_seen_at,
        sha256('c' || i) AS content_hash, 'minilm' AS model, 1.0 AS score, i % 20 = 1 AS is_copy, 'pt' AS "language",
        vector, features, seen_at AS placed_at, 'ok' AS outcome, '' AS trace_id
    FROM made JOIN given.samples ON k = hash(story_id) % {_SAMPLES}
    ORDER BY day
"""
_STORIES = """
    INSERT INTO stories BY NAME
    SELECT story_id, min(article_id) AS article_id, 'Um título' AS title, min(day) AS day, max(day) AS last_day,
        min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at, count(*) AS article_count,
        count(*) AS publisher_count, list('govbr/' || agency) AS publishers, ['pt'] AS languages,
        max(day) < $last_day::DATE - 7 AS is_closed, max(seen_at) AS updated_at
    FROM made GROUP BY story_id ORDER BY story_id
"""
_PAGES = """
    INSERT INTO pages BY NAME
    SELECT article_id, desk, agency, day, url, url AS final_url, 200 AS status, 'text/html' AS content_type,
        fetched_at, article_id AS page_hash, encode("text"[:300]) AS body_gzip, 300 AS body_bytes
    FROM raw_articles WHERE day BETWEEN $1 AND $2
"""
_SOURCES = f"""
    INSERT INTO sources BY NAME
    SELECT agency || '-feed' AS source_id, 'govbr' AS desk, agency, $now::TIMESTAMPTZ AS last_polled_at,
        $now::TIMESTAMPTZ AS last_new_at, $now::TIMESTAMPTZ + INTERVAL 1 HOUR AS next_poll_at, 3600.0 AS interval_s,
        'ok' AS last_outcome
    FROM (SELECT 'agency' || lpad(n::VARCHAR, 3, '0') AS agency FROM range({AGENCIES}) numbers(n))
"""


def fill(place: "Place", size: Size) -> None:
    """Store a made lake, a month in a transaction."""
    with place.open(memory_mb=3_000) as lake:
        lake.transact(_make_texts)
        lake.transact(lambda rows: rows.cursor.execute(_SOURCES, {"now": NOW}))
        for month in size.months():
            lake.transact(partial(_fill_month, size=size, month=month))


def _make_texts(rows: Transaction) -> None:
    """Make the texts and what stories are found by, in a database in memory."""
    rows.cursor.execute("ATTACH ':memory:' AS given")
    rows.cursor.execute(_BODIES)
    rows.cursor.register("made", ArrowStream(_samples()))
    rows.cursor.execute("CREATE TABLE given.samples AS FROM made")
    rows.cursor.unregister("made")


def _samples() -> pl.DataFrame:
    """Return the vectors and words that the members of stories have."""
    made = Made()
    found: dict[str, list[Any]] = {"k": [], "vector": [], "features": []}
    for n in range(_SAMPLES):
        one = made.article(str(n), LAST, made.event())
        found["k"].append(n)
        found["vector"].append(pack_vector(one.vector))
        found["features"].append(pack_features(one.features))
    return pl.DataFrame(found)


def _fill_month(rows: Transaction, size: Size, month: tuple[date, date]) -> None:
    run = rows.cursor.execute
    from_i, to_i = size.numbers(*month)
    numbers = {"from_i": from_i, "to_i": to_i, "first_day": size.first_day}
    run(_MADE, numbers | {"days": size.days, "articles": size.articles})
    entries, enriched, *others = _STAGES
    for span in size.spans(*month):
        for statement in (_ARTICLES, entries, enriched):
            run(statement, list(span))
    for statement in others:
        run(statement, list(month))
    run(_COPY_KEYS)
    run(_MEMBERS)
    run(_STORIES, {"last_day": LAST})
    if month[1] > LAST - _KEPT_PAGES:
        run(_PAGES, list(month))


# --- what is measured -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lake is: its catalog and its data."""

    folder: Path
    catalog: str
    data: str

    @property
    def address(self) -> Address:
        return Address(self.catalog, self.data)

    def cpu_s(self) -> float:
        """Return the processor time of this process and of the Postgres server so far."""
        server = int((self.folder / "postgres/postmaster.pid").read_text().split()[0])
        ticks = 0
        for file in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = file.read_text().rpartition(")")[2].split()
                if server in (int(file.parent.name), int(fields[1])):
                    ticks += sum(map(int, fields[11:15]))  # with ended children
        return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")

    def open(self, memory_mb: int = 512, threads: int = 2) -> Lake:
        return Lake.open(self.catalog, self.data, memory_mb=memory_mb, threads=threads)


@dataclass(frozen=True, slots=True)
class Took:
    """What an operation took: milliseconds of processor time, seconds by the clock, and
    the rows that it returned or summed up.
    """

    ms: float
    seconds: float
    rows: int


Work = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Operation:
    """What is measured so many times, each time after a preparation that is not: its
    work returns the number of rows.
    """

    name: str
    work: Work
    times: int = 3
    prepare: Callable[[], object] = bool


def took(one: Operation, place: Place) -> Took:
    """Return the cheapest of some runs."""
    found: list[Took] = []
    for _ in range(one.times):
        one.prepare()
        started, worked = time.perf_counter(), place.cpu_s()
        rows = one.work()
        cpu_s = place.cpu_s() - worked
        found.append(Took(cpu_s * 1000, time.perf_counter() - started, rows))
    return min(found, key=lambda run: run.ms)


def days_of(first: date, last: date) -> AgencyDays:
    """Return all agencies on each of these days."""
    pairs = set[tuple[str, date]]()
    for n in range((last - first).days + 1):
        for agency in DESK.agencies:
            pairs.add((agency.key, first + timedelta(days=n)))
    return AgencyDays(DESK.key, frozenset(pairs))


class Requests:
    """Requests of the web application, in this process."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.forget()

    def forget(self) -> None:
        """Drop the answers that are kept."""
        self._app = build_app(self._archive, ("testserver",))

    def get(self, path: str) -> Any:
        """Return the document at a path, or the text of a page."""
        for _ in range(_ATTEMPTS):
            answer = asyncio.run(self._get(path))
            if answer.status_code != 503:  # beyond its time on a busy machine
                break
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text[-900:]}")
        if "json" in answer.headers["content-type"]:
            return answer.json()
        return answer.text

    async def _get(self, path: str) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        base = "http://testserver"
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.get(path, timeout=600)


def reads(lake: Lake, size: Size) -> Iterator[Operation]:
    """Yield the operations that change nothing."""
    middle = LAST - timedelta(days=size.days // 2)
    first_day = LAST - timedelta(days=34)

    yield Operation(
        "read a day", lambda: lake.frame(RawArticle, days_of(middle, middle)).height, 3
    )

    def backlog(since: date) -> int:
        found = pending_entries(lake, DESK, NOW, since).height
        found += stale_rows(lake, DESK, NOW, since).height
        assert not found
        return size.between(since, LAST)

    yield Operation("backlog of 35 days", lambda: backlog(first_day), 3)
    yield Operation("backlog of all days", lambda: backlog(size.first_day), 1)
    new = new_article(example_of(lake), 0)

    def copies() -> int:
        [row] = marked_articles(lake, [new])
        assert row.duplicate_of is None
        return 1

    yield Operation("near copies of a new article", copies, 5)

    def stories() -> int:
        week = StoryFilters(first_day=LAST - timedelta(days=6), last_day=LAST)
        assert ranked_stories(lake, week, limit=50)
        return size.between(week.first_day, LAST)

    yield Operation("stories of a week, ranked", stories, 3)

    def without_stories() -> int:
        week = LAST - timedelta(days=7)
        assert not days_without_stories(lake, [DESK.key], week, NOW)
        return size.between(week, LAST)

    yield Operation("days without stories, of a week", without_stories, 3)


def pages(lake: Lake, folder: Path, size: Size) -> Iterator[Operation]:
    """Yield the operations of pages and API."""
    middle = LAST - timedelta(days=size.days // 2)
    of_day = "SELECT article_id FROM raw_articles WHERE day = $1 ORDER BY article_id"
    ids = lake.query(of_day, [middle])["article_id"].to_list()
    numbers = itertools.count()
    index = SqliteSearchIndex.open(folder / "search.sqlite")
    archive = Archive(
        Index(index, Words, index.close), lake, [DESK], {DESK.key: load_taxonomy()}
    )
    web = Requests(archive)

    def listed(name: str, filters: str) -> Operation:
        path = f"/api/v1/articles?limit=50{filters}"
        work = lambda: len(web.get(path)["items"])  # noqa: E731
        return Operation(f"list page, {name}", work, 5, web.forget)

    yield listed("newest", "")
    yield listed("of an agency", "&agency=agency100")
    yield listed("of an old day", f"&from={middle}&to={middle}")

    def article() -> int:
        key = ids[next(numbers) % len(ids)]
        assert key in web.get(f"/articles/{key}")
        return 1

    yield Operation("page of an old article", article, 5)

    def covered() -> int:
        table = coverage(archive, DESK, NOW)
        counts = 0
        for _, _, cells in table.rows:
            counts += sum(cell.articles for cell in cells if cell)
        assert counts == size.between(table.days[-1], LAST)
        return counts

    yield Operation("coverage", covered, 3)


def example_of(lake: Lake) -> RawArticle:
    """Return a stored article of the last day."""
    return lake.read(RawArticle, days_of(LAST, LAST))[0]


def new_article(stored: RawArticle, number: int) -> RawArticle:
    """Return an article of the same day and agency with a text of its own."""
    text = " ".join(f"word{number}x{n}" for n in range(200))
    return replace(
        stored,
        article_id=f"{stored.agency}-{stored.day}-novo-{number:010}",
        url_hash=f"new{number}",
        text=text,
        text_chars=len(text),
        text_hash=text_hash(text),
        lead_minhash=minhash(text),
        content_hash=f"new{number}",
        duplicate_of=None,
    )


class Writes:
    """The operations that change a lake."""

    def __init__(self, lake: Lake, size: Size) -> None:
        self._lake, self._size = lake, size
        self._middle = LAST - timedelta(days=size.days // 2)
        self._day = lake.read(RawArticle, days_of(self._middle, self._middle))
        self._example = example_of(lake)
        self._numbers = itertools.count(1)
        self._made = Made()
        self._kept: Kept = {}
        self._re_enriched = 0

    def operations(self) -> Iterator[Operation]:
        """Yield the operations in their order."""
        yield Operation("first maintenance, of all", self._maintained_first, 1)
        yield Operation("backlog with a new entry", self._pending, 3, self._list)
        yield Operation("replace a day", self._replaced, 2)
        yield Operation("store a new article", self._stored)
        first, following = "place an article, first of a process", "place another"
        yield Operation(first, self._placed, 1, self._embed)
        yield Operation(following, self._placed, 3, self._embed)
        yield Operation("enrich a month again", self._enriched, 1)
        yield Operation("retention of a month of pages", self._deleted, 1)
        yield Operation("maintenance after these", self._maintained, 1)
        yield Operation("maintenance, nothing to do", self._maintained, 1)

    def _list(self) -> None:
        """Store an entry without an article."""
        new = new_article(self._example, next(self._numbers))
        entry = full(
            FeedEntry,
            source_id=f"{new.agency}-feed",
            entry_id=new.article_id,
            desk=DESK.key,
            agency=new.agency,
            day=LAST,
            article_id=new.article_id,
        )
        self._lake.transact(lambda rows: rows.upsert([entry]))

    def _pending(self) -> int:
        first_day = LAST - timedelta(days=34)
        assert pending_entries(self._lake, DESK, NOW, first_day).height
        return self._size.between(first_day, LAST)

    def _replaced(self) -> int:
        self._lake.transact(lambda rows: rows.upsert(self._day))
        return len(self._day)

    def _stored(self) -> int:
        new = new_article(self._example, next(self._numbers))
        self._lake.transact(lambda rows: store_marked(rows, [new], {}))
        return 1

    def _embed(self) -> None:
        """Store an article with its vector."""
        new = new_article(self._example, next(self._numbers))
        vector = self._made.article("", LAST, self._made.event()).vector
        embedded = full(
            ArticleEmbedding,
            article_id=new.article_id,
            desk=DESK.key,
            agency=new.agency,
            day=LAST,
            content_hash=new.content_hash,
            model="minilm",
            dim=DIM,
            vector=tuple(vector.tolist()),
            outcome="ok",
        )
        self._lake.transact(lambda rows: rows.upsert([new]))
        self._lake.transact(lambda rows: rows.upsert([embedded]))

    def _placed(self) -> int:
        """Place the articles without a story; return how many they are compared with."""
        counts = update_stories(
            self._lake, [LAST], lambda: NOW, InlineSandbox(), kept=self._kept
        )
        assert counts["placed"]
        return self._size.between(LAST - timedelta(days=7), LAST)

    def _enriched(self) -> int:
        """Enrich the days of a month again by a model that takes no time."""
        day = max(self._size.first_day, self._middle.replace(day=1))
        last = min(LAST, day + timedelta(days=29))
        stage, model = stage_named("enriched_articles"), Words(model="2")
        written = 0
        while day <= last:
            keys = days_of(day, day)
            written += enrich_batch(
                stage,
                self._lake,
                DESK,
                keys,
                lambda: NOW,
                enricher=model,
                re_enrich=True,
            )
            day += timedelta(days=1)
        self._re_enriched = written
        return written

    def _deleted(self) -> int:
        oldest = max(self._size.first_day, LAST - _KEPT_PAGES)
        following = (oldest.replace(day=1) + timedelta(days=32)).replace(day=1)
        keep = KeepDays(pages=(LAST - following).days)
        found = sum(one.rows for one in delete_old_rows(self._lake, keep, NOW))
        assert found
        return found

    def _maintained_first(self) -> int:
        """Merge the files of the whole lake, as it is filled without maintenance."""
        self._maintained()
        return self._size.articles

    def _maintained(self) -> int:
        maintain(self._lake, now=NOW + timedelta(days=3))
        return self._re_enriched


def backups(place: Place) -> Iterator[Operation]:
    """Yield backup and restore."""
    folder = place.folder / "backups"

    def files_of() -> int:
        with place.open() as lake:
            return lake_size(lake).files

    files = files_of()

    def backed_up() -> int:
        return len(back_up(place.address, folder, NOW).files)

    def restored() -> int:
        [file] = folder.iterdir()
        plan = plan_restore(place.address, file)
        assert not plan.missing
        restore(place.address, plan, NOW)
        assert files_of() == files
        return files

    yield Operation("backup", backed_up, 1)
    yield Operation("restore", restored, 1)


def measure(place: Place, size: Size) -> dict[str, Took]:
    """Return what each operation took, by its name."""
    found: dict[str, Took] = {}

    def run(operations: Iterator[Operation]) -> None:
        for one in operations:
            found[one.name] = cost = took(one, place)
            print(
                f"  {one.name:38}{cost.ms:10,.0f} ms{cost.seconds:9.1f} s{cost.rows:12,}",
                flush=True,
            )

    def opened() -> int:
        with place.open() as lake:
            return min(1, lake.snapshot())

    run(iter([Operation("open the lake", opened)]))
    with place.open() as lake:
        run(reads(lake, size))
        run(pages(lake, place.folder, size))
    with place.open(threads=1) as lake:  # as runs do: two need twice the memory
        run(Writes(lake, size).operations())
    run(backups(place))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  peak memory {peak_mb:,} MB", flush=True)
    return found


# --- the comparison -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Growth:
    """How much more one took than another: time and rows."""

    times: float
    rows: float
    is_too_much: bool


def growth(before: Took, after: Took) -> Growth:
    """Return the growth; it is too much where the time has grown more than MOST times
    as much as the rows, by more than SLACK_MS.
    """
    rows = max(1.0, after.rows / before.rows)
    allowed = before.ms * rows * MOST + SLACK_MS
    return Growth(after.ms / before.ms, rows, after.ms > allowed)


def measured(folder: Path, data: str, size: Size) -> dict[str, Took]:
    """Fill a lake and return what its operations took, each in a process of its own."""
    folder.mkdir(parents=True)
    folder.chmod(0o755)  # Postgres runs as another user
    place = Place(
        folder, catalog_in(folder, is_postgres=True), data or str(folder / "data")
    )
    spawn = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    filling = spawn.Process(target=fill, args=(place, size))
    filling.start()
    filling.join()
    if filling.exitcode:
        raise SystemExit("the lake could not be filled")
    with place.open() as lake:
        state = lake_size(lake)
    per_article = state.file_bytes / size.articles
    print(
        f"{size.articles:,} articles over {size.days:,} days: {state.files:,} files,"
        f" {per_article:,.0f} bytes per article, filled in {time.perf_counter() - started:,.0f} s",
        flush=True,
    )
    with ProcessPoolExecutor(1, spawn) as process:
        return process.submit(measure, place, size).result()


def report(few: dict[str, Took], short: dict[str, Took], whole: dict[str, Took]) -> int:
    """Print a line for each operation, and return how many grew too much."""
    print(
        f"{'':38}{'few':>9}{'short':>9}{'whole':>10}   few to whole    short to whole"
    )
    print(
        f"{'':38}{'ms':>9}{'ms':>9}{'ms':>10}{'time':>8}{'rows':>8}{'time':>10}{'rows':>8}"
    )
    wrong = 0
    for name, one in whole.items():
        before = (few[name], short[name])
        to_few, to_short = (growth(other, one) for other in before)
        is_wrong = to_few.is_too_much or to_short.is_too_much
        wrong += is_wrong
        times = "".join(f"{other.ms:9,.0f}" for other in before) + f"{one.ms:10,.0f}"
        factors = f"{to_few.times:8.1f}{to_few.rows:8.1f}{to_short.times:10.1f}{to_short.rows:8.1f}"
        print(
            f"{name:38}{times}{factors}{'  faster than its result' if is_wrong else ''}"
        )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=1_000_000)
    parser.add_argument(
        "--s3", action="store_true", help="the data on a server that speaks S3"
    )
    parser.add_argument(
        "--small", type=int, default=SMALL, help="articles of the small lakes"
    )
    options = parser.parse_args()
    whole = Size(options.articles, DAYS_OF_FIVE_YEARS)
    sizes = {
        "few": Size(options.small, DAYS_OF_FIVE_YEARS),
        "short": Size(
            options.small, max(1, options.small * DAYS_OF_FIVE_YEARS // whole.articles)
        ),
        "whole": whole,
    }
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} processors, load {load:.1f}",
        flush=True,
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = s3_bucket() if options.s3 else nullcontext(({}, None))
    found: dict[str, dict[str, Took]] = {}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        server as (variables, _),
    ):
        os.environ.update(variables)
        Path(folder).chmod(0o755)
        for name, size in sizes.items():
            data = f"s3://{BUCKET}/{name}" if options.s3 else ""
            found[name] = measured(Path(folder) / name, data, size)
    wrong = report(**found)
    print(f"load {os.getloadavg()[0]:.1f}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
