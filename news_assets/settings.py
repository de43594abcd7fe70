"""All settings. This is the only module that reads the environment, and the file
`settings.env` of the home folder, which stands for variables that are not set.

An invalid value is a SettingsError with one line that names the setting, the value and
the accepted values.
"""

import logging
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from dotenv.parser import parse_stream
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from news_assets import setting_values as values
from news_assets.errors import SettingsError, without_credentials
from news_assets.folders import close_to_others
from news_assets.records.derived import USUAL
from news_assets.records.desks import Caps, KeepDays, ReasoningEffort
from news_assets.records.model_calls import Ceilings

_SETTINGS_FILE = "settings.env"
_PREFIX = "NEWS_"
_TOKENS = "NEWS_TOKEN_"  # names that a desk file or a file of queries gives

_CommaSeparated = Annotated[tuple[str, ...], BeforeValidator(values.split_commas)]
_OptionalPath = Annotated[Path | None, BeforeValidator(values.none_if_empty)]
_Temperature = Annotated[float, Field(ge=0, le=2)]
_Usd = Annotated[float, BeforeValidator(values.zero_if_empty), Field(ge=0, le=1e6)]


class Settings(BaseModel):
    """All settings with their defaults, read by `Settings.read()`."""

    model_config = ConfigDict(frozen=True)

    home: Annotated[Path, BeforeValidator(values.home_folder)] = Field(
        values.home_folder(""), description="folder for everything this machine keeps"
    )
    desks: Annotated[_CommaSeparated, AfterValidator(values.check_desks)] = Field(
        ("sample",),
        description="built-in desks by name, or paths of desk files, comma separated",
    )
    catalog: Annotated[str, AfterValidator(values.check_catalog)] = Field(
        "",
        description="path of a SQLite file, or postgresql://user:password@host:port/database",
    )
    data: str = Field("", description="folder, or s3://bucket/prefix")
    search: Annotated[str, AfterValidator(values.search_index)] = Field(
        "embedded",
        description="embedded, typesense://host:port or typesense+https://host:port",
    )
    typesense_api_key: SecretStr = Field(
        SecretStr(""),
        description="API key of the Typesense server that NEWS_SEARCH names",
    )
    embedding_model: str = Field(
        "multilingual-e5-small-q4",
        description="multilingual-e5-small-q4, or name or folder of a sentence-transformers model",
        min_length=1,
    )
    enricher: Annotated[_CommaSeparated, AfterValidator(values.check_enrichers)] = (
        Field(
            (values.LOCAL_ENRICHER,),
            description=(
                "local, or PROVIDER:MODEL with a provider of "
                f"{', '.join(values.MODEL_PROVIDERS)}; "
                "or several, local first, in the order in which they are asked, comma separated"
            ),
        )
    )
    enricher_error_rate: float = Field(
        0.1,
        ge=0,
        le=1,
        description=(
            "share of wrong themes that is accepted of the local enricher where a model follows it,"
            " 0 to 1"
        ),
    )
    entities: Annotated[str, AfterValidator(values.check_optional_model)] = Field(
        "",
        description="PROVIDER:MODEL of the call that finds entities; empty for no such call",
    )
    prompts: _OptionalPath = Field(
        None,
        description="folder of prompts, enrich.md and entities.md; empty for the built-in ones",
    )
    bedrock_batch_folder: str = Field(
        "",
        description=(
            "s3://bucket/prefix of the requests and results of batches on Bedrock; empty for no"
            " such batches"
        ),
    )
    bedrock_batch_role: str = Field(
        "", description="ARN of the role in which Bedrock reads and writes that folder"
    )
    model_calls: Annotated[
        str, AfterValidator(partial(values.check_numbers, 1, 200))
    ] = Field(
        "8",
        description=(
            "calls of language models in flight, 1 to 200, or by provider: openai=50,ollama=1"
        ),
    )
    model_calls_per_minute: Annotated[
        str, AfterValidator(partial(values.check_numbers, 0, 100_000))
    ] = Field(
        "300",
        description=(
            "calls of language models a minute, 0 for no limit, or by provider: openai=500,ollama=0"
        ),
    )
    model_timeout_s: float = Field(
        60.0,
        gt=0,
        le=900,
        description="time that one call of a language model may take, up to 900 seconds",
    )
    model_max_failures: int = Field(
        5,
        ge=1,
        le=1000,
        description="failed calls in a row after which a language model is given up for 5 minutes",
    )
    model_max_tokens: int = Field(
        4000,
        ge=200,
        le=64_000,
        description="most tokens of an answer of a language model, reasoning included",
    )
    model_reasoning: Annotated[
        ReasoningEffort | None, BeforeValidator(values.none_if_empty)
    ] = Field(
        None,
        description=(
            "effort of reasoning: none, minimal, low, medium or high; empty for the model's"
            " default"
        ),
    )
    model_temperature: Annotated[
        _Temperature | None, BeforeValidator(values.none_if_empty)
    ] = Field(
        None,
        description="temperature of language models, 0 to 2; empty for the model's default",
    )
    work: Literal["all", "fetch"] = Field(
        "all",
        description=(
            "what sensors request and `process` runs: all, or fetch: polls, documents and articles"
            " only"
        ),
    )
    max_new_entries: int = Field(
        2000,
        ge=1,
        le=10_000,
        description=(
            "new entries of one listing that a poll stores, 1 to 10000; the next polls go on"
        ),
    )
    max_pages: int = Field(
        0,
        ge=0,
        le=100_000,
        description=(
            "articles that a run fetches of 200 agencies and days, the newest first; the next runs"
            " go on; 0 for no limit"
        ),
    )
    max_text_chars: int = Field(
        1_000_000,
        ge=1000,
        le=1_000_000,
        description="characters of an article's text that are kept, 1000 to 1000000",
    )
    max_run_s: int = Field(
        86_400,
        ge=0,
        le=10_000_000,
        description=(
            "seconds after which Dagster ends a run of a job; sensors request the rest again; 0 for"
            " no limit"
        ),
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning",
        description=(
            "debug, info (also each request that is sent), warning or error: what is logged to"
            " stderr"
        ),
    )
    host_delay_s: float = Field(
        1.0,
        ge=0,
        le=3600,
        description="pause between two requests to one host, 0 to 3600 seconds",
    )
    allow_private_hosts: Annotated[
        _CommaSeparated, AfterValidator(values.check_hosts)
    ] = Field(
        (),
        description="hosts or CIDR blocks on private networks that may be fetched, comma separated",
    )
    logins: SecretStr = Field(
        SecretStr(""),
        description=(
            "https://user:password@host of each site that needs a login (HTTP Basic), comma"
            " separated"
        ),
    )
    user_agent: str = Field(
        "news_assets/0.2 (+https://example.org/news_assets)",
        pattern=r"^[!-~][ -~]*$",
        description="User-Agent header, printable ASCII",
    )
    backup_days: int = Field(
        14,
        ge=0,
        le=3650,
        description=(
            "how many days the daily backups of the catalog are kept, 0 to 3650; 0 for none"
        ),
    )
    keep_pages_days: Annotated[int, AfterValidator(values.check_kept_days)] = Field(
        400,
        ge=0,
        le=36500,
        description="how many days fetched pages are kept, 31 to 36500; 0 for ever",
    )
    keep_polls_days: Annotated[int, AfterValidator(values.check_kept_days)] = Field(
        400,
        ge=0,
        le=36500,
        description="how many days the results of polls are kept, 31 to 36500; 0 for ever",
    )
    keep_revisions_days: Annotated[int, AfterValidator(values.check_kept_days)] = Field(
        1100,
        ge=0,
        le=36500,
        description="how many days replaced texts are kept, 31 to 36500; 0 for ever",
    )
    keep_answers_days: int = Field(
        400,
        ge=0,
        le=36500,
        description="how many days the answers of language models are kept; 0 for ever",
    )
    keep_changes_days: int = Field(
        30,
        ge=0,
        le=36500,
        description=(
            "how many days the record of changes is kept for those who follow it; 0 for ever"
        ),
    )
    max_usd_per_run: _Usd = Field(
        0.0,
        description="most that a run may spend on language models, in US dollars; 0 for no limit",
    )
    max_usd_per_day: _Usd = Field(
        0.0,
        description="most for a day (UTC), of which backfills spend 80 %; 0 for no limit",
    )
    max_usd_per_month: _Usd = Field(
        0.0, description="most for a month (UTC); 0 for no limit"
    )
    taxonomy: _OptionalPath = Field(
        None, description="path of a taxonomy file; empty for the built-in ones"
    )
    queries: _OptionalPath = Field(
        None, description="path of a file of saved queries and channels; empty for none"
    )
    smtp: Annotated[SecretStr, AfterValidator(values.check_mail_server)] = Field(
        SecretStr(""),
        description=(
            "mail server of alerts, smtp://user:password@host:587 or smtps://; empty for none"
        ),
    )
    mail_from: str = Field(
        "",
        pattern=r"^([^\s@]+@[^\s@]+)?$",
        description="sender's address of alerts by e-mail",
    )
    subscription_secret: Annotated[SecretStr, AfterValidator(values.check_token)] = (
        Field(
            SecretStr(""),
            description=(
                "secret that signs the links of mails to subscribers, 20 characters or more; empty"
                " for no subscriptions by readers"
            ),
        )
    )
    dagster_url: str = Field(
        "",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="address of Dagster's web server, for requested polls",
    )
    dagster_public_url: str = Field(
        "",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="its address in browsers, for links; empty for NEWS_DAGSTER_URL",
    )
    page_images: bool = Field(
        False,
        description=(
            "true for the main image on pages of articles, fetched by this server; false for none"
        ),
    )
    pages_url: str = Field(
        "",
        pattern=r"^(https?://[^\s?#]+)?$",
        description=(
            "address of `news-assets serve` in browsers, for links in Dagster and mails; empty for"
            " none"
        ),
    )
    dataset: str = Field(
        "",
        description=(
            "folder or s3://bucket/prefix where the data set is published every day; empty for none"
        ),
    )
    dataset_fields: Annotated[
        _CommaSeparated, AfterValidator(values.check_dataset_fields)
    ] = Field(
        USUAL,
        description="columns of articles that the data set has, comma separated",
    )
    dataset_licence: str = Field(
        "",
        pattern=r"^[-a-zA-Z0-9._]*$",
        description="SPDX identifier of its licence, as CC-BY-4.0; empty where none is stated",
    )
    operator_token: Annotated[SecretStr, AfterValidator(values.check_token)] = Field(
        SecretStr(""),
        description=(
            "token for actions on the pages, 20 characters or more; empty for read-only pages"
        ),
    )

    @classmethod
    def read(cls) -> Self:
        """Return the settings of the environment, in which the variables of the home
        folder's `settings.env` are set first; a home of this user is closed to other
        users.

        Raises:
            SettingsError: One line for each invalid setting.
        """
        places = _set_from_file(values.home_folder(os.environ.get("NEWS_HOME", "")))
        variables = {_variable(name): name for name in cls.model_fields}
        given = {
            name: os.environ[variable]
            for variable, name in variables.items()
            if variable in os.environ
        }
        try:
            settings = cls.model_validate(given)
        except ValidationError as error:
            # Without the cause, whose text contains every value read, also the API key.
            raise SettingsError(
                "\n".join(_explain(cls, line, places) for line in error.errors())
            ) from None
        close_to_others(settings.home)
        return settings

    def log_to_stderr(self) -> None:
        """Write log records of NEWS_LOG_LEVEL and above, with their time, to standard
        error; a process that has handlers of its own keeps these.
        """
        logging.basicConfig(
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
            level=self.log_level.upper(),
        )

    @property
    def takes_subscriptions(self) -> bool:
        """Whether readers may subscribe by e-mail."""
        return bool(self.subscription_secret.get_secret_value())

    @property
    def models_dir(self) -> Path:
        """Folder of exported embedding models."""
        return self.home / "models"

    @property
    def has_models(self) -> bool:
        """Whether NEWS_ENRICHER names a language model."""
        return set(self.enricher) != {values.LOCAL_ENRICHER}

    @property
    def search_path(self) -> Path:
        """File of the embedded search index."""
        return self.home / "search.sqlite"

    @property
    def search_place(self) -> tuple[str, Path, str]:
        """The search index, the file of the embedded one, and the server's API key."""
        return self.search, self.search_path, self.typesense_api_key.get_secret_value()

    @property
    def site_logins(self) -> tuple[str, ...]:
        """The addresses of NEWS_LOGINS."""
        return tuple(
            part.strip()
            for part in self.logins.get_secret_value().split(",")
            if part.strip()
        )

    def calls_in_flight(self, provider: str) -> int:
        """How many calls of a provider's models may be in flight."""
        return values.number_of(self.model_calls, provider, 8)

    def calls_per_minute(self, provider: str) -> int:
        """How many calls of a provider's models may begin in a minute; 0 for no limit."""
        return values.number_of(self.model_calls_per_minute, provider, 300)

    @property
    def reports_dir(self) -> Path:
        """Folder of the daily reports."""
        return self.home / "reports"

    @property
    def backups_dir(self) -> Path:
        """Folder of the lake's backups."""
        return self.home / "backups"

    @property
    def keep_days(self) -> KeepDays:
        """How long rows of the lake are kept."""
        return KeepDays(
            self.keep_pages_days,
            self.keep_polls_days,
            self.keep_revisions_days,
            self.keep_answers_days,
            self.keep_changes_days,
        )

    @property
    def caps(self) -> Caps:
        """How much is taken at a time."""
        return Caps(self.max_new_entries, self.max_pages, self.max_text_chars)

    @property
    def ceilings(self) -> Ceilings:
        """The most that language models may cost."""
        return Ceilings(
            self.max_usd_per_run, self.max_usd_per_day, self.max_usd_per_month
        )

    @property
    def hosts_dir(self) -> Path:
        """Folder of what the processes of this machine know of hosts: their robots.txt,
        and their slots unless the catalog is in Postgres.
        """
        return self.home / "hosts"

    @property
    def threads(self) -> int:
        """Threads an embedding model may use in a command, which runs alone: all cores."""
        return os.cpu_count() or 1

    @property
    def threads_per_run(self) -> int:
        """Threads an embedding model may use in a run: the cores divided by WORKERS,
        the concurrent runs here (2).
        """
        # set by deploy/start and compose.yaml; without it two runs at once
        workers = os.environ.get("WORKERS", "")
        return max(
            1, self.threads // max(1, int(workers) if workers.isdecimal() else 2)
        )

    @model_validator(mode="after")
    def _logins_of_origins(self) -> Self:
        for number, login in enumerate(self.site_logins, start=1):
            if not values.LOGIN.fullmatch(login):  # not shown: it contains a password
                raise ValueError(
                    f"NEWS_LOGINS: login {number} is not of the form https://user:password@host; "
                    "write @ : / , % in user and password as %40 %3A %2F %2C %25"
                )
        return self

    @model_validator(mode="after")
    def _has_sender(self) -> Self:
        if self.smtp.get_secret_value() and not self.mail_from:
            raise ValueError(
                "NEWS_MAIL_FROM is empty; NEWS_SMTP needs the sender's address"
            )
        return self

    @model_validator(mode="after")
    def _can_mail_subscribers(self) -> Self:
        if not self.subscription_secret.get_secret_value():
            return self
        needed = {
            "NEWS_SMTP": self.smtp.get_secret_value(),
            "NEWS_PAGES_URL": self.pages_url,
        }
        if missing := [name for name, value in needed.items() if not value]:
            raise ValueError(
                f"{' and '.join(missing)} is empty; NEWS_SUBSCRIPTION_SECRET needs it for mails"
                " to subscribers"
            )
        return self

    @model_validator(mode="after")
    def _has_key(self) -> Self:
        if (
            self.search != "embedded"
            and not self.typesense_api_key.get_secret_value().strip()
        ):
            raise ValueError(
                f"NEWS_TYPESENSE_API_KEY is empty; NEWS_SEARCH={self.search} needs the server's"
                " API key"
            )
        return self

    @model_validator(mode="after")
    def _resolve_paths(self) -> Self:
        home = self.home.resolve()
        object.__setattr__(self, "home", home)
        object.__setattr__(
            self, "catalog", self.catalog or str(home / "catalog.sqlite")
        )
        object.__setattr__(self, "data", self.data or str(home / "data"))
        return self

    @model_validator(mode="after")
    def _publishes_beside_the_lake(self) -> Self:
        if self.dataset and values.overlap(self.dataset, self.data):
            raise ValueError(
                f"NEWS_DATASET={self.dataset} and NEWS_DATA={self.data} contain each other;"
                " maintenance would delete the published files as orphans"
            )
        return self


def _variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{_PREFIX}{name.upper()}"


def _set_from_file(home: Path) -> Mapping[str, str]:
    """Set the variables of the home folder's file that are not set; return where each
    one that has the file's value stands, as `FILE:LINE: `.

    Raises:
        SettingsError: One line for each line that is not a variable, or not a setting.
    """
    path = home / _SETTINGS_FILE
    try:
        with path.open(encoding="utf-8") as file:
            bindings = [one for one in parse_stream(file) if one.key or one.error]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None

    places: dict[str, str] = {}
    mistakes: list[str] = []
    for binding in bindings:
        text = binding.original.string
        blank_lines = len(text) - len(text.lstrip("\n"))
        place = f"{path}:{binding.original.line + blank_lines}: "
        name = binding.key or ""
        value = binding.value or ""
        if mistake := _mistake(name, binding.value):
            mistakes.append(place + mistake)
        elif os.environ.setdefault(name, value) == value:
            places[name] = place
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    return places


def _mistake(name: str, value: str | None) -> str:
    """Return what is wrong with a line of the file; empty if nothing is."""
    if value is None:
        return "not of the form NAME=value"
    if name == "NEWS_HOME":
        return "NEWS_HOME is the folder of this file; set it in the environment"
    if not name.startswith(_PREFIX) or name.startswith(_TOKENS):
        return ""  # of another program, as AWS_REGION, or a token
    if name.removeprefix(_PREFIX).lower() not in Settings.model_fields:
        return f"{name} is not a setting; docs/settings.md lists them"
    return ""


def _explain(settings: type[Settings], line: object, places: Mapping[str, str]) -> str:
    """Return one line of text about an error of validation."""
    assert isinstance(line, dict)
    message = str(line["msg"]).removeprefix("Value error, ")
    if not line["loc"]:
        return message
    name = str(line["loc"][0])
    takes = settings.model_fields[name].description
    variable = _variable(name)
    value = without_credentials(str(line["input"]))
    return (
        f"{places.get(variable, '')}{variable}={value!r}: {message}; accepted: {takes}"
    )


def variable_of(name: str) -> str | None:
    """Return an environment variable that a desk file names for a token; None if it is
    not set.
    """
    return os.environ.get(name)


def child_environment(**changes: str) -> dict[str, str]:
    """Return this process's environment with these variables set, for a child process."""
    return {**os.environ, **changes}


def outdated_settings() -> tuple[str, ...]:
    """Return a line for each setting of the environment that has an old name of a
    value, which is still accepted.
    """
    is_old = os.environ.get("NEWS_SEARCH") == values.OLD_EMBEDDED
    return (
        (f"NEWS_SEARCH={values.OLD_EMBEDDED} is now NEWS_SEARCH=embedded",)
        if is_old
        else ()
    )
