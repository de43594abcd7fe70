"""The made cities: each civic vendor over HTTP, through polls and stages, compared with
what is true in each phase.

    python -m news_assets_tests.quality.made_city [--tools FOLDER] [--phases N]
    [--wrong] [--faults]

FOLDER has the server of the cities, their scenario and the comparison
(`../shared/tools/city` without the option). The cities publish, revise, move, cancel
and delete meetings in four phases. After each, every city is polled and its documents
are read, then polled once more, which must read and enrich nothing. With `--faults` an
hour of refusals, pages for browsers and empty lists follows the last phase; it must
change no meeting.

Prints one table for each phase. Exits 1 if a share is below its floor; floors are
raised and never lowered.
"""

import argparse
import importlib.util
import json
import os
import re
import runpy
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.commands.opening import open_lake
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.poll.poll import PollOptions, poll_agencies
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Desk
from news_assets.records.meetings import StoredMeeting
from news_assets.records.reading import AgencyDays
from news_assets.sources.civic.vendors import CIVIC_KINDS
from news_assets.sources.source_kinds import ALL_KINDS, adapter_of
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES
from news_assets.text.defuse import json_of
from news_assets_tests.quality.extraction import CORPUS
from news_assets_tests.support.council_room import CountingEnricher
from news_assets_tests.support.inline_sandbox import InlineSandbox

TOOLS = CORPUS.parent / "tools" / "city"
PHASES = 4
STAGES = ("documents", "raw_articles", "enriched_articles")
FAULTS = {"granicus": "429", "escribe": "500", "iqm2": "captcha", "primegov": "empty"}
START_TRIES, START_PAUSE_S = 300, 0.1

# Shares that hold for each vendor with the field, unless BELOW has the vendor's own.
FLOORS = {
    "meeting": 0.98,
    "day": 0.98,
    "hour": 0.98,
    "status": 0.98,
    "participation": 0.9,
    "items": 0.95,
    "number": 0.95,
    "matter file": 0.9,
    "matter type": 0.9,
    "attachments": 0.95,
    # one document in seven is a scan, which the sandbox of tests does not read
    "item text": 0.85,
}
# What the pages of a vendor do not state, or not in each of their forms, and the share
# that they do state.
BELOW = {
    # known by its id, which a meeting without an agenda has not
    (
        "novusagenda",
        "meeting",
    ): 0.6,
    ("icalendar", "items"): 0.0,
    ("primegov", "matter file"): 0.6,
    ("granicus", "matter file"): 0.6,
    ("municode", "matter file"): 0.0,
    ("pdf_links", "matter file"): 0.0,
    ("pdf_links", "attachments"): 0.0,
    ("pdf_links", "item text"): 0.0,
}
# others tell it by the number or title only
STATING_TYPES = (
    "legistar",
    "legistar_html",
    "iqm2",
)


class CountingSandbox(InlineSandbox):
    """Counts the documents that are read."""

    def __init__(self) -> None:
        self.read_count = 0

    def read_document(self, *args: Any, **options: Any) -> Any:
        self.read_count += 1
        return super().read_document(*args, **options)


@dataclass
class Cities:
    """The made cities while they are served, and the desk that reads them into a lake."""

    tools: Path
    state: Path
    desk: Desk
    lake: Lake
    fetcher: HttpFetcher
    kinds: Collection[str]
    sandbox: CountingSandbox = field(default_factory=CountingSandbox)
    enricher: CountingEnricher = field(default_factory=CountingEnricher)

    def begin(self, phase: int) -> None:
        """Let the cities publish what is true in a phase."""
        (self.state / "phase").write_text(str(phase), "utf-8")

    def refuse(self, faults: dict[str, str]) -> None:
        """Let these vendors answer with a fault; without any all answer again."""
        lines = "".join(f"{kind} {fault}\n" for kind, fault in faults.items())
        (self.state / "faults").write_text(lines, "utf-8")

    def read(self, *, full_pass: bool = True) -> tuple[int, int]:
        """Poll every city and run the stages; return how many documents were read and
        articles enriched.
        """
        before = self.sandbox.read_count, len(self.enricher.asked)
        keys = [one.agency for one in self.desk.sources if one.kind in self.kinds]
        for poll in poll_agencies(
            self.lake,
            self.desk,
            keys,
            self.fetcher,
            self.sandbox,
            adapter_of,
            _now,
            "made",
            options=PollOptions(full_pass=full_pass),
        ):
            if poll.outcome not in ("ok", "unchanged", "skipped"):
                print(f"{poll.source_id}: {poll.outcome}: {poll.reason}")
        days = frozenset((one.agency, one.day) for one in self.lake.read(FeedEntry))
        ports = {
            "fetcher": self.fetcher,
            "sandbox": self.sandbox,
            "enricher": self.enricher,
        }
        for name in STAGES:
            stage_named(name).run_batch(
                self.lake, self.desk, AgencyDays(self.desk.key, days), _now, ports
            )
        return self.sandbox.read_count - before[0], len(self.enricher.asked) - before[1]

    def compare(self) -> tuple[dict[tuple[str, str], tuple[int, int]], list[str]]:
        """Return rights and totals by vendor and field, and the lines about what is
        wrong.

        The tools' own comparison runs in this process, on the tables as `export` would
        write them.
        """
        exported = ModuleType("lake")
        exported.table = self._table  # type: ignore[attr-defined]
        sys.modules["lake"] = exported
        sys.modules.pop("scenario", None)
        sys.path.insert(0, str(self.tools))
        printed = StringIO()
        with redirect_stdout(printed), script_arguments("check.py", "-v"):
            runpy.run_path(str(self.tools / "check.py"))
        sys.path.remove(str(self.tools))
        lines = printed.getvalue().splitlines()
        print("\n".join(line for line in lines if line.startswith("|")))
        wrong = [line for line in lines if line.startswith("WRONG")]
        return _shares(printed.getvalue()), wrong

    def _table(self, name: str) -> list[dict[str, Any]]:
        record = next(table.record for table in TABLES if table.name == name)
        rows: list[dict[str, Any]] = []
        for frame in self.lake.stream(record, desk=[self.desk.key]):
            rows += [json.loads(json_of(row)) for row in frame.iter_rows(named=True)]
        return rows


@contextmanager
def script_arguments(*arguments: str) -> Iterator[None]:
    """Let a script that runs in this process see these arguments."""
    before = sys.argv
    sys.argv = list(arguments)
    try:
        yield
    finally:
        sys.argv = before


def _now() -> datetime:
    return datetime.now(UTC)


def _shares(table: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the cells of the comparison's table: `7/11` by vendor and field."""
    heads: list[str] = []
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| vendor"):
            heads = cells
        elif line.startswith("| "):
            for head, cell in zip(heads[1:], cells[1:], strict=True):
                if match := re.fullmatch(r"(\d+)/(\d+)", cell):
                    found[cells[0], head] = (int(match[1]), int(match[2]))
    return found


@contextmanager
def served(tools: Path, folder: Path, kinds: Collection[str]) -> Iterator[Cities]:
    """Serve the cities of these tools; yield them with a new lake in the folder. Polled
    are those of these kinds.
    """
    state = folder / "city"
    state.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"NEWS_HOME": str(folder / "home"), "NEWS_DESKS": str(folder / "made.yaml")}
    today = _now().date().isoformat()
    city = {"CITY_STATE": str(state), "CITY_PORT": str(port), "CITY_BASE": today}
    os.environ.update(home | city)
    desk = subprocess.run(
        [sys.executable, str(tools / "desk.py")], check=True, capture_output=True
    )
    (folder / "made.yaml").write_bytes(desk.stdout)
    server = subprocess.Popen(
        [sys.executable, str(tools / "server.py")], stdout=subprocess.DEVNULL
    )
    try:
        _wait_for("127.0.0.11", port)
        with open_lake() as lake:
            yield Cities(
                tools=tools,
                state=state,
                kinds=kinds or CIVIC_KINDS,
                desk=load_desks([home["NEWS_DESKS"]], ALL_KINDS)[0],
                lake=lake,
                fetcher=HttpFetcher(
                    user_agent="test",
                    delay_s=0,
                    state_dir=folder,
                    allow_private_hosts=("127.0.0.0/8",),
                    retry_pauses_s=(),
                ),
            )
    finally:
        server.kill()
        server.wait()


def _wait_for(host: str, port: int) -> None:
    for _ in range(START_TRIES):
        with socket.socket() as client:
            if client.connect_ex((host, port)) == 0:
                return
        time.sleep(START_PAUSE_S)
    raise SystemExit("the made cities did not start")


def below_floors(shares: dict[tuple[str, str], tuple[int, int]]) -> Iterator[str]:
    """Yield what is below its floor."""
    for (vendor, name), (right, total) in shares.items():
        floor = BELOW.get((vendor, name), FLOORS.get(name, 0.0))
        if name == "matter type" and vendor not in STATING_TYPES:
            continue
        if total and right / total < floor:
            yield f"{vendor}, {name}: {right} of {total}, floor {floor}"


def hour_of_faults(cities: Cities) -> Iterator[str]:
    """Let some vendors refuse for two polls; yield what they changed although nothing
    may be inferred.
    """
    before = {row.meeting_id: row.status for row in cities.lake.read(StoredMeeting)}
    cities.refuse(FAULTS)
    cities.read()
    cities.read()
    cities.refuse({})
    after = {row.meeting_id: row.status for row in cities.lake.read(StoredMeeting)}
    for meeting_id, status in before.items():
        if after.get(meeting_id) != status:
            yield f"faults made {meeting_id} {after.get(meeting_id)} that was {status}"


def main() -> int:
    """Run the phases; return 1 if something is below its floor."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", type=Path, default=TOOLS)
    parser.add_argument("--phases", type=int, default=PHASES)
    parser.add_argument(
        "--kinds", nargs="*", default=(), help="only these vendors; default: all"
    )
    parser.add_argument(
        "--light", action="store_true", help="polls by change signals after the first"
    )
    parser.add_argument("--wrong", action="store_true", help="print each wrong cell")
    parser.add_argument(
        "--faults", action="store_true", help="an hour of refusals in between"
    )
    options = parser.parse_args()
    if not options.tools.is_dir() or importlib.util.find_spec("reportlab") is None:
        print(
            "skipped: the made cities, or reportlab, which writes their PDFs, are not installed"
        )
        return 0
    failures: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        served(options.tools, Path(folder), options.kinds) as cities,
    ):
        for phase in range(options.phases):
            cities.begin(phase)
            full = not options.light or not phase
            first, again = cities.read(full_pass=full), cities.read(full_pass=full)
            print(
                f"\nphase {phase}: documents read and articles enriched {first}, again {again}"
            )
            if again != (0, 0):
                failures.append(
                    f"phase {phase}: a second pass without a change cost {again}"
                )
            shares, wrong = cities.compare()
            if options.wrong:
                print(
                    "\n".join(
                        one
                        for one in wrong
                        if not options.kinds or one.split()[1] in options.kinds
                    )
                )
            polled = {
                cell: share for cell, share in shares.items() if cell[0] in cities.kinds
            }
            failures += [f"phase {phase}: {one}" for one in below_floors(polled)]
            if options.faults and phase == options.phases - 1:
                failures += hour_of_faults(cities)
    print("\n" + ("\n".join(failures) or "no share is below its floor"))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
