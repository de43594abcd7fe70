"""`make compose`: builds the image, runs deploy/compose.yaml, checks it and removes all
containers and volumes.

An article has to get from the sample site to a search. The container of a worker is
killed during a poll, its run has to be marked as failed, and three workers started.
Everything is stopped and started again, and the article found again. Where no registry
can be reached, the images of Postgres, RabbitMQ and Python are made from Debian's
packages.
"""

import json
import secrets
import signal
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from news_assets.defs.instance.run_guards import WORKER_TAG
from news_assets.demo import HOST, PORT
from news_assets.desks.desk_files import path_of
from news_assets_tests.support import sample_site_program
from news_assets_tests.support.containers import BUILD_S, Engine
from news_assets_tests.support.dagster_server import DagsterServer
from news_assets_tests.support.sample_story import (
    NEW_WORDS,
    WORDS,
    console,
    print_step,
    wait_for_title,
)
from news_assets_tests.support.servers import free_port
from news_assets_tests.support.stand_ins import NAMES, provide
from news_assets_tests.support.waiting import HANG_S, wait_for

ROOT = Path(__file__).parents[1]
FILE, KEPT = ROOT / "deploy" / "compose.yaml", ROOT / ".news" / "containers"
# the project's name is that of no deployment
PROJECT, IMAGE = (
    "news-check",
    "news_assets:check",
)
SERVERS, OTHERS = ("postgres", "rabbitmq"), ("daemon", "webserver", "pages", "worker")
HEALTHY_S, LARGEST_MB = 300.0, 1500
_IN_IMAGE = """
import importlib.util, shutil
wanted = ("anthropic", "boto3", "google.genai", "mcp", "openai")
missing = [name for name in wanted if importlib.util.find_spec(name) is None]
assert not missing and shutil.which("tesseract"), missing
assert importlib.util.find_spec("torch") is None
"""


class Stack(DagsterServer):
    """The services of the Compose file, and the sample site, as a project of its own on
    free ports.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        super().__init__(free_port())
        self.engine, self._pages = engine, free_port()
        self._files = (
            "--project-name",
            PROJECT,
            "--file",
            str(FILE),
            "--file",
            str(_with_site(folder)),
        )
        self._env = {
            "DAGSTER_MAX_RUNS": "2",
            "NEWS_ALLOW_PRIVATE_HOSTS": "site",
            "NEWS_DESKS": "/check/sample.yaml",
            "NEWS_HOST_DELAY_S": "0",
            "NEWS_IMAGE": IMAGE,
            "NEWS_SEARCH": "embedded",
            "PAGES_PORT": str(self._pages),
            "PORT": str(self.port),
            "POSTGRES_PASSWORD": secrets.token_hex(12),
            "RABBITMQ_PASSWORD": secrets.token_hex(12),
        }

    def compose(self, *arguments: str, limit_s: float = HEALTHY_S) -> None:
        """Run a command of Compose on this project."""
        self.engine.compose((*self._files, *arguments), self._env, limit_s)

    def start(self) -> None:
        """Start what does not run and wait until all of it is healthy.

        In the order of the file: podman before 4.6 does not wait for the conditions of
        `depends_on`.
        """
        for services in (SERVERS, ("code", "site"), OTHERS):
            self.compose("up", "--detach", *services)
            self.wait_until_healthy([one for one in services if one != "site"])
        wait_for(self.has_reported, pause_s=1, limit_s=HEALTHY_S, log=self.engine.log)

    def wait_until_healthy(self, services: Sequence[str]) -> None:
        """Return when every container of these services passes its health check."""
        for service in services:
            wait_for(
                lambda: self._is_healthy(service),  # noqa: B023
                pause_s=2,
                limit_s=HEALTHY_S,
                log=self.engine.log,
            )

    def _is_healthy(self, service: str) -> bool:
        containers = self.containers(service)
        return bool(containers) and all(map(self.engine.is_healthy, containers))

    def scale(self, workers: int) -> None:
        """Let this many workers run."""
        self._env["DAGSTER_MAX_RUNS"] = str(workers)
        self.start()

    def containers(self, service: str) -> list[str]:
        """Return the running containers of a service."""
        return self.engine.containers(PROJECT, service)

    def search(self, words: str) -> list[dict[str, Any]]:
        """Return the hits of the API for these words; none while it does not answer."""
        query = urllib.parse.urlencode({"q": words, "mode": "keyword", "limit": 1})
        with (
            suppress(OSError),
            urllib.request.urlopen(
                f"http://127.0.0.1:{self._pages}/api/v1/search?{query}", timeout=HANG_S
            ) as answer,
        ):
            return list(json.load(answer)["items"])
        return []

    def poll(self) -> str:
        """Request a poll of the site and return the run's id."""
        return self.launch("sample_poll", partition="prefeitura")

    def wait_for_run(self, run_id: str, *statuses: str) -> Mapping[str, str]:
        """Return the tags of a run when its status is one of these."""

        def tags() -> Mapping[str, str] | None:
            with suppress(OSError):
                state = self.state_of(run_id)
                return (
                    state.tags
                    if state.status in statuses and WORKER_TAG in state.tags
                    else None
                )
            return None

        found = wait_for(tags, pause_s=0.2, limit_s=HEALTHY_S, log=self.engine.log)
        assert found is not None
        return found


def _with_site(folder: Path) -> Path:
    """Write a Compose file that adds the sample site, and its desk to every service;
    YAML reads JSON too.
    """
    folder.chmod(0o755)  # the containers' user is another
    desk = path_of("sample").read_text().replace(f"{HOST}:{PORT}", f"site:{PORT}")
    (folder / "sample.yaml").write_text(desk)
    (folder / "site.py").write_text(Path(str(sample_site_program.__file__)).read_text())
    mount = f"{folder}:/check:ro"
    site = {
        "image": IMAGE,
        "hostname": "site",
        "command": "python3 /check/site.py",
        "volumes": [mount],
    }
    services = {
        "site": site,
        **{name: {"volumes": [mount]} for name in ("code", *OTHERS)},
    }
    path = folder / "site.json"
    path.write_text(json.dumps({"services": services}))
    return path


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and requests to end, as do the programs that are started meanwhile."""
    former = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def running(engine: Engine, folder: Path) -> Iterator[Stack]:
    """Yield the project's services, and remove its containers, networks and volumes,
    also those of an earlier check.
    """
    stack = Stack(engine, folder)
    stack.compose("down", "--volumes", "--remove-orphans")
    try:
        yield stack
    except BaseException:
        with suppress(RuntimeError):
            stack.compose("logs", "--tail", "200")
        raise
    finally:
        with undisturbed():
            stack.compose("down", "--volumes", "--remove-orphans")
        left = engine.all_of(PROJECT)
        assert left == [], left


def main() -> None:
    """Run all steps; the first failed assertion ends it."""
    # so that everything is removed then, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    try:
        engine = Engine(KEPT)
        console.print(engine.name)
        _provide_images(engine)
        _build(engine)
        with (
            tempfile.TemporaryDirectory(prefix="news-check-") as folder,
            running(engine, Path(folder)) as stack,
        ):
            _check(stack)
            started = time.monotonic()
        print_step(
            started,
            "containers, networks and volumes are removed; the images are kept for the next time",
        )
    except RuntimeError as error:
        sys.exit(str(error))


def _provide_images(engine: Engine) -> None:
    for image in NAMES:
        started = time.monotonic()
        print_step(started, f"{image}: {provide(engine, image)}")


def _build(engine: Engine) -> None:
    started = time.monotonic()
    engine.run(
        "build",
        "--file",
        str(ROOT / "deploy/Dockerfile"),
        "--tag",
        IMAGE,
        str(ROOT),
        limit_s=BUILD_S,
    )
    size_mb = engine.size_of(IMAGE) / 1e6
    assert size_mb < LARGEST_MB, f"the image takes {size_mb:.0f} MB"
    engine.run("run", "--rm", IMAGE, "python3", "-c", _IN_IMAGE)
    print_step(
        started,
        f"the image is built, {size_mb:.0f} MB, with tesseract and the providers, without PyTorch",
    )


def _check(stack: Stack) -> None:
    started = time.monotonic()
    stack.start()
    everything = stack.engine.containers(PROJECT)
    assert all(map(stack.engine.user_of, everything)), "a container runs as root"
    print_step(started, f"{len(everything)} containers are healthy, none runs as root")
    title = wait_for_title(stack.search, WORDS, stack.engine.log)
    print_step(
        started,
        f"the sensors have polled the sample site, and a search for {WORDS!r} finds {title!r}",
    )
    _kill_worker(stack)
    _scale(stack)
    _restart(stack)


def _kill_worker(stack: Stack) -> None:
    (site,) = stack.containers("site")
    stack.engine.run("pause", site)
    run_id = stack.poll()
    container = stack.wait_for_run(run_id, "STARTED")[WORKER_TAG].partition("@")[2]
    stack.engine.run("kill", container)
    started = time.monotonic()
    text = f"Killed the worker's container {container} during a poll of a site that does not answer"
    console.print(text, soft_wrap=True)
    stack.wait_for_run(run_id, "FAILURE")
    stack.engine.run("unpause", site)
    print_step(started, "its run is marked as failed")
    stack.engine.run("kill", "--signal", "HUP", site)
    worker = stack.wait_for_run(stack.poll(), "SUCCESS")[WORKER_TAG]
    wait_for_title(stack.search, NEW_WORDS, stack.engine.log)
    print_step(
        started,
        f"{worker} polled again, and a search for {NEW_WORDS!r} finds the new text",
    )


def _scale(stack: Stack) -> None:
    started = time.monotonic()
    stack.scale(3)
    workers = stack.containers("worker")
    assert len(workers) == 3, workers
    print_step(started, f"{len(workers)} workers are connected")


def _restart(stack: Stack) -> None:
    started = time.monotonic()
    stack.compose("stop")
    left = stack.engine.containers(PROJECT)
    assert left == [], left
    print_step(started, "everything is stopped")
    started = time.monotonic()
    stack.start()
    wait_for_title(stack.search, NEW_WORDS, stack.engine.log)
    stack.wait_for_run(stack.poll(), "SUCCESS")
    print_step(started, "everything is running again, finds the article and polls")


if __name__ == "__main__":
    main()
