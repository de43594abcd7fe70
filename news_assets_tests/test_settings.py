import os
import traceback
from pathlib import Path

import pytest

from news_assets.errors import SettingsError
from news_assets.records.desks import Caps
from news_assets.records.model_calls import Ceilings
from news_assets.setting_values import with_timeouts
from news_assets.settings import (
    Settings,
    child_environment,
    outdated_settings,
    variable_of,
)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"NEWS_{name.upper()}", raising=False)


TIMEOUTS = (
    "connect_timeout=10&keepalives_idle=10&keepalives_interval=5&keepalives_count=3"
    "&tcp_user_timeout=30000"
)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://host/news", f"postgresql://host/news?{TIMEOUTS}"),
        ("postgresql://u:a?b@host", f"postgresql://u:a?b@host?{TIMEOUTS}"),
        (
            "postgresql://u:@/news?host=/run/x",
            f"postgresql://u:@/news?host=/run/x&{TIMEOUTS}",
        ),
        (
            "postgres://host/news?connect_timeout=3",
            f"postgres://host/news?connect_timeout=3&{TIMEOUTS.partition('&')[2]}",
        ),
        ("host=server dbname=news", "host=server dbname=news"),
    ],
)
def test_an_address_of_postgres_gets_the_timeouts_that_it_does_not_state(
    address: str, expected: str
) -> None:
    assert with_timeouts(address) == expected


def test_by_default_everything_is_in_the_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.read()
    home = tmp_path / ".news"
    assert (settings.home, settings.catalog, settings.data) == (
        home,
        str(home / "catalog.sqlite"),
        str(home / "data"),
    )
    assert (settings.desks, settings.allow_private_hosts, settings.host_delay_s) == (
        ("sample",),
        (),
        1.0,
    )


def test_lists_are_comma_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWS_DESKS", "sample, desks/mine.yaml")
    monkeypatch.setenv("NEWS_ALLOW_PRIVATE_HOSTS", "10.0.0.0/8,intranet")
    settings = Settings.read()
    assert settings.desks == ("sample", "desks/mine.yaml")
    assert settings.allow_private_hosts == ("10.0.0.0/8", "intranet")


def test_an_empty_ceiling_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWS_MAX_USD_PER_RUN", "")
    assert not Settings.read().ceilings
    monkeypatch.setenv("NEWS_MAX_USD_PER_DAY", "2.5")
    assert Settings.read().ceilings == Ceilings(day=2.5)


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("NEWS_HOST_DELAY_S", "soon", "0 to 3600 seconds"),
        ("NEWS_HOST_DELAY_S", "-1", "0 to 3600 seconds"),
        (
            "NEWS_SEARCH",
            "elastic",
            "embedded, typesense://host:port or typesense+https://host:port",
        ),
        ("NEWS_SEARCH", "typesense://host:70000", "typesense://host:port"),
        ("NEWS_SEARCH", "typesense://user:word@host:8108", "typesense://host:port"),
        ("NEWS_CATALOG", "mysql://host/db", "postgresql://"),
        ("NEWS_DESKS", ",", "built-in desks by name"),
        ("NEWS_ALLOW_PRIVATE_HOSTS", "10.0.0.0/99", "CIDR blocks"),
        (
            "NEWS_ENRICHER",
            "oracle",
            "unknown provider 'oracle'; accepted: local, or PROVIDER:MODEL",
        ),
        ("NEWS_ENRICHER", "openai:", "'' is not the name of a model"),
        ("NEWS_ENRICHER", "openai:x,local", "local behind a model"),
        ("NEWS_ENTITIES", "oracle:x", "unknown provider 'oracle'"),
        ("NEWS_MODEL_CALLS", "0", "'0' is not a number from 1 to 200"),
        ("NEWS_MODEL_CALLS", "oracle=5", "unknown provider 'oracle'"),
        ("NEWS_PAGE_IMAGES", "maybe", "true for the main image"),
        (
            "NEWS_KEEP_POLLS_DAYS",
            "30",
            "checks read the last 30 days; accepted: how many days",
        ),
        ("NEWS_KEEP_PAGES_DAYS", "-1", "31 to 36500; 0 for ever"),
        ("NEWS_MAX_USD_PER_RUN", "-1", "in US dollars; 0 for no limit"),
        (
            "NEWS_MAX_USD_PER_DAY",
            "5 USD",
            "of which backfills spend 80 %; 0 for no limit",
        ),
        ("NEWS_MAX_USD_PER_MONTH", "nan", "0 for no limit"),
    ],
)
def test_an_invalid_value_is_reported_with_its_setting_and_the_accepted_values(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, takes: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        Settings.read()
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{name}=")
    assert value.replace("user:word@", "") in line
    assert takes in line


def test_each_invalid_setting_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWS_SEARCH", "elastic")
    monkeypatch.setenv("NEWS_HOST_DELAY_S", "soon")
    with pytest.raises(SettingsError) as caught:
        Settings.read()
    assert [line.partition("=")[0] for line in str(caught.value).splitlines()] == [
        "NEWS_SEARCH",
        "NEWS_HOST_DELAY_S",
    ]


@pytest.mark.parametrize(
    ("workers", "threads"),
    [(None, 4), ("4", 2), ("3", 2), ("100", 1), ("0", 8), ("auto", 4)],
)
def test_concurrent_runs_share_the_cores(
    monkeypatch: pytest.MonkeyPatch, workers: str | None, threads: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.delenv("WORKERS", raising=False)
    if workers is not None:
        monkeypatch.setenv("WORKERS", workers)
    assert (Settings.read().threads, Settings.read().threads_per_run) == (8, threads)


KEY = "no-one-may-see-this"


def test_a_typesense_server_and_its_key_are_two_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_SEARCH", "typesense+https://search.example.org/gov")
    monkeypatch.setenv("NEWS_TYPESENSE_API_KEY", KEY)
    settings = Settings.read()
    assert settings.search_place == (
        "typesense+https://search.example.org/gov",
        settings.home / "search.sqlite",
        KEY,
    )
    assert (
        KEY
        not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
    )


def test_logins_are_read_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    logins = (
        f"https://user:{KEY}@intranet.example.org",
        f"http://me:{KEY}@10.0.0.1:8080/",
    )
    monkeypatch.setenv("NEWS_LOGINS", ", ".join(logins))
    settings = Settings.read()
    assert settings.site_logins == logins
    assert (
        KEY
        not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
    )


@pytest.mark.parametrize(
    "login",
    [
        "https://host",
        "https://user@host",
        "host",
        "ftp://u:{0}@host",
        "https://u:{0}@host/feed",
        "u:{0}@host",
    ],
)
def test_a_login_of_another_form_is_reported_without_it(
    monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    monkeypatch.setenv("NEWS_LOGINS", f"https://user:word@host,{login.format(KEY)}")
    with pytest.raises(
        SettingsError, match="NEWS_LOGINS: login 2 is not of the form"
    ) as caught:
        Settings.read()
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_password_in_another_setting_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_CATALOG", f"mysql://user:{KEY}@host/db")
    with pytest.raises(SettingsError, match="mysql://host/db") as caught:
        Settings.read()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", ["", "  "])
def test_a_missing_typesense_key_is_one_line(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("NEWS_SEARCH", "typesense://localhost:8108")
    monkeypatch.setenv("NEWS_TYPESENSE_API_KEY", key)
    with pytest.raises(SettingsError) as caught:
        Settings.read()
    expected = "NEWS_TYPESENSE_API_KEY is empty; NEWS_SEARCH=typesense://localhost:8108 needs the server's API key"
    assert str(caught.value) == expected


def test_errors_of_other_settings_do_not_show_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_TYPESENSE_API_KEY", KEY)
    for name, value in (
        ("NEWS_SEARCH", "elastic"),
        ("NEWS_DESKS", ","),
        ("NEWS_HOST_DELAY_S", "soon"),
    ):
        monkeypatch.setenv(name, value)
        with pytest.raises(SettingsError) as caught:
            Settings.read()
        assert KEY not in "".join(traceback.format_exception(caught.value))


def test_limits_of_models_are_set_for_all_providers_or_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_ENRICHER", "local, openai:gpt-5-mini")
    monkeypatch.setenv("NEWS_MODEL_CALLS", "4, openai=50")
    monkeypatch.setenv("NEWS_MODEL_CALLS_PER_MINUTE", "ollama=0")
    settings = Settings.read()
    assert settings.enricher == ("local", "openai:gpt-5-mini")
    assert [
        settings.calls_in_flight(provider) for provider in ("openai", "ollama")
    ] == [50, 4]
    assert [
        settings.calls_per_minute(provider) for provider in ("openai", "ollama")
    ] == [300, 0]


def test_the_old_name_of_the_embedded_index_is_accepted_with_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_SEARCH", "sqlite")
    assert Settings.read().search == "embedded"
    assert outdated_settings() == ("NEWS_SEARCH=sqlite is now NEWS_SEARCH=embedded",)
    monkeypatch.setenv("NEWS_SEARCH", "embedded")
    assert outdated_settings() == ()


def test_caps_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("NEW_ENTRIES", "20"),
        ("PAGES", "100"),
        ("TEXT_CHARS", "20000"),
    ):
        monkeypatch.setenv(f"NEWS_MAX_{name}", value)
    assert Settings.read().caps == Caps(new_entries=20, pages=100, text_chars=20_000)


@pytest.fixture
def settings_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    # a copy, in which the variables of the file are set
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setenv("NEWS_HOME", str(tmp_path))
    return tmp_path / "settings.env"


def test_a_file_in_the_home_folder_sets_what_the_environment_does_not(
    monkeypatch: pytest.MonkeyPatch, settings_file: Path
) -> None:
    monkeypatch.setenv("NEWS_HOST_DELAY_S", "2")
    settings_file.write_text(
        "# mine\nNEWS_DESKS='desks/mine.yaml, world'\nexport NEWS_HOST_DELAY_S=7\nNEWS_TOKEN_X=x\nOPENAI_API_KEY=sk\n"
    )
    settings = Settings.read()
    assert settings.desks == ("desks/mine.yaml", "world")
    assert settings.host_delay_s == 2
    assert variable_of("NEWS_TOKEN_X") == "x"
    assert child_environment()["OPENAI_API_KEY"] == "sk"


def test_the_file_is_found_where_the_home_folder_begins_with_a_tilde(
    monkeypatch: pytest.MonkeyPatch, settings_file: Path
) -> None:
    monkeypatch.setenv("HOME", str(settings_file.parent.parent))
    monkeypatch.setenv("NEWS_HOME", f"~/{settings_file.parent.name}")
    settings_file.write_text("NEWS_DESKS=world\n")
    settings = Settings.read()
    assert settings.desks == ("world",)
    assert settings.home == settings_file.parent


def test_an_empty_home_folder_is_the_default_one_not_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEWS_HOME", "")
    assert Settings.read().home == tmp_path / ".news"


def test_each_wrong_line_of_the_file_is_named(settings_file: Path) -> None:
    settings_file.write_text(
        "\n\nNEWS_DESK=mine\nNEWS_HOME=/x\nNEWS_WORK\n= 3\nNEWS_DESKS=world\n"
    )
    with pytest.raises(SettingsError) as error:
        Settings.read()
    assert str(error.value).splitlines() == [
        f"{settings_file}:3: NEWS_DESK is not a setting; docs/settings.md lists them",
        f"{settings_file}:4: NEWS_HOME is the folder of this file; set it in the environment",
        f"{settings_file}:5: not of the form NAME=value",
        f"{settings_file}:6: not of the form NAME=value",
    ]


def test_a_wrong_value_of_the_file_is_named_each_time_with_its_line(
    settings_file: Path,
) -> None:
    settings_file.write_text("\nNEWS_HOST_DELAY_S=soon\n")
    for _ in range(2):
        with pytest.raises(SettingsError) as error:
            Settings.read()
        assert str(error.value).startswith(
            f"{settings_file}:2: NEWS_HOST_DELAY_S='soon': "
        )


def test_a_file_that_cannot_be_read_is_named(settings_file: Path) -> None:
    settings_file.write_bytes(b"NEWS_DESKS=\xff")
    with pytest.raises(SettingsError, match=r"settings\.env: cannot be read: "):
        Settings.read()


def test_only_columns_of_articles_can_be_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEWS_DATASET_FIELDS", "title, vector, text")
    assert Settings.read().dataset_fields == ("title", "vector", "text")
    monkeypatch.setenv("NEWS_DATASET_FIELDS", "title,password")
    with pytest.raises(SettingsError, match="'password' is no column of articles"):
        Settings.read()


@pytest.mark.parametrize(
    ("dataset", "data"),
    [
        ("lake/open", "lake"),
        ("lake", "./lake"),
        ("s3://bucket", "s3://bucket/news"),
    ],
)
def test_the_data_set_is_not_published_into_the_lake(
    dataset: str, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_DATASET", dataset)
    monkeypatch.setenv("NEWS_DATA", data)
    with pytest.raises(SettingsError, match="contain each other"):
        Settings.read()
    monkeypatch.setenv("NEWS_DATA", f"{data}2")
    monkeypatch.setenv("NEWS_DATASET", f"{dataset}1")
    assert Settings.read().dataset == f"{dataset}1"
