"""Saved queries: the schema of the file that NEWS_QUERIES names, in which each validation
error states the fix, and the queries that operators saved on a page in the lake.
"""

import re
from collections import Counter
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from news_assets.desks.desk_files import read_text
from news_assets.desks.desk_spec import TimeZone
from news_assets.desks.source_options import TOKEN_PREFIX
from news_assets.desks.yaml_nodes import compose, construct, line_of, repeated_keys
from news_assets.errors import DeskFileError, QueryError, SettingsError
from news_assets.ports.services import Reader
from news_assets.records.alerts import StoredQuery
from news_assets.text.query_parser import parse_operators

_NAME = re.compile(r"[\w][\w .-]{0,79}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
MAIL_ADDRESS = re.compile(r"[^\s@<>,;:\"]{1,64}@[^\s@<>,;:\"]{1,255}")
_QUIET = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_HTTP_URL: TypeAdapter[AnyHttpUrl] = TypeAdapter(AnyHttpUrl)


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"`{value[:80]}` cannot be a name; use up to 80 letters, digits, spaces, - _ and ."
        )
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError(
            "not the name of an environment variable; write the secret into one and its name here"
        )
    return value


def _token_variable(value: str) -> str:
    if not _variable(value).startswith(TOKEN_PREFIX):
        raise ValueError(
            f"`{value}` is not a variable for tokens; give it a name that begins with"
            f" {TOKEN_PREFIX}"
        )
    return value


def _web_address(value: str) -> str:
    try:
        url = _HTTP_URL.validate_python(value)
    except ValueError:
        raise ValueError(
            f"`{value[:200]}` is not a web address; write http://... or https://..."
        ) from None
    if url.username or url.password:
        raise ValueError("the address has a user or password; leave them out")
    return value


def _mail_address(value: str) -> str:
    if not MAIL_ADDRESS.fullmatch(value):
        raise ValueError(f"`{value[:200]}` is not an e-mail address")
    return value


_Name = Annotated[str, AfterValidator(_name)]
_Variable = Annotated[str, AfterValidator(_variable)]
_Key = Annotated[str, Field(max_length=200)]
_WebAddress = Annotated[str, AfterValidator(_web_address)]
_Names = Annotated[tuple[_Name, ...], Field(min_length=1, max_length=20)]


ChangeKind = Literal[
    "cancelled", "moved", "agenda", "document", "voted", "edited", "withdrawn"
]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Webhook(_Spec):
    """A receiver of JSON, signed with the secret in an environment variable."""

    kind: Literal["webhook"]
    url: _WebAddress
    secret_env: _Variable


class Mail(_Spec):
    """E-mail addresses; NEWS_SMTP names the server."""

    kind: Literal["mail"]
    to: Annotated[
        tuple[Annotated[str, AfterValidator(_mail_address)], ...],
        Field(min_length=1, max_length=50),
    ]


class Telegram(_Spec):
    """A Telegram chat; the bot's token is in an environment variable. `api` is another
    Bot API server.
    """

    kind: Literal["telegram"]
    chat: str = Field(pattern=r"^(-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64})$")
    token_env: Annotated[str, AfterValidator(_token_variable)]
    api: _WebAddress = "https://api.telegram.org"


class Slack(_Spec):
    """An incoming webhook of Slack, or of what accepts the same JSON; its address, a
    secret, is in a variable.
    """

    kind: Literal["slack"]
    url_env: _Variable


Channel = Annotated[Webhook | Mail | Telegram | Slack, Field(discriminator="kind")]


class SavedQuery(_Spec):
    """A query with filters, and who gets messages about new articles that match it.

    `query` has the syntax of searches, but of words without operators every one must
    occur; an empty one matches everything that passes the filters. Articles published
    more than `max_age_hours` ago give no message, except with `backfill`. Messages name
    the `title`, by default the name. `changes` are sent too, those after `since`. With
    `stories`, or more than one of `publishers`, a story is sent once, when so many
    independent publishers have it.
    """

    name: _Name
    title: str = Field("", max_length=300)
    query: str = Field("", max_length=500)
    desk: _Key | None = None
    agency: _Key | None = None
    theme: _Key | None = None
    language: _Key | None = None
    entity: _Key | None = None
    sentiment: _Key | None = None
    body: _Key | None = None
    matter: _Key | None = None
    meeting_status: _Key | None = None
    from_day: date | None = None
    to_day: date | None = None
    when: Literal["at_once", "hourly", "daily", "weekly"] = "at_once"
    changes: tuple[ChangeKind, ...] = ()
    since: datetime | None = None
    max_age_hours: int = Field(48, ge=1, le=8760)
    backfill: bool = False
    stories: bool = False
    publishers: int = Field(1, ge=1, le=1000)
    to: _Names

    @property
    def tells_stories(self) -> bool:
        """Whether it tells a story once, not each of its articles."""
        return self.stories or self.publishers > 1


class Operators(_Spec):
    """Who gets a message when a state changes, and from which limits on.

    Nothing is looked at during the `quiet` hours, so that afterwards only what lasts is
    sent.
    """

    to: _Names
    quiet: str = ""
    timezone: TimeZone = "UTC"
    every_minutes: int = Field(15, ge=1, le=1440)
    given_up_failures: int = Field(1, ge=1)
    disk_free_ratio: float = Field(0.1, ge=0, le=1)
    budget_ratio: float = Field(1.0, gt=0, le=1)

    @field_validator("quiet")
    @classmethod
    def _hours(cls, value: str) -> str:
        if value and not _QUIET.fullmatch(value):
            raise ValueError(
                f"`{value[:40]}` is not a range of hours; write 22:00-07:00"
            )
        return value

    def is_quiet(self, now: datetime) -> bool:
        """Whether `now` is within the quiet hours, which may go over midnight."""
        if not self.quiet:
            return False
        first, last = (time.fromisoformat(part) for part in self.quiet.split("-"))
        at = now.astimezone(ZoneInfo(self.timezone)).time()
        if first <= last:
            return first <= at < last
        return at >= first or at < last


class Alerts(_Spec):
    """A whole file: channels by name, saved queries, and what operators get."""

    channels: dict[_Name, Channel] = Field(default_factory=dict)
    queries: tuple[SavedQuery, ...] = Field((), max_length=5000)
    operators: Operators | None = None

    @model_validator(mode="after")
    def _texts(self) -> Self:
        for query in self.queries:
            if mistake := _mistake_of(query):
                raise ValueError(mistake)
        return self

    @model_validator(mode="after")
    def _names(self) -> Self:
        names = Counter(query.name for query in self.queries)
        for name, count in names.items():
            if count > 1:
                raise ValueError(f"two queries have the name `{name}`; rename one")
        users = [(query.name, query.to) for query in self.queries]
        if self.operators:
            users.append(("operators", self.operators.to))
        for user, channels in users:
            for channel in channels:
                if channel not in self.channels:
                    raise ValueError(
                        f"`{user}` names a channel `{channel}` that is not among channels; "
                        "add it there"
                    )
        return self


def _mistake_of(query: SavedQuery) -> str:
    """Return what is wrong in the text of a query; empty if nothing is."""
    try:
        parse_operators(query.query)
    except QueryError as error:
        return f"the query `{query.name}`, {error}"
    return ""


# --- the file; each mistake is reported with its line and fix -------------------------

_EMPTY = "no queries in this file; begin with `queries:`"
# which pydantic adds to the path of a channel
_UNIONS = {
    "webhook",
    "mail",
    "telegram",
    "slack",
}


def load_alerts(path: Path | None) -> Alerts:
    """Return the queries, channels and operators' rules of a file; None gives none of
    them.

    Raises:
        SettingsError: All mistakes of the file, one `file:line: what; fix` each.
    """
    if path is None:
        return Alerts()
    try:
        root = compose(read_text(path), path, _EMPTY)
        mistakes = [
            f"{path}:{line}: `{key}` is repeated; keep one"
            for key, line in repeated_keys(root)
        ]
        value = construct(root, path)
    except DeskFileError as error:
        raise SettingsError(str(error)) from error
    if not mistakes:
        try:
            return Alerts.model_validate(value)
        except ValidationError as error:
            found = sorted(
                (line_of(root, line["loc"]), explain(line)) for line in error.errors()
            )
            mistakes = [f"{path}:{line}: {what}" for line, what in found]
    raise SettingsError("\n".join(mistakes))


def explain(error: Any) -> str:
    """Return one line about a mistake that pydantic found in a file or a query: where
    it is, and the fix.
    """
    where = (
        ".".join(str(part) for part in error["loc"] if part not in ("[key]", *_UNIONS))
        or "file"
    )
    match error["type"]:
        case "missing":
            return f"{where} is missing; add it"
        case "extra_forbidden":
            return f"{where}: unknown key; remove it"
        case "value_error":
            return f"{where}: {error['ctx']['error']}"
        case _:
            return f"{where}: {error['msg']}; change {str(error['input'])[:80]!r}"


# --- queries that operators saved on a page -------------------------------------------


def stored_row(query: SavedQuery, who: str, now: datetime) -> StoredQuery:
    """Return the row of a query that an operator saves."""
    query_json = query.model_dump_json(exclude_defaults=True)
    return StoredQuery(
        name=query.name, query_json=query_json, saved_at=now, saved_by=who
    )


def query_of(row: StoredQuery) -> SavedQuery:
    """Return the query of a stored row."""
    return SavedQuery.model_validate_json(row.query_json)


def problem_of(query: SavedQuery, rules: Alerts) -> str:
    """Return what is wrong with a stored query beside the rules of the file; empty if
    nothing is.
    """
    if query.name in {one.name for one in rules.queries}:
        return (
            f"the file of NEWS_QUERIES has a query `{query.name}` too; save this one under another"
            " name"
        )
    if mistake := _mistake_of(query):
        return f"{mistake}; delete it and save it again"
    if missing := [to for to in query.to if to not in rules.channels]:
        names = ", ".join(f"`{name}`" for name in missing)
        return (
            f"the query `{query.name}` goes to {names}, which the file of NEWS_QUERIES does not"
            " have; add the channel there, or delete the query"
        )
    return ""


def with_stored(rules: Alerts, rows: Reader) -> tuple[Alerts, dict[str, str]]:
    """Return the rules of the file with the stored queries, and what is wrong with some
    of these, by name.

    A stored query goes to those of its channels that the file has; without any, it is
    not followed.
    """
    problems: dict[str, str] = {}
    queries = list(rules.queries)
    names = {query.name for query in queries}
    for row in rows.read(StoredQuery):
        query = query_of(row)
        problem = problem_of(query, rules)
        if problem:
            problems[query.name] = problem
        channels = tuple(to for to in query.to if to in rules.channels)
        if not channels:
            continue
        if query.name in names:
            continue
        if not _mistake_of(query):
            queries.append(query.model_copy(update={"to": channels}))
    return rules.model_copy(update={"queries": tuple(queries)}), problems
