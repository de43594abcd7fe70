"""What a run prints, through the manager that each dagster.yaml names."""

import os
import sys
from pathlib import Path

import dagster as dg
import psutil
import pytest

from news_assets.defs.instance.compute_logs import FileComputeLogManager
from news_assets_tests.defs.instance.test_stock_classes import FILES, ROOT

CONFIG = """
telemetry:
  enabled: false
compute_logs:
  module: news_assets.defs.instance.compute_logs
  class: FileComputeLogManager
  config:
    base_dir: {home}/logs
"""


@dg.op
def prints() -> int:
    """Print with Python and beneath it, and return the number of processes beside."""
    print("água")  # noqa: T201
    sys.stdout.flush()
    os.write(sys.stderr.fileno(), b"from C\n")
    return len(psutil.Process().children())


@dg.op
def fails(count: int) -> None:
    raise dg.Failure(f"after {count}")


@dg.job(executor_def=dg.in_process_executor)
def talks() -> None:
    fails(prints())


def test_a_run_prints_to_its_files_and_to_the_terminal_with_no_process_beside_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dagster.yaml").write_text(CONFIG.format(home=tmp_path))
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        before = len(psutil.Process().children())
        capfd.readouterr()
        result = talks.execute_in_process(instance=instance, raise_on_error=False)
        printed = capfd.readouterr()
        manager = instance.compute_log_manager
        assert isinstance(manager, FileComputeLogManager)
        (event,) = [
            event.logs_captured_data
            for event in result.all_events
            if event.event_type is dg.DagsterEventType.LOGS_CAPTURED
        ]
        key = manager.build_log_key_for_run(result.run_id, event.file_key)
        data = manager.get_log_data(key)
        assert manager.is_capture_complete(key)
    assert result.output_for_node("prints") == before
    assert (data.stdout or b"").decode() == "água\n" == printed.out
    assert b"from C\n" in (data.stderr or b"")
    assert "from C\n" in printed.err


@pytest.mark.parametrize("name", FILES)
def test_each_profile_has_it(name: str) -> None:
    assert "class: FileComputeLogManager" in (ROOT / name).read_text()
