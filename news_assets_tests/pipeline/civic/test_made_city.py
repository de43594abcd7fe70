"""The made cities of the evaluation material, one for each vendor, polled once over HTTP."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.desks.loader import load_desks
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.sources.kinds import ALL_KINDS, adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.support.inline_sandbox import InlineSandbox

BASE = "2026-11-23"
NOW = datetime(2026, 11, 23, 15, tzinfo=UTC)
LISTING_ITEMS = (
    *("legistar_html", "primegov", "civicclerk", "granicus", "escribe"),
    *("iqm2", "novusagenda", "civicplus", "municode", "pdf_links"),
)
MIN_SHARE = 0.95


@pytest.fixture
def city(shared: Path, tmp_path: Path) -> Iterator[tuple[ModuleType, Path]]:
    """Yield the scenario, and the desk file of the cities that a process serves."""
    tools = shared / "tools" / "city"
    if not tools.is_dir() or importlib.util.find_spec("reportlab") is None:
        pytest.skip("the made cities, or the library that writes their PDFs, are not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state = {"CITY_STATE": str(tmp_path / "city"), "CITY_BASE": BASE, "CITY_PORT": str(port)}
    environment = os.environ | state | {"PYTHONDONTWRITEBYTECODE": "1"}
    desk = tmp_path / "made.yaml"
    command = [sys.executable, str(tools / "desk.py")]
    desk.write_bytes(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    server = subprocess.Popen([sys.executable, str(tools / "server.py")], env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_for("127.0.0.11", port)
        yield _scenario(tools / "scenario.py", state), desk
    finally:
        server.kill()
        server.wait()


def _wait_for(host: str, port: int) -> None:
    for _ in range(300):
        with socket.socket() as client:
            if client.connect_ex((host, port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the made cities did not start")


def _scenario(path: Path, state: dict[str, str]) -> ModuleType:
    spec = importlib.util.spec_from_file_location("made_city_scenario", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    before = {name: os.environ.get(name) for name in state}
    os.environ.update(state)
    try:
        spec.loader.exec_module(module)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return module


@pytest.mark.slow
def test_agendas_of_every_vendor_arrive(city: tuple[ModuleType, Path], lake: Lake, tmp_path: Path) -> None:
    scenario, desk_file = city
    [desk] = load_desks([str(desk_file)], ALL_KINDS)
    fetcher = HttpFetcher(
        user_agent="test", delay_s=0, state_dir=tmp_path, allow_private_hosts=("127.0.0.0/8",), retry_pauses_s=()
    )
    agencies = {scenario.ZONES[kind][0]: kind for kind in LISTING_ITEMS}
    with closing(fetcher):
        list(poll_agencies(lake, desk, list(agencies), fetcher, InlineSandbox(), adapter_of, lambda: NOW, "trace"))

    items = lake.read(StoredItem)
    meetings = lake.read(StoredMeeting)
    short: dict[str, str] = {}
    for agency, kind in agencies.items():
        listed = [one for one in scenario.scenario(kind, 0) if -7 <= one.day <= 90]
        wanted = {item.title.lower() for one in listed for item in one.items}
        found = {item.title.lower() for item in items if item.agency == agency}
        timed = [row for row in meetings if row.agency == agency and row.starts_at and not row.is_all_day]
        with_agenda = [one for one in listed if one.items]
        if len(wanted & found) < MIN_SHARE * len(wanted) or len(timed) < len(with_agenda):
            short[kind] = f"{len(wanted & found)} of {len(wanted)} items, {len(timed)} meetings with an hour"
    assert short == {}
