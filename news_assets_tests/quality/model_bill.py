"""Enrichment against a model server that was written without sight of this project: its
bill against the ledger.

    python -m news_assets_tests.quality.model_bill [refused ceilings claims kills rests
    preview batches themes]
        [--tools FOLDER] [--processes 8]

`--tools` has the server at `models/server.py`; without it, that of `../shared/tools` is
used. Each scenario has a lake of its own, and prints what was found and what was
wanted. Exits 1 where that differs.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from news_assets.pipeline.enrich.model.model_batches import settle_batches
from news_assets.pipeline.enrich.model.preview import Preview, estimated
from news_assets.pipeline.enrich.model.prices import price_usd
from news_assets.records.model_calls import ModelCall, ModelState
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import mean_tokens
from news_assets.taxonomy import load_taxonomy
from news_assets_tests.conftest import SHARED
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.foreign_server import (
    MODELS,
    ForeignServer,
    Paid,
    foreign_server,
)
from news_assets_tests.support.model_enrichment import (
    KEYS,
    TITLE,
    desk,
    enrich,
    enricher,
    made,
    rows,
    served,
)

TOOLS: Final = SHARED / "tools"
GOVBR: Final = SHARED / "corpus/themes_govbr"
MIN_LEVEL_3: Final = 0.95
NAME: Final = MODELS["openai"]
Place = tuple[str, str]


def clock() -> datetime:
    return datetime.now(UTC)


@contextmanager
def lake_of(titles: Sequence[str], body: str = "") -> Iterator[tuple[Lake, Place]]:
    """Yield a lake with an article for each of these titles."""
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/catalog.sqlite", f"{folder}/data"
        with Lake.open(*place) as lake:
            articles = [
                made(number, title=title) for number, title in enumerate(titles)
            ]
            upsert(lake, articles)
            yield lake, place


def numbered(count: int, case: str = "ok") -> list[str]:
    return [f"{TITLE} {number} CASE-{case}" for number in range(count)]


def started(
    server: ForeignServer, place: Place, *arguments: object
) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable,
        "-m",
        "news_assets_tests.support.enriching_process",
        *place,
        *map(str, arguments),
    ]
    return subprocess.Popen(command, env=os.environ | server.environment)


class Findings:
    """Prints figures with what was wanted of them. `processes` run at the same time
    where several do.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.is_failed = False

    def add(self, what: str, found: object, is_right: bool) -> None:
        self.is_failed |= not is_right
        sys.stdout.write(f"{'' if is_right else 'FAILED '}{what}: {found}\n")
        sys.stdout.flush()

    def compare(self, what: str, server: ForeignServer, lake: Lake) -> None:
        """Compare the ledger with the bill, request by request."""
        titles = {
            article_id: title
            for article_id, title in lake.query(
                "SELECT article_id, title FROM raw_articles"
            ).iter_rows()
        }
        calls = lake.read(ModelCall)
        stated = Counter(
            Paid(
                titles[call.article_id],
                call.kind,
                call.input_tokens,
                call.output_tokens or 0,
                call.cached_tokens or 0,
            )
            for call in calls
            if call.input_tokens is not None
        )
        paid = server.paid()
        unknown = [call for call in calls if call.input_tokens is None and call.usd]
        is_equal = not (stated - paid) and (paid - stated).total() <= len(unknown)
        self.add(
            f"{what}: ledger and bill",
            f"{stated.total()} requests with equal tokens, {(stated - paid).total()} only in the ledger, "
            f"{(paid - stated).total()} only in the bill for {len(unknown)} rows with an estimate",
            is_equal,
        )


def refused(server: ForeignServer, findings: Findings) -> None:
    """Eight articles that the provider refuses for good before 24 healthy ones; three
    runs.
    """
    for provider, name in MODELS.items():
        for case in ("400ctx", "400policy", "cfilter", "trunc"):
            server.post("_reset")
            with lake_of([*numbered(8, case), *numbered(24)]) as (lake, _):
                model = served(name, concurrency=8)
                enriched = []
                for _ in range(3):
                    enrich(lake, enricher(model), clock=clock)
                    enriched.append(
                        sum(row.enricher == "model" for row in rows(lake).values())
                    )
                model.close()
                calls = Counter(
                    call.article_id < "mec-00008" for call in lake.read(ModelCall)
                )
                what = f"8 x {case} before 24 ({provider})"
                found = f"enriched after each run {enriched}; requests {calls[True]} for the 8, {calls[False]} for the 24"
                findings.add(
                    what,
                    found,
                    enriched[0] == 24 and calls[True] <= 16 and calls[False] == 24,
                )
                findings.compare(what, server, lake)


def ceilings(server: ForeignServer, findings: Findings) -> None:
    """Never more than the ceiling plus one call."""
    for processes, in_flight, ceiling in ((1, 8, 0.05), (1, 50, 0.1), (4, 8, 0.05)):
        server.post("_reset")
        server.post("_set", delay_s=0.4, jitter=0.3, out_tokens=1_500)
        with lake_of(numbered(120)) as (lake, place):
            running = [
                started(server, place, in_flight, 30, ceiling) for _ in range(processes)
            ]
            for process in running:
                process.wait(600)
            calls = lake.read(ModelCall)
            paid = sum(call.usd or 0.0 for call in calls)
            one = max(call.usd or 0.0 for call in calls)
            what = f"ceiling {ceiling} USD, {processes} processes with {in_flight} in flight"
            findings.add(
                what,
                f"{paid:.4f} USD, {len(calls)} calls",
                0.5 * ceiling < paid <= ceiling + one,
            )
            findings.compare(what, server, lake)


def claims(server: ForeignServer, findings: Findings) -> None:
    """Processes over the same articles at the same time."""
    for processes in sorted({4, findings.processes}):
        server.post("_reset")
        server.post("_set", delay_s=0.8, jitter=0.5)
        with lake_of(numbered(34)) as (lake, place):
            running = [started(server, place, 4, 30) for _ in range(processes)]
            for process in running:
                process.wait(600)
            bill = server.get("_bill")
            what = f"{processes} processes over 34 articles"
            found = f"{bill['calls']} calls, {bill['repeated']} repeated"
            is_enriched = {row.enricher for row in rows(lake).values()} == {"model"}
            findings.add(what, found, bill["repeated"] == 0 and is_enriched)
            findings.compare(what, server, lake)


def kills(server: ForeignServer, findings: Findings) -> None:
    """Run processes over the same articles, and kill and replace one ten times."""
    in_flight, killed, moments = 4, 10, random.Random(27)
    server.post("_reset")
    server.post("_set", delay_s=1.0, jitter=0.5)
    with lake_of(numbered(150)) as (lake, place):
        running = [
            started(server, place, in_flight, 30) for _ in range(findings.processes)
        ]
        lost = 0
        for _ in range(killed):
            begun = server.get("_bill")["calls"]
            while server.get("_bill")["calls"] < begun + 4:
                time.sleep(0.05)
            time.sleep(moments.random())
            process = running.pop(moments.randrange(len(running)))
            is_running = process.poll() is None
            process.kill()
            process.wait()
            lost += is_running
            running.append(started(server, place, in_flight, 30))
        for process in running:
            process.wait(600)
        started(server, place, in_flight, 30).wait(600)
        bill = server.get("_bill")
        sent = [call for call in lake.read(ModelCall) if call.outcome == "sent"]
        found = f"{bill['calls']} calls, {bill['repeated']} repeated, {len(sent)} in flight at {lost} kills"
        is_enriched = {row.enricher for row in rows(lake).values()} == {"model"}
        what = f"{findings.processes} processes and {killed} kills"
        findings.add(what, found, bill["repeated"] <= len(sent) and is_enriched)
        findings.compare(what, server, lake)
        billed = sum(price(NAME, paid) * count for paid, count in server.paid().items())
        usd = sum(call.usd or 0.0 for call in lake.read(ModelCall))
        findings.add(
            "after kills, USD in the ledger and billed",
            f"{usd:.4f}, {billed:.4f}",
            usd >= 0.97 * billed,
        )


def price(name: str, paid: Paid) -> float:
    found = price_usd(
        name,
        paid.input_tokens,
        paid.output_tokens,
        paid.cached_tokens,
        clock(),
        is_batch=False,
    )
    return found or 0.0


def rests(server: ForeignServer, findings: Findings) -> None:
    """A Retry-After of 600 s, and an exhausted account."""
    for case in ("429long", "429quota"):
        server.post("_reset")
        with lake_of([*numbered(1, case), *numbered(24)]) as (lake, _):
            for _ in range(3):
                model = served(NAME, concurrency=1)
                enrich(lake, enricher(model), clock=clock)
                model.close()
            [state] = lake.read(ModelState)
            requests = sum(server.get("_bill")["requests"].values())
            wait_s = ((state.rests_until or clock()) - clock()).total_seconds()
            limit_s = 600 if case == "429long" else 300
            findings.add(
                case,
                f"{requests} requests of 3 runs, rests for {wait_s:.0f} s more",
                requests == 1 and 0 < wait_s <= limit_s,
            )


def preview(server: ForeignServer, findings: Findings) -> None:
    """The price that is expected before a backfill, and the ledger's after it, with and
    without earlier calls.
    """
    for provider, name in MODELS.items():
        server.post("_reset")
        with lake_of(numbered(20)) as (lake, _):
            model = served(name, concurrency=8)
            by = enricher(model)
            counted = Preview(lake, desk(), by, clock)
            counted.add(KEYS)
            expected = (
                estimated(counted.found.new, {}, clock(), is_batch=lambda _: False).usd
                or 0.0
            )
            enrich(lake, by, clock=clock)
            paid = sum(call.usd or 0.0 for call in lake.read(ModelCall))
            upsert(
                lake,
                [
                    made(number, title=title)
                    for number, title in enumerate(numbered(40))
                    if number >= 20
                ],
            )
            again = Preview(lake, desk(), by, clock)
            again.add(KEYS)
            means = mean_tokens(lake, [prompt.version for prompt in (by.prompt,)])
            known = (
                estimated(again.found.new, means, clock(), is_batch=lambda _: False).usd
                or 0.0
            )
            enrich(lake, by, clock=clock)
            model.close()
            after = sum(call.usd or 0.0 for call in lake.read(ModelCall)) - paid
            what = f"preview of {provider}"
            findings.add(
                f"{what}, nothing known",
                f"{expected:.5f} USD, ledger {paid:.5f}",
                abs(expected / paid - 1) < 0.1,
            )
            findings.add(
                f"{what}, after calls",
                f"{known:.5f} USD, ledger {after:.5f}",
                abs(known / after - 1) < 0.1,
            )


_SOUND: Final[dict[str, object]] = {
    "expire_share": 0,
    "error_share": 0,
    "drop_reply": False,
    "fail": False,
    "refuse_create": 0,
}
PLANS: Final[dict[str, dict[str, object]]] = {
    "expired and failed": {"expire_share": 0.3, "error_share": 0.2},
    "results twice": {"dup": True},
    "reply lost": {"drop_reply": True},
    "failed whole": {"fail": True},
    "refused": {"refuse_create": 400},
}


def batches(server: ForeignServer, findings: Findings) -> None:
    """What a backfill's batch leaves unanswered goes into batches again, also in a run
    that is no backfill.
    """
    for provider in MODELS:
        for plan in PLANS:
            batch(server, findings, provider, plan)


def batch(server: ForeignServer, findings: Findings, provider: str, plan: str) -> None:
    """Two rounds with one of the plans, and four without a fault."""
    server.post("_reset")
    server.post("_plan", **PLANS[plan])
    with lake_of(numbered(24)) as (lake, _):
        now = clock()
        by = enricher(served(MODELS[provider]), has_batches=lambda _name: True)
        for number in range(6):
            enrich(lake, by, now=now, re_enrich=number == 0)
            if number == 1:
                server.post("_plan", **_SOUND)
            now += timedelta(minutes=20)
            settle_batches(lake, by, [desk()], lambda now=now: now)  # type: ignore[misc]
        enrich(lake, by, now=now)
        bill = server.get("_bill")
        direct = sum(count[0] for key, count in bill["by"].items() if ":direct:" in key)
        is_enriched = {row.enricher for row in rows(lake).values()} == {"model"}
        found = f"{bill['calls']} calls, {direct} direct, {bill['repeated']} repeated, all enriched: {is_enriched}"
        what = f"batch {plan} ({provider})"
        findings.add(what, found, direct == 0 == bill["repeated"] and is_enriched)
        findings.compare(what, server, lake)


def themes(server: ForeignServer, findings: Findings) -> None:
    """The theme that production's model chose can be chosen: a model that knows it
    reaches level 3.
    """
    tree = load_taxonomy(GOVBR / "common/themes_tree_enriched_full.yaml")
    lines = (GOVBR / "dev/data.jsonl").read_text("utf-8").splitlines()
    items = [item for item in map(json.loads, lines) if item["theme_production"]]
    labelled = [item for item in items if item["theme_production"]["L3"] in tree.themes]
    titles = {
        " ".join(item["title"].split()): item["theme_production"] for item in labelled
    }
    for provider, name in MODELS.items():
        server.post("_reset")
        server.post(
            "_set",
            truth={
                title: [codes["L3"], codes["L2"], codes["L1"]]
                for title, codes in titles.items()
            },
        )
        with lake_of([]) as (lake, _):
            upsert(
                lake,
                [
                    made(n, item["text"], title=item["title"])
                    for n, item in enumerate(labelled)
                ],
            )
            model = served(name, concurrency=8)
            enrich(lake, enricher(model, taxonomy=tree), clock=clock)
            model.close()
            found = rows(lake)
            codes = [item["theme_production"]["L3"] for item in labelled]
            right = sum(
                found[f"mec-{n:05}"].theme_code == code for n, code in enumerate(codes)
            )
            share = right / len(labelled)
            findings.add(
                f"level 3 by a perfect model ({provider})",
                f"{right} of {len(labelled)}",
                share >= MIN_LEVEL_3,
            )


SCENARIOS: Final[tuple[Callable[[ForeignServer, Findings], None], ...]] = (
    refused,
    ceilings,
    claims,
    kills,
    rests,
    preview,
    batches,
    themes,
)


def main() -> int:
    """Run the named scenarios, or all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenarios", nargs="*", help="default: all", metavar="SCENARIO")
    parser.add_argument("--tools", type=Path, default=TOOLS)
    parser.add_argument("--processes", type=int, default=8)
    options = parser.parse_args()
    by_name = {scenario.__name__: scenario for scenario in SCENARIOS}
    if unknown := set(options.scenarios) - by_name.keys():
        parser.error(f"no scenario is named {', '.join(sorted(unknown))}")
    program = options.tools / "models/server.py"
    if not program.exists():
        sys.stdout.write(f"skipped: there is no {program}\n")
        return 0
    findings = Findings(options.processes)
    with foreign_server(program) as server:
        os.environ.update(server.environment)
        for name in options.scenarios or by_name:
            by_name[name](server, findings)
    return int(findings.is_failed)


if __name__ == "__main__":
    sys.exit(main())
