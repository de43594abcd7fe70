"""Which queue a run goes to, and where it waits without a broker."""

from pathlib import Path
from queue import Empty
from typing import Any

import pytest
import yaml
from dagster import AssetCheckKey, AssetKey, DagsterRun, DagsterRunStatus
from kombu import Connection
from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, get_transport_cls

from news_assets.defs.instance import celery_launcher
from news_assets.defs.instance.celery_launcher import FolderTransport, queue_of
from news_assets_tests.defs.instance.test_run_coordinator import run_with
from news_assets_tests.defs.instance.test_stock_classes import ROOT, loaded
from news_assets_tests.support.servers import free_port

QUEUES = ("dagster", "govbr", "g1")


def run(tags: dict[str, str], *assets: str) -> DagsterRun:
    return DagsterRun(
        "any",
        tags=tags,
        asset_selection=frozenset(AssetKey(asset.split("/")) for asset in assets),
    )


@pytest.mark.parametrize(
    ("tags", "assets", "queue"),
    [
        ({"dagster-celery/queue": "g1", "news/desk": "govbr"}, (), "g1"),
        ({"news/desk": "govbr"}, (), "govbr"),
        ({}, ("g1/raw_articles", "g1/search_index"), "g1"),
        ({"news/desk": "no_such_desk"}, (), "dagster"),
        ({}, ("lake/maintenance",), "dagster"),
        ({}, (), "dagster"),
    ],
)
def test_a_run_goes_to_the_queue_of_its_tag_or_its_desk_or_the_default(
    tags: dict[str, str], assets: tuple[str, ...], queue: str
) -> None:
    assert queue_of(run(tags, *assets), QUEUES) == queue


def test_a_run_of_checks_alone_goes_to_their_desks_queue() -> None:
    checks = frozenset(
        {AssetCheckKey(AssetKey(["govbr", "raw_articles"]), "ids_are_unique")}
    )
    assert queue_of(DagsterRun("any", asset_check_selection=checks), QUEUES) == "govbr"


def test_a_run_is_queued_again_while_the_broker_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_CELERY_BROKER_URL", f"amqp://127.0.0.1:{free_port()}")
    config = yaml.safe_load((ROOT / "deploy/scaleout/dagster.yaml").read_text())
    launcher = {"run_launcher": config["run_launcher"]}
    with loaded(launcher, tmp_path) as instance:
        run = run_with({}, DagsterRunStatus.NOT_STARTED)
        instance.add_run(run)
        instance.launch_run(run.run_id, workspace=None)  # type: ignore[arg-type]
        [found] = instance.get_runs()
        messages = [entry.message for entry in instance.all_logs(run.run_id)]
    assert found.status == DagsterRunStatus.QUEUED
    assert any("The broker is unavailable" in message for message in messages)


class ReadMeanwhile:
    """A value that reads the queue while it is written as JSON."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __json__(self) -> str:
        with pytest.raises(Empty):
            self._channel._get("sample")
        return "written"


@pytest.fixture
def channel(tmp_path: Path) -> Any:
    names = ("data_folder_in", "data_folder_out", "control_folder", "processed_folder")
    options = {
        name: str(tmp_path / name.removesuffix("_in").removesuffix("_out"))
        for name in names
    }
    for folder in options.values():
        Path(folder).mkdir(exist_ok=True)
    return Connection(
        transport=FolderTransport, transport_options=options | {"store_processed": True}
    ).channel()


def test_a_reader_finds_no_message_that_is_being_written(channel: Any) -> None:
    channel._put("sample", {"body": ReadMeanwhile(channel)})
    assert channel._get("sample") == {"body": "written"}


def test_messages_are_read_in_the_order_in_which_they_were_sent(
    channel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        monkeypatch.setattr(
            "news_assets.defs.instance.celery_launcher.time.monotonic",
            lambda at=number: 100.0 + at,
        )
        channel._put("sample", number)
    assert [channel._get("sample") for _ in range(3)] == [0, 1, 2]


def test_a_folder_that_is_gone_is_an_error(channel: Any, tmp_path: Path) -> None:
    (tmp_path / "data_folder").rmdir()
    with pytest.raises(
        ChannelError, match=r"cannot add \S+\.sample\.msg to .*: No such file"
    ):
        channel._put("sample", {})


def test_the_launcher_uses_it_for_queues_in_folders() -> None:
    assert celery_launcher.TRANSPORT_ALIASES is TRANSPORT_ALIASES
    assert get_transport_cls("filesystem") is FolderTransport
