"""The shipped profiles as real processes on free ports, in a folder of their own.

    with Site(tmp_path) as site, local(tmp_path, site.env) as profile:
        run = profile.wait(profile.launch("sample_poll", partition="prefeitura"))

The shipped files are copied, with `.news/` in them replaced by the folder's own. Logs
are in `profile.log`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from dagster import DagsterInstance, DagsterRun, RunsFilter
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from news_assets.clients.web.host_slots import open_slots
from news_assets.clients.web.politeness import Politeness
from news_assets.defs.instance.run_guards import WORKER_TAG
from news_assets.demo import HOST, PORT, SampleSite
from news_assets_tests.support.dagster_server import DagsterServer
from news_assets_tests.support.servers import (
    Postgres,
    RabbitMQ,
    free_port,
    postgres,
    rabbitmq,
)
from news_assets_tests.support.waiting import HANG_S, wait_for

REPOSITORY = Path(__file__).parents[2]
# on a busy machine; 10, 4 and 2 on an idle one
START_S, STOP_S, RUN_S = (
    180.0,
    60.0,
    HANG_S,
)


@dataclass(frozen=True)
class Machine:
    """Another machine than that of the profile: its folder, what its environment has
    besides, and what stands before a command that is to run there.
    """

    home: Path
    env: Mapping[str, str]
    enter: tuple[str, ...]


class Profile(DagsterServer):
    """A running profile; `env` is the environment of its processes."""

    def __init__(self, home: Path, dagster_home: Path, env: Mapping[str, str]) -> None:
        super().__init__(free_port())
        self.home = home
        self.log = home / "profile.log"
        places = {"DAGSTER_HOME": str(dagster_home), "NEWS_HOME": str(home / ".news")}
        local = {
            "DAGSTER_EVENT_BATCH_SIZE": "500",
            "NEWS_ALLOW_PRIVATE_HOSTS": "127.0.0.0/8",
            "NEWS_HOST_DELAY_S": "0",
            "PORT": str(self.port),
            "PAGES_PORT": str(free_port()),  # else `service addresses` waits for it
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, **local, **env, **places}
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def instance(self) -> DagsterInstance:
        """Open Dagster's instance of this profile."""
        before = dict(os.environ)
        os.environ.update(self.env)  # the scale-out's dagster.yaml reads variables
        try:
            return DagsterInstance.from_config(self.env["DAGSTER_HOME"])
        finally:
            os.environ.clear()
            os.environ.update(before)

    def start(
        self, *command: str, machine: Machine | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process of the profile in a session of its own, writing to the log;
        on another `machine`, if one is given.
        """
        env, home = dict(self.env), self.home
        if machine:
            home = machine.home
            env |= machine.env
            env["NEWS_HOME"] = str(home / ".news")
            env["DAGSTER_HOME"] = str(home / "deploy" / "scaleout")
            command = (*machine.enter, *command)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=home,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def silence(self) -> None:
        """Stop every sensor and wait until no tick and no run is in progress."""
        self.stop_sensors()
        with self.instance as instance:
            while self.has_tick() or _unfinished(instance):
                time.sleep(0.1)

    def run(self, run_id: str) -> DagsterRun:
        """Return the run in its present state."""
        with self.instance as instance:
            run = instance.get_run_by_id(run_id)
        assert run is not None
        return run

    def wait(
        self, run_id: str, timeout_s: float = RUN_S, *, until_started: bool = False
    ) -> DagsterRun:
        """Wait until the run has ended, or started, and return it."""
        with self.instance as instance:

            def ended() -> DagsterRun | None:
                run = instance.get_run_by_id(run_id)
                is_over = run and (
                    run.is_finished or (until_started and run.status.value == "STARTED")
                )
                return run if is_over else None

            run = wait_for(ended, pause_s=0.02, limit_s=timeout_s, log=self.log)
            assert run is not None
            return run

    def succeed(self, run_id: str) -> DagsterRun:
        """Wait until the run has succeeded and return it; the error of one that has not
        tells what its process and Dagster said.
        """
        run = self.wait(run_id)
        if not run.is_success:
            with self.instance as instance:
                entries = instance.all_logs(run_id)
            raise AssertionError("\n".join(map(str, entries[-8:])))
        return run

    def worker_pids(self) -> list[int]:
        """Return the ids of the worker processes."""
        return [
            process.pid
            for process in self.tree()
            if "news_assets.defs.instance.worker" in process.cmdline()
        ]

    def tree(self) -> list[psutil.Process]:
        """Return the profile's processes, without the servers of the scale-out."""
        roots = [
            psutil.Process(process.pid)
            for process in self.processes
            if process.poll() is None
        ]
        return [
            process
            for root in roots
            for process in (root, *root.children(recursive=True))
        ]

    def kill_worker(self, pid: int | None = None) -> int:
        """Kill a worker (the first one) as the kernel does when memory runs out, and
        return its process id.
        """
        pid = pid or self.worker_pids()[0]
        os.kill(pid, signal.SIGKILL)
        return pid

    def pid_of_worker(self, run: DagsterRun) -> int:
        """Return the process of the worker that took this run."""
        name = run.tags[WORKER_TAG].split("@")[0]
        return next(
            process.pid
            for process in self.tree()
            if "news_assets.defs.instance.worker" in process.cmdline()
            and f"{name}@%h" in process.cmdline()
        )

    def wait_until_healthy(self) -> None:
        """Return when the code is loaded, every daemon has reported and the workers
        take runs.
        """
        wait_for(self._is_healthy, pause_s=0.1, limit_s=START_S, log=self.log)

    def _is_healthy(self) -> bool:
        assert all(process.poll() is None for process in self.processes), (
            self.log.read_text()[-3000:]
        )
        return self.has_reported() and self.ready_workers() >= int(
            self.env.get("WORKERS", 0)
        )

    def wait_for_line(self, text: str, timeout_s: float = RUN_S) -> None:
        """Return when the log holds this text."""
        wait_for(
            lambda: text in self.log.read_text(),
            pause_s=0.1,
            limit_s=timeout_s,
            log=self.log,
        )

    def ready_workers(self) -> int:
        """Return how often a worker has said that it is ready."""
        return len(re.findall(r"INFO .*@\S+ ready\.", self.log.read_text()))

    def stop(self) -> None:
        """End every process: by Ctrl-C, and by force what does not end."""
        tree = self.tree()
        for process in self.processes:
            process.send_signal(signal.SIGINT)
        _, alive = psutil.wait_procs(tree, STOP_S)
        for left in alive:
            with suppress(psutil.NoSuchProcess):
                left.kill()
        for process in self.processes:
            process.wait()


def _unfinished(instance: DagsterInstance) -> int:
    return instance.get_runs_count(RunsFilter(statuses=NOT_FINISHED_STATUSES))


class Site(SampleSite):
    """The sample site on a free port; `is_open` cleared, every reader waits for it, for
    up to ten minutes.
    """

    def __init__(self, home: Path) -> None:
        super().__init__(datetime.now(UTC), port=0)
        self._server.handle_error = lambda request, client: None  # type: ignore[method-assign]  # killed readers
        self.is_open = _HostGate(home / ".news" / "hosts")
        text = (REPOSITORY / "news_assets" / "desks" / "sample.yaml").read_text()
        home.mkdir(parents=True, exist_ok=True)
        desk = home / "sample.yaml"
        # a source that is due every five minutes would be work while idling is measured
        text = text.replace("        every_minutes: 5\n", "")
        desk.write_text(text.replace(f"http://{HOST}:{PORT}", self.base))
        # the settings of a desk `sample` that polls this site
        self.env = {"NEWS_DESKS": str(desk)}


class _HostGate:
    """Cleared, it holds the slot of the site's host: a request that waits for a
    response would end after 20 s.
    """

    def __init__(self, hosts_dir: Path) -> None:
        self.catalog = ""  # an address of Postgres in the scale-out profile
        self._hosts_dir = hosts_dir
        self._held = ExitStack()

    def set(self) -> None:
        """Let readers pass."""
        self._held.close()

    def clear(self) -> None:
        """Keep readers waiting, once the requests in progress have ended."""
        self.set()
        slots = open_slots(self._hosts_dir, self.catalog)
        politeness = self._held.enter_context(closing(Politeness(slots, 0)))
        self._held.enter_context(politeness.slot(HOST, threading.Event()))


class PlainProfile(Profile):
    """`dagster dev`, which starts the processes of runs."""

    def worker_pids(self) -> list[int]:
        """Return the processes that execute a run now."""
        with self.instance as instance:
            return [
                self.pid_of_worker(run)
                for run in instance.get_runs()
                if run.status.value == "STARTED"
            ]

    def pid_of_worker(self, run: DagsterRun) -> int:
        """Return the process that executes this run."""
        return int(run.tags[WORKER_TAG].partition("@")[0])


@contextmanager
def plain(
    home: Path,
    env: Mapping[str, str] | None = None,
    *,
    has_stock_launcher: bool = False,
) -> Iterator[PlainProfile]:
    """Run `dagster dev` with the root dagster.yaml below `home`, with its run launcher
    or Dagster's own.
    """
    _copy(REPOSITORY / "dagster.yaml", home / "dagster.yaml", home)
    if has_stock_launcher:
        text = (home / "dagster.yaml").read_text()
        (home / "dagster.yaml").write_text(
            re.sub(
                r"(\n  \w+: )\S*(?:process_launcher|ProcessRunLauncher)  # stock: ",
                r"\1",
                text,
            )
        )
    profile = PlainProfile(home, home, env or {})
    workspace = str(REPOSITORY / "workspace.yaml")
    with _running(
        profile,
        "dagster",
        "dev",
        "-w",
        workspace,
        "--host",
        "127.0.0.1",
        "--port",
        str(profile.port),
    ):
        yield profile


@contextmanager
def local(
    home: Path, env: Mapping[str, str] | None = None, workers: int = 2
) -> Iterator[Profile]:
    """Run `deploy/start local` below `home`."""
    start = _copy_deploy(home)
    ports = {"WORKERS": str(workers), "DAGSTER_GRPC_PORT": str(free_port())}
    profile = Profile(home, home / "deploy" / "local", {**ports, **(env or {})})
    with _running(profile, str(start), "local"):
        yield profile


class ScaleoutProfile(Profile):
    """Postgres, RabbitMQ and workers that come and go."""

    postgres: Postgres
    rabbitmq: RabbitMQ

    def add_worker(self, name: str, machine: Machine | None = None) -> int:
        """Start one more worker, on another `machine` if one is given, and return its
        process id when it takes runs.
        """
        ready = self.ready_workers()
        process = self.start_worker(name, machine)

        def is_ready() -> bool:
            assert process.poll() is None, self.log.read_text()[-3000:]
            return self.ready_workers() > ready

        wait_for(is_ready, pause_s=0.1, limit_s=START_S, log=self.log)
        return process.pid

    def start_worker(
        self, name: str, machine: Machine | None = None
    ) -> subprocess.Popen[bytes]:
        """Start one more worker and do not wait for it; see `add_worker`."""
        deploy = (machine.home if machine else self.home) / "deploy"
        if not deploy.exists():
            _copy_deploy(deploy.parent)
        service = str(deploy / "service")
        return self.start(
            service, "worker", "--hostname", f"{name}@%h", machine=machine
        )


@contextmanager
def scaleout(
    home: Path,
    env: Mapping[str, str] | None = None,
    workers: int = 2,
    *,
    address: str = "",
) -> Iterator[ScaleoutProfile]:
    """Run `deploy/start scaleout` below `home`, with a Postgres and a RabbitMQ of its
    own, which listen at `address` if one is given.
    """
    start = _copy_deploy(home)
    with (
        postgres(home / "postgres", address) as database,
        rabbitmq(home / "rabbitmq", address or "127.0.0.1") as broker,
    ):
        places = {
            "DAGSTER_POSTGRES_URL": database.url("dagster"),
            "DAGSTER_CELERY_BROKER_URL": broker.url,
            "DAGSTER_MAX_RUNS": str(workers),
            "NEWS_CATALOG": database.url("lake"),
        }
        ports = {"WORKERS": str(workers), "DAGSTER_GRPC_PORT": str(free_port())}
        profile = ScaleoutProfile(
            home, home / "deploy" / "scaleout", {**places, **ports, **(env or {})}
        )
        profile.postgres, profile.rabbitmq = database, broker
        with _running(profile, str(start), "scaleout"):
            yield profile


def _copy_deploy(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    shutil.copytree(REPOSITORY / "deploy", home / "deploy")
    for name in ("local", "scaleout"):
        _copy(
            REPOSITORY / "deploy" / name / "dagster.yaml",
            home / "deploy" / name / "dagster.yaml",
            home,
        )
    return home / "deploy" / "start"


def _copy(source: Path, target: Path, home: Path) -> None:
    """Copy a dagster.yaml with its folders below `home`, so that it is read the same
    from every working directory.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source.read_text().replace(" .news/", f" {home}/.news/"))


def importing(home: Path, module: str) -> dict[str, str]:
    """Return the environment of a profile whose processes import a module of the tests
    before everything else.
    """
    folder = home / "imported"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"import {module}\n")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{REPOSITORY}"}


@contextmanager
def _running(profile: Profile, *command: str) -> Iterator[None]:
    profile.start(*command)
    try:
        profile.wait_until_healthy()
        yield
    finally:
        profile.stop()
