"""The schema of a desk file; each validation error states the fix."""

import difflib
import re
import zoneinfo
from collections import Counter
from collections.abc import Callable, Collection, Sized
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Annotated, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from news_assets.desks.source_options import (
    AccessSpec,
    PageRuleSpec,
    SelectorsSpec,
    VendorSpec,
)
from news_assets.errors import without_credentials
from news_assets.records.desks import (
    DROPPED_ITEMS,
    ITEMS_NOT_ENRICHED,
    DepthRules,
    EnrichRules,
    ItemFilters,
    Pace,
    ReasoningEffort,
    ThemeMethod,
)
from news_assets.setting_values import MODEL_PROVIDERS, check_model_name
from news_assets.sources.civic import CIVIC_LIMITS
from news_assets.text.urls import host_of

# a Dagster asset key prefix, group and queue name
DESK_KEY = re.compile(r"[a-z][a-z0-9_]*")
AGENCY_KEY = re.compile(r"[A-Za-z0-9_-]+")
_HOST = re.compile(r"[^\s/@?#:]+(:\d+)?(/[^\s?#]*)?")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z]{4})?(-([A-Z]{2}|[0-9]{3}))?")

_PACES = get_args(Pace)
BY_SELECTORS = "html_listing"  # the kind of source whose selectors are in the desk file
# this one finds links to PDFs without them too
_WITH_SELECTORS = (
    BY_SELECTORS,
    "pdf_links",
)
_MAX_CHOICES = 2000  # 10 ms; there are 600 time zones

_Many = TypeVar("_Many", bound=Sized)


def suggestion(word: str, choices: Collection[str], otherwise: str) -> str:
    """Return "did you mean" with the closest choice, or `otherwise` if none is close or
    there are too many.
    """
    near = (
        difflib.get_close_matches(word, choices, n=1)
        if len(choices) <= _MAX_CHOICES
        else []
    )
    if near:
        return f"did you mean `{near[0]}`?"
    return otherwise


@cache
def _known_timezones() -> frozenset[str]:
    """Return the names of all zones; cached, because listing tzdata's folders takes 20
    ms.
    """
    return frozenset(zoneinfo.available_timezones())


def _timezone(value: str) -> str:
    known = _known_timezones()
    if value not in known:
        hint = suggestion(value, known, "write an IANA zone such as America/Sao_Paulo")
        raise ValueError(f"`{value}` is not a time zone; {hint}")
    return value


def _language(value: str) -> str:
    if not _LANGUAGE.fullmatch(value):
        raise ValueError(
            f"`{value}` is not a language code; write BCP 47 such as pt or pt-BR"
        )
    return value


def _pace(value: object) -> object:
    if value not in _PACES:
        hint = suggestion(str(value), _PACES, f"write {' or '.join(_PACES)}")
        raise ValueError(f"`{value}` is not a pace; {hint}")
    return value


def _key(pattern: re.Pattern[str], takes: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"`{value}` cannot be a key; use {takes}")
        return value

    return check


def _without_fixed_interval(value: int, info: ValidationInfo) -> int:
    if info.data.get("every_minutes") is not None:
        raise ValueError(
            "`every_minutes` beside it fixes the interval; keep one of the two"
        )
    return value


def _host(value: str) -> str:
    if not host_of(f"https://{value}/") or not _HOST.fullmatch(value):
        raise ValueError(
            f"`{value}` is not a host; write one such as news.example.org, or with a path"
            " example.org/news"
        )
    return value


def _not_empty(value: _Many) -> _Many:
    if not value:
        raise ValueError("empty; add at least one")
    return value


TimeZone = Annotated[str, AfterValidator(_timezone)]
_Language = Annotated[str, AfterValidator(_language)]
_Minutes = Annotated[int, Field(ge=5, le=1440)]
_MaxMinutes = Annotated[_Minutes, AfterValidator(_without_fixed_interval)]
_Hash = Literal["name", "metadata"]
_Pace_ = Annotated[Pace, BeforeValidator(_pace)]
_Host = Annotated[str, AfterValidator(_host)]
_DeskKey = Annotated[
    str,
    AfterValidator(_key(DESK_KEY, "lower-case letters, digits and _, a letter first")),
]
_AgencyKey = Annotated[
    str, AfterValidator(_key(AGENCY_KEY, "letters, digits, - and _"))
]


_DAYS_AGO = re.compile(r"-([0-9]{1,5})d")


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _known_kind(value: str, info: ValidationInfo) -> str:
    kinds = (info.context or {})["kinds"]
    if value not in kinds:
        raise ValueError(
            f"`{value}` is not a kind of source; known: {', '.join(kinds)}"
        )
    return value


_Kind = Annotated[str, AfterValidator(_known_kind)]


class SourceSpec(AccessSpec):
    """One source of an agency."""

    kind: _Kind
    url: str
    every_minutes: _Minutes | None = None
    max_minutes: _MaxMinutes | None = None
    pace: _Pace_ | None = None
    hash: _Hash | None = None
    timezone: TimeZone | None = None
    language: _Language | None = None

    selectors: SelectorsSpec | None = Field(None, validate_default=True)

    @field_validator("selectors")
    @classmethod
    def _selectors_of_a_page(
        cls, value: SelectorsSpec | None, info: ValidationInfo
    ) -> SelectorsSpec | None:
        kind = info.data.get("kind", "")
        if value is None:
            if kind == BY_SELECTORS:
                raise ValueError(
                    f"a source of kind {kind} needs selectors; add `selectors: {{item: ...}}`"
                )
            return None
        if kind not in ("", *_WITH_SELECTORS):
            raise ValueError(
                f"a source of kind {kind} takes no selectors; remove them, or write kind"
                f" {BY_SELECTORS}"
            )
        return value

    @field_validator("hash")
    @classmethod
    def _hash_of_documents(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        kind = info.data.get("kind", "")
        if kind not in ("", *CIVIC_LIMITS):
            raise ValueError(
                f"a source of kind {kind} lists no meetings with documents; remove it"
            )
        return value

    @field_validator("url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            is_web = (
                parts.scheme in ("http", "https")
                and bool(parts.hostname)
                and parts.port != 0
            )
        except ValueError:
            is_web = False
        shown = without_credentials(value)
        if not is_web:
            raise ValueError(
                f"`{shown}` is not a web address; write http://... or https://..."
            )
        if "@" in parts.netloc:
            raise ValueError(
                f"`{shown}` has a user or password; put them into NEWS_LOGINS and leave them out"
                " here"
            )
        return value


class AgencySpec(_Spec):
    """One agency of a desk."""

    name: str = Field(min_length=1)
    type: str | None = Field(None, min_length=1)
    parent: _AgencyKey | None = None
    sources: Annotated[tuple[SourceSpec, ...], AfterValidator(_not_empty)]
    active: bool = True
    reason: str | None = Field(None, validate_default=True)
    since: date | None = None
    pages: tuple[PageRuleSpec, ...] = ()
    hosts: tuple[_Host, ...] = ()
    every_minutes: _Minutes | None = None
    max_minutes: _MaxMinutes | None = None
    pace: _Pace_ | None = None
    hash: _Hash | None = None
    timezone: TimeZone | None = None
    language: _Language | None = None

    @field_validator("pages")
    @classmethod
    def _one_rule_a_day(
        cls, value: tuple[PageRuleSpec, ...]
    ) -> tuple[PageRuleSpec, ...]:
        for day, count in Counter(rule.since for rule in value).items():
            if count > 1:
                when = f"`since: {day}`" if day else "no `since`"
                raise ValueError(
                    f"two rules have {when}; join them, or give one the day from which it holds"
                )
        return value

    @field_validator("reason")
    @classmethod
    def _reason_where_inactive(
        cls, value: str | None, info: ValidationInfo
    ) -> str | None:
        if info.data.get("active") is False and not value:
            raise ValueError("an inactive agency needs a reason; add `reason: ...`")
        return value


def _entities(value: str) -> str:
    if value != "none":
        try:
            check_model_name(value)
        except ValueError as error:
            known = ", ".join(MODEL_PROVIDERS)
            raise ValueError(
                f"{error}; write none, or PROVIDER:MODEL with a provider of {known}"
            ) from error
    return value


_Phrase = Annotated[str, Field(min_length=2, max_length=100)]
_DEPTH = DepthRules()


class DepthSpec(_Spec):
    """Rules of how fully agenda items are summarised; see `records.DepthRules`. A given
    list replaces the default.
    """

    brief: tuple[_Phrase, ...] = Field(_DEPTH.brief, max_length=500)
    full: tuple[_Phrase, ...] = Field(_DEPTH.full, max_length=500)
    dollars: int = Field(_DEPTH.dollars, ge=1)
    chars: int = Field(_DEPTH.chars, ge=1)

    def rules(self) -> DepthRules:
        """Return the rules."""
        return DepthRules(**self.model_dump())


class EnrichSpec(_Spec):
    """The rules of enrichment by a language model; see `records.EnrichRules`."""

    min_chars: int = Field(400, ge=0, le=10_000)
    skip_titles: tuple[_Phrase, ...] = Field((), max_length=100)
    fallback: Literal["local", "none"] = "local"
    via: Literal["direct", "batch"] | None = None
    entities: Annotated[str, AfterValidator(_entities)] | None = None
    depth: DepthSpec = DepthSpec()
    max_tokens: int | None = Field(None, ge=200, le=64_000)
    reasoning: ReasoningEffort | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    themes: ThemeMethod | None = None

    def rules(self) -> EnrichRules:
        """Return the rules."""
        return EnrichRules(**self.model_dump() | {"depth": self.depth.rules()})


class FiltersSpec(_Spec):
    """Phrases of agenda items by tier; see `records.ItemFilters`. A list that is given
    replaces the default one.
    """

    dropped: tuple[_Phrase, ...] = Field(DROPPED_ITEMS, max_length=500)
    not_enriched: tuple[_Phrase, ...] = Field(ITEMS_NOT_ENRICHED, max_length=500)

    def filters(self) -> ItemFilters:
        """Return the filters."""
        return ItemFilters(**self.model_dump())


def _day_of_days_ago(value: object) -> object:
    """Return the day for `-30d`, 30 days before today in UTC; other values as they are."""
    days_ago = _DAYS_AGO.fullmatch(value) if isinstance(value, str) else None
    if days_ago is None:
        return value
    return datetime.now(UTC).date() - timedelta(days=int(days_ago[1]))


def _contact(value: str) -> str:
    if not _CONTACT.fullmatch(value):
        raise ValueError("a contact is an e-mail address, or a team: write team:NAME")
    return value


_CONTACT = re.compile(r"team:[A-Za-z0-9_]{1,60}|[\w.+-]{1,60}@[\w-]+(\.[\w-]+)+")
_Contact = Annotated[str, AfterValidator(_contact)]


class DeskSpec(_Spec):
    """A whole desk file. `kinds` in the validation context are the known kinds of
    source.

    `outside` names bodies without sources in this desk that agencies give as `parent`.
    With `city_keys`, agencies with civic sources have keys such as `paloaltoCA`
    (`city_keys.py`). `taxonomy` is the name of a built-in taxonomy, or a path that
    begins at the folder of the desk file; `names` is such a path of a CSV
    (`name_file.py`).
    """

    desk: _DeskKey
    timezone: TimeZone
    language: _Language
    first_day: Annotated[date, BeforeValidator(_day_of_days_ago)]
    every_minutes: _Minutes | None = None
    max_minutes: _MaxMinutes | None = None
    pace: _Pace_ = "adaptive"
    hash: _Hash = "name"
    city_keys: bool = True
    taxonomy: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    names: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    contacts: Annotated[tuple[_Contact, ...], Field(max_length=10)] = ()
    enrich: EnrichSpec = EnrichSpec()
    filters: FiltersSpec = FiltersSpec()
    vendors: dict[_Kind, VendorSpec] = Field(default_factory=dict)
    outside: dict[_AgencyKey, str] = Field(default_factory=dict)
    agencies: Annotated[dict[_AgencyKey, AgencySpec], AfterValidator(_not_empty)]
