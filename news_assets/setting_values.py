"""Checks of single settings.

A ValueError says what is wrong; `settings.py` adds the name, the value and what is
accepted.
"""

import ipaddress
import re
from pathlib import Path

from pydantic import SecretStr

from news_assets.records.derived import publishable_fields

_TYPESENSE = re.compile(
    r"typesense(\+https)?://(\[[0-9a-fA-F:]+\]|[^\s/:@?#]+)(?::(\d{1,5}))?(?:/([\w-]+))?/?"
)
OLD_EMBEDDED = "sqlite"  # earlier name of the embedded index
_HOSTNAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.IGNORECASE)
LOGIN = re.compile(
    r"https?://[^\s:/?#@]+:[^\s:/?#@]+@(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?/?",
    re.IGNORECASE,
)
_SMTP = re.compile(
    r"smtps?://([^\s:/?#@]+:[^\s:/?#@]+@)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?/?",
    re.IGNORECASE,
)
_MIN_TOKEN_CHARS = 20

# The optional dependency group of each provider of language models.
MODEL_PROVIDERS = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "google-gla": "google",
    "ollama": "ollama",
    "openai": "openai",
}
LOCAL_ENRICHER = "local"

_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,199}")


def split_commas(value: object) -> object:
    """Return the parts of a comma separated text."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def home_folder(value: str | Path) -> Path:
    """Return the folder with `~` replaced; `.news` for an empty text."""
    return Path(value or ".news").expanduser()


def none_if_empty(value: object) -> object:
    """Return None for an empty text."""
    return value or None


def zero_if_empty(value: object) -> object:
    """Return 0 for an empty text."""
    return value or 0.0


def check_desks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check that there is a desk."""
    if not value:
        raise ValueError("names no desk")
    return value


def check_dataset_fields(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check that these columns can be published."""
    known = publishable_fields()
    unknown = [name for name in value if name not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no column of articles")
    return value


def overlap(place: str, other: str) -> bool:
    """Return whether one of two folders or S3 addresses is, or is within, the other."""
    one, two = (_with_slash(each) for each in (place, other))
    return one.startswith(two) or two.startswith(one)


def _with_slash(place: str) -> str:
    path = place if "://" in place else str(Path(place).resolve())
    return path.rstrip("/") + "/"


def check_catalog(value: str) -> str:
    """Check the kind of a catalog's address."""
    if "://" in value and not is_postgres(value):
        raise ValueError("unknown kind of catalog")
    return value


def is_postgres(catalog: str) -> bool:
    """Return whether the address of a catalog is that of a Postgres database."""
    return catalog.startswith(("postgresql://", "postgres://"))


_POSTGRES = re.compile(r"(\w+://(?:[^/@]*@)?[^?]*)\??(.*)")
# By default a client waits two hours for a server that vanished from the network, or
# for the reply of a session that the server has ended meanwhile.
_TIMEOUTS = {
    "connect_timeout": 10,  # s
    "keepalives_idle": 10,  # s
    "keepalives_interval": 5,  # s
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # ms
}


def with_timeouts(database: str) -> str:
    """Return the address of a Postgres database with timeouts for the network, so that
    a lost connection is an error within 30 s. Those that it states stay.
    """
    match = _POSTGRES.fullmatch(database)
    if match is None:
        return database
    address, query = match.groups()
    stated = [part for part in query.split("&") if part]
    names = {part.partition("=")[0] for part in stated}
    added = [
        f"{name}={value}" for name, value in _TIMEOUTS.items() if name not in names
    ]
    return f"{address}?{'&'.join(stated + added)}"


def search_index(value: str) -> str:
    """Return the search index by its present name."""
    if value == OLD_EMBEDDED:
        return "embedded"
    match = _TYPESENSE.fullmatch(value)
    if value != "embedded" and (
        match is None or int(match[3] or 1) not in range(1, 65536)
    ):
        raise ValueError(
            "unknown search index"
            if "@" not in value
            else "the address must not contain a key"
        )
    return value


def check_model_name(name: str) -> None:
    """Check that a name is PROVIDER:MODEL, of a known provider. Raises ValueError."""
    provider, colon, model = name.partition(":")
    if provider not in MODEL_PROVIDERS or not colon:
        raise ValueError(f"unknown provider {provider!r}")
    if not _MODEL_NAME.fullmatch(model):
        raise ValueError(f"{model!r} is not the name of a model")


def check_optional_model(value: str) -> str:
    """Check the name of a model, if there is one."""
    if value:
        check_model_name(value)
    return value


def check_enrichers(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of a chain of enrichers."""
    for part in value:
        if part != LOCAL_ENRICHER:
            check_model_name(part)
    if not value or len(set(value)) < len(value) or LOCAL_ENRICHER in value[1:]:
        raise ValueError("names no enricher, one twice, or local behind a model")
    return value


def check_numbers(least: int, most: int, value: str) -> str:
    """Check a number, or one for each provider: openai=50,ollama=1."""
    for part in value.split(","):
        provider, _, number = part.strip().rpartition("=")
        if not number.isdecimal() or not least <= int(number) <= most:
            raise ValueError(f"{number!r} is not a number from {least} to {most}")
        if provider and provider not in MODEL_PROVIDERS:
            raise ValueError(f"unknown provider {provider!r}")
    return value


def number_of(value: str, provider: str, otherwise: int) -> int:
    """Return the number of a provider, else the one without a provider, else
    `otherwise`.
    """
    parts = [part.strip().rpartition("=") for part in value.split(",")]
    numbers = {name: int(number) for name, _, number in parts}
    return numbers.get(provider, numbers.get("", otherwise))


def check_kept_days(value: int) -> int:
    """Check that rows are kept for as long as checks read them."""
    if 0 < value < 31:
        raise ValueError("checks read the last 30 days")
    return value


def check_hosts(value: tuple[str, ...]) -> tuple[str, ...]:
    """Check hosts and CIDR blocks."""
    for part in value:
        if not _is_block(part) and not _HOSTNAME.fullmatch(part):
            raise ValueError(f"{part!r} is neither a host nor a CIDR block")
    return value


def _is_block(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def check_mail_server(value: SecretStr) -> SecretStr:
    """Check the address of a mail server."""
    if value.get_secret_value() and not _SMTP.fullmatch(value.get_secret_value()):
        raise ValueError("write @ : / % in user and password as %40 %3A %2F %25")
    return value


def check_token(value: SecretStr) -> SecretStr:
    """Check the length of a token."""
    if 0 < len(value.get_secret_value()) < _MIN_TOKEN_CHARS:
        raise ValueError("too short to resist guessing")
    return value
