"""A made week of news through the graph: labelled events over three desks in two
languages, with copies, edits and withdrawals, read back by the pages' API.

    python -m news_assets_tests.quality.made_week [--keep FOLDER]

Fourteen publishers have feeds and pages on loopback hosts. The desks are polled and
processed by `dagster asset materialize`, as in CI; then some articles are edited, some
are gone and some are withdrawn by an operator, and everything runs again. Prints shares
of what is right; exits 1 below a floor. Floors are raised and never lowered.
"""

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import yaml

from news_assets_tests.quality.stories import CORPUS, bcubed, lines
from news_assets_tests.support.servers import free_port
from news_assets_tests.support.waiting import HANG_S

PROGRAMS = Path(sys.executable).parent
DAYS = 7
OTHER_TEXTS = 60
EVERY_COPIED = 4  # of so many events one article is copied by another publisher
SHOWN = 5  # of what is wrong, for each share
EDITED, GONE, WITHDRAWN = 8, 4, 4
ADDED = "The mayor said on Friday that 7431 more people had asked for help."
DESKS = {
    "jornais": ("pt", ("estadao", "folha", "jb", "oglobo", "gpovo")),
    "wires": ("en", ("north", "south", "east", "west", "coast")),
    "world": ("en", ("globe", "planet", "orbit", "meridian")),
}
FLOORS = {
    "articles that are stored": 1.0,
    "F1 of stories": 0.9,
    "precision of stories": 0.93,
    "copies in the story of their original": 0.95,
    "publishers in the order of publication": 1.0,
    "story pages whole and at most 60 kB": 1.0,
    "edits in the timeline": 1.0,
    "articles that are gone once stay": 1.0,
    "withdrawn articles out of stories, pages and search": 1.0,
    "ids of stories that stayed": 0.95,
}


@dataclass
class Piece:
    """An article of a publisher, and what happens to it."""

    key: str
    desk: str
    publisher: str
    event: str
    title: str
    text: str
    published_at: datetime
    is_copy: bool = False
    updated_at: datetime | None = None
    is_gone: bool = False


@dataclass
class Week:
    """The publishers' sites; `hosts` has the address of each publisher."""

    port: int
    pieces: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = [name for _, publishers in DESKS.values() for name in publishers]
        self.hosts = {name: f"127.11.0.{n}" for n, name in enumerate(names, 1)}

    def base(self, publisher: str) -> str:
        return f"http://{self.hosts[publisher]}:{self.port}"

    def url(self, piece: Piece) -> str:
        return f"{self.base(piece.publisher)}/news/{piece.key}"

    def feed(self, host: str) -> str:
        """Return the Atom feed of the publisher at this host."""
        entries = []
        for piece in self.pieces:
            if self.hosts[piece.publisher] != host:
                continue
            updated = piece.updated_at or piece.published_at
            entries.append(
                f"<entry><id>{self.url(piece)}</id><title>{html.escape(piece.title)}</title>"
                f'<link href="{self.url(piece)}"/><published>{piece.published_at.isoformat()}</published>'
                f"<updated>{updated.isoformat()}</updated></entry>"
            )
        return (
            '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:n</id>'
            f"<updated>{datetime.now(UTC).isoformat()}</updated>{''.join(entries)}</feed>"
        )

    def page(self, host: str, key: str) -> str | None:
        """Return the page of an article; None if there is none."""
        for piece in self.pieces:
            if piece.key == key and self.hosts[piece.publisher] == host:
                return None if piece.is_gone else _page(piece)
        return None

    def write_desks(self, folder: Path) -> list[str]:
        """Write the desk files and return their paths."""
        first_day = (datetime.now(UTC) - timedelta(days=DAYS + 1)).date()
        paths = []
        for key, (language, publishers) in DESKS.items():
            agencies = {}
            for name in publishers:
                source = {"kind": "feed", "url": f"{self.base(name)}/feed"}
                agencies[name] = {"name": name.title(), "sources": [source]}
            desk = {
                "desk": key,
                "timezone": "UTC",
                "language": language,
                "first_day": first_day.isoformat(),
                "agencies": agencies,
            }
            path = folder / f"{key}.yaml"
            path.write_text(yaml.safe_dump(desk), encoding="utf-8")
            paths.append(str(path))
        return paths


def _page(piece: Piece) -> str:
    paragraphs = "".join(
        f"<p>{html.escape(line)}</p>"
        for line in piece.text.splitlines()
        if line.strip()
    )
    at = piece.published_at.isoformat()
    return (
        f"<!doctype html><html><head><title>{html.escape(piece.title)}</title>"
        f'<meta property="article:published_time" content="{at}"></head><body><nav>'
        f'<a href="/">Home</a></nav><article><h1>{html.escape(piece.title)}</h1>'
        f'<time datetime="{at}">{at}</time>{paragraphs}</article>'
        "<footer>All rights reserved</footer></body></html>"
    )


# --- what is published ----------------------------------------------------------------


def made_week(port: int) -> Week:
    """Return the sites with the labelled events, other texts and copies."""
    week = Week(port)
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=DAYS - 1)
    _add_events(week, "stories_cstnews", ("jornais",), start)
    _add_events(week, "stories_ecbplus", ("wires", "world"), start)
    _add_others(week, start)
    _add_copies(week)
    return week


def _add_events(week: Week, name: str, desks: Sequence[str], start: datetime) -> None:
    """Add the events of a set, each on a day of the week and the next."""
    of_event: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in lines(f"{name}/dev/articles.jsonl.gz"):
        of_event[row["story"]].append(row)
    for n, (event, rows) in enumerate(sorted(of_event.items())):
        publishers = [(desk, one) for desk in desks for one in DESKS[desk][1]]
        begun = start + timedelta(days=n % (DAYS - 1), hours=-1 - n % 5)
        for k, row in enumerate(rows):
            desk, publisher = publishers[(n + k) % len(publishers)]
            title, text = _titled(row["title"], row["text"])
            week.pieces.append(
                Piece(
                    key=f"{re.sub('[^a-z0-9]+', '-', event.lower())}-{k}",
                    desk=desk,
                    publisher=publisher,
                    event=event,
                    title=title,
                    text=text,
                    published_at=begun + timedelta(minutes=37 * k),
                )
            )


def _titled(title: str, text: str) -> tuple[str, str]:
    """Return title and text; a text without a title has its first words as one."""
    text = text.strip("\ufeff")
    title = title.strip("\ufeff") or " ".join(text.split()[:9])
    return title, text.removeprefix(title).strip() or text


def _add_others(week: Week, start: datetime) -> None:
    """Add texts that are no labelled event, each its own."""
    rows = lines("themes_ptnews_sections/dev/data.jsonl")[:OTHER_TEXTS]
    publishers = DESKS["jornais"][1]
    for n, row in enumerate(rows):
        title, text = _titled("", row["text"])
        week.pieces.append(
            Piece(
                key=f"other-{n}",
                desk="jornais",
                publisher=publishers[n % len(publishers)],
                event=f"other-{n}",
                title=title,
                text=text,
                published_at=start + timedelta(hours=2.5 * n),
            )
        )


def _add_copies(week: Week) -> None:
    """Let another publisher of the desk, or of another one, repeat an article."""
    longest: dict[str, Piece] = {}
    for piece in week.pieces:
        known = longest.get(piece.event)
        if known is None or len(piece.text) > len(known.text):
            longest[piece.event] = piece
    events = [one for event, one in sorted(longest.items()) if "other" not in event]
    for n, original in enumerate(events[::EVERY_COPIED]):
        desk = "wires" if n % 3 == 0 else original.desk
        publishers = [one for one in DESKS[desk][1] if one != original.publisher]
        week.pieces.append(
            Piece(
                key=f"copy-{original.key}",
                desk=desk,
                publisher=publishers[n % len(publishers)],
                event=original.event,
                title=original.title,
                text=original.text,
                published_at=original.published_at + timedelta(hours=3),
                is_copy=True,
            )
        )


# --- the product, as a user runs it ---------------------------------------------------


@contextmanager
def published(week: Week) -> Iterator[None]:
    """Serve the sites."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers["Host"].partition(":")[0]
            body = None
            if self.path == "/feed":
                body = week.feed(host)
            elif self.path.startswith("/news/"):
                body = week.page(host, self.path.removeprefix("/news/"))
            kind = "application/atom+xml" if self.path == "/feed" else "text/html"
            data = (body or "gone").encode()
            self.send_response(200 if body else 410)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("0.0.0.0", week.port), Handler)  # all loopback hosts
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Newsroom:
    """Runs commands in a home folder."""

    home: Path
    desks: Sequence[str]

    def __post_init__(self) -> None:
        self.env = {
            **os.environ,
            "NEWS_HOME": str(self.home),
            "DAGSTER_HOME": str(self.home),
            "NEWS_DESKS": ",".join(self.desks),
            "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.0/8",
            "NEWS_HOST_DELAY_S": "0",
        }

    def run(self, program: str, *arguments: str) -> str:
        """Run an installed program and return what it printed; exit where it fails."""
        command = [str(PROGRAMS / program), *arguments]
        done = subprocess.run(
            command,
            env=self.env,
            cwd=self.home,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(
                f"{' '.join(command)}:\n{done.stdout[-3000:]}{done.stderr[-5000:]}"
            )
        return done.stdout

    def news(self, *command: str) -> str:
        return self.run("news-assets", *command)

    def process(self) -> float:
        """Poll all desks and bring everything up to date; return the seconds it took."""
        started = time.perf_counter()
        today = datetime.now(UTC).date()
        first, last = today - timedelta(days=DAYS), today
        for desk, (_, publishers) in DESKS.items():
            order = min(publishers), max(publishers)
            self._materialize(f"key:{desk}/feed_entries", "...".join(order))
            days = f"{order[0]}|{first}...{order[1]}|{last}"
            self._materialize(f"key:{desk}/raw_articles+", days)
        self._materialize("key:newsroom/stories", f"{first}...{last}")
        return time.perf_counter() - started

    def _materialize(self, assets: str, partitions: str) -> None:
        self.run(
            "dagster",
            *("asset", "materialize", "-m", "news_assets.definitions"),
            *("--select", assets, "--partition-range", partitions),
        )

    def table(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table."""
        printed = self.news("export", name, "--format", "jsonl")
        return [json.loads(line) for line in printed.splitlines()]

    @contextmanager
    def pages(self) -> Iterator[httpx.Client]:
        """Serve the pages and yield a client of them."""
        port = free_port()
        options = ("--port", str(port), "--requests-per-minute", "0")
        server = subprocess.Popen(
            [str(PROGRAMS / "news-assets"), "serve", *options],
            env=self.env,
            cwd=self.home,
            stdout=subprocess.DEVNULL,
        )
        base = f"http://127.0.0.1:{port}"
        try:
            with httpx.Client(base_url=base, timeout=HANG_S) as client:
                _wait_for(client)
                yield client
        finally:
            server.terminate()
            server.wait()


def _wait_for(client: httpx.Client) -> None:
    for _ in range(600):
        try:
            client.get("/api/v1")
            return
        except httpx.ConnectError:
            time.sleep(0.1)
    sys.exit("the pages are not served")


# --- what is right --------------------------------------------------------------------


class Shares:
    """Right ones and totals by what is counted."""

    def __init__(self) -> None:
        self.of: dict[str, list[bool]] = defaultdict(list)

    def count(self, name: str, is_right: bool, what: str = "") -> None:
        self.of[name].append(is_right)
        if not is_right and self.of[name].count(False) <= SHOWN:
            print(f"  wrong: {name}: {what}")


def stories_by_key(week: Week, room: Newsroom) -> dict[str, str]:
    """Return the story of each article that has one, by the article's key."""
    key_of = {week.url(piece): piece.key for piece in week.pieces}
    articles = {
        row["article_id"]: key_of[row["url"]]
        for row in room.table("raw_articles")
        if row["url"] in key_of
    }
    return {
        articles[row["article_id"]]: row["story_id"]
        for row in room.table("story_members")
        if row["article_id"] in articles
    }


def check_stories(
    week: Week, found: dict[str, str], shares: Shares
) -> dict[str, float]:
    """Count articles and copies; return F1 and precision of the stories."""
    for piece in week.pieces:
        shares.count("articles that are stored", piece.key in found, piece.key)
    pieces = [one for one in week.pieces if one.key in found]
    for piece in pieces:
        if piece.is_copy:
            original = piece.key.removeprefix("copy-")
            is_there = found[piece.key] == found.get(original)
            shares.count("copies in the story of their original", is_there, piece.key)
    pieces.sort(key=lambda one: one.event.startswith("other"))
    scored = sum(not one.event.startswith("other") for one in pieces)
    f1, precision = bcubed(
        [found[one.key] for one in pieces], [one.event for one in pieces], scored
    )
    return {"F1 of stories": f1, "precision of stories": precision}


def check_pages(
    week: Week, found: dict[str, str], client: httpx.Client, shares: Shares
) -> None:
    """Read the stories of several publishers as a reader and a program would."""
    of_story: dict[str, list[Piece]] = defaultdict(list)
    for piece in week.pieces:
        if piece.key in found:
            of_story[found[piece.key]].append(piece)
    for story_id, pieces in of_story.items():
        if len({one.publisher for one in pieces}) < 2:
            continue
        told = client.get(f"/api/v1/stories/{story_id}").json()
        listed = [one["agency"] for one in told["publishers"]]
        pieces.sort(key=lambda one: one.published_at)
        expected = list(dict.fromkeys(one.publisher for one in pieces))
        name = "publishers in the order of publication"
        shares.count(name, listed == expected, f"{story_id}: {listed}, {expected}")
        page = client.get(f"/stories/{story_id}", headers={"Accept": "text/html"})
        is_whole = page.status_code == 200 and len(page.content) <= 60_000
        for piece in pieces[:12]:
            is_whole &= " ".join(piece.title.split()) in html.unescape(page.text)
        name = "story pages whole and at most 60 kB"
        shares.count(name, is_whole, f"{story_id}: {len(page.content)} bytes")


def change(week: Week, room: Newsroom) -> dict[str, list[Piece]]:
    """Edit some articles, remove some, and withdraw some as an operator."""
    now = datetime.now(UTC).replace(microsecond=0)
    counts = Counter(one.event for one in week.pieces)
    copied = {one.event for one in week.pieces if one.is_copy}
    chosen = [
        one
        for one in week.pieces
        if counts[one.event] >= 3 and one.event not in copied and len(one.text) > 400
    ][:: max(1, len(week.pieces) // 60)]
    edited, rest = chosen[:EDITED], chosen[EDITED:]
    gone, withdrawn = rest[:GONE], rest[GONE : GONE + WITHDRAWN]
    for piece in edited:
        piece.text = f"{piece.text}\n{ADDED}"
        piece.updated_at = now
    for piece in gone:
        piece.is_gone = True
        piece.updated_at = now
    room.news("withdraw", *(week.url(one) for one in withdrawn), "--reason", "test")
    return {"edited": edited, "gone": gone, "withdrawn": withdrawn}


def check_changes(
    week: Week,
    before: dict[str, str],
    after: dict[str, str],
    changed: dict[str, list[Piece]],
    client: httpx.Client,
    shares: Shares,
) -> None:
    """Look for each change where a reader would see it."""
    for piece in changed["edited"]:
        story = client.get(f"/api/v1/stories/{after.get(piece.key)}").json()
        edited = [one["url"] for one in story["edits"]]
        shares.count("edits in the timeline", week.url(piece) in edited, piece.key)
    for piece in changed["gone"]:
        # only a second answer of 410, a day later, withdraws an article
        shares.count("articles that are gone once stay", piece.key in after, piece.key)
    for piece in changed["withdrawn"]:
        hits = client.get("/api/v1/search", params={"q": f'"{piece.title}"'}).json()
        urls = [hit["url"] for hit in hits["items"]]
        is_out = piece.key not in after and week.url(piece) not in urls
        story = client.get(f"/stories/{before[piece.key]}")
        is_out &= piece.title not in html.unescape(story.text)
        name = "withdrawn articles out of stories, pages and search"
        shares.count(name, is_out, piece.key)
    touched = {one.key for pieces in changed.values() for one in pieces}
    for key, story_id in before.items():
        if key not in touched:
            name = "ids of stories that stayed"
            shares.count(name, after.get(key) == story_id, key)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="an empty folder to work in")
    options = parser.parse_args()
    if not CORPUS.is_dir():
        print("skipped: the evaluation material is not beside the repository")
        return
    with tempfile.TemporaryDirectory() as temporary:
        home = options.keep or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        (home / "dagster.yaml").touch()
        week = made_week(free_port())
        room = Newsroom(home, week.write_desks(home))
        with published(week):
            scores = _scores(week, room)
    is_low = False
    for name, floor in FLOORS.items():
        print(f"{name:54}{scores[name]:6.3f}   at least {floor}")
        is_low |= scores[name] < floor
    sys.exit(is_low)


def _scores(week: Week, room: Newsroom) -> dict[str, float]:
    shares = Shares()
    seconds = room.process()
    print(
        f"{len(week.pieces)} articles of {len(week.hosts)} publishers: {seconds:.0f} s"
    )
    before = stories_by_key(week, room)
    scores = check_stories(week, before, shares)
    with room.pages() as client:
        check_pages(week, before, client, shares)
    changed = change(week, room)
    print(f"after changes: {room.process():.0f} s")
    after = stories_by_key(week, room)
    with room.pages() as client:
        check_changes(week, before, after, changed, client, shares)
    for name, right in shares.of.items():
        scores[name] = sum(right) / len(right)
    return scores


if __name__ == "__main__":
    main()
