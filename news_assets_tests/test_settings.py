from pathlib import Path

import pytest

from news_assets.errors import SettingsError
from news_assets.settings import Settings


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"NEWS_{name.upper()}", raising=False)


def test_without_any_setting_everything_lies_below_the_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.read()
    home = tmp_path / ".news"
    assert (settings.home, settings.catalog, settings.data) == (home, str(home / "catalog.sqlite"), str(home / "data"))
    assert (settings.desks, settings.allow_private_hosts, settings.host_delay_s) == (("sample",), (), 1.0)


def test_lists_are_comma_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWS_DESKS", "sample, desks/mine.yaml")
    monkeypatch.setenv("NEWS_ALLOW_PRIVATE_HOSTS", "10.0.0.0/8,intranet")
    settings = Settings.read()
    assert settings.desks == ("sample", "desks/mine.yaml")
    assert settings.allow_private_hosts == ("10.0.0.0/8", "intranet")


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("NEWS_HOST_DELAY_S", "soon", "0 to 3600 seconds"),
        ("NEWS_HOST_DELAY_S", "-1", "0 to 3600 seconds"),
        ("NEWS_SEARCH", "elastic", "sqlite"),
        ("NEWS_CATALOG", "mysql://host/db", "postgresql://"),
        ("NEWS_DESKS", ",", "built-in desks by name"),
        ("NEWS_ALLOW_PRIVATE_HOSTS", "10.0.0.0/99", "CIDR blocks"),
        ("NEWS_ENRICHER", "oracle", "local"),
    ],
)
def test_a_wrong_value_names_the_setting_the_value_and_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, takes: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        Settings.read()
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{name}=")
    assert value in line
    assert takes in line


def test_each_wrong_setting_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWS_SEARCH", "elastic")
    monkeypatch.setenv("NEWS_HOST_DELAY_S", "soon")
    with pytest.raises(SettingsError) as caught:
        Settings.read()
    assert [line.partition("=")[0] for line in str(caught.value).splitlines()] == ["NEWS_SEARCH", "NEWS_HOST_DELAY_S"]
