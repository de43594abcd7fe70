"""The parameters of addresses: each list has a model of what it takes, from which the
API's description is made too.
"""

import base64
import json
from collections.abc import Mapping
from datetime import date, timedelta
from types import GenericAlias
from typing import Any, Final, Literal, Self, TypeVar, cast
from urllib.parse import urlencode

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from news_assets.errors import NewsAssetsError
from news_assets.ports.search_index import SearchMode, SearchSort
from news_assets.records.meetings import MeetingStatus
from news_assets.search import Filters

_MAX_QUERY_CHARS: Final = 500
_MAX_KEY_CHARS: Final = 200
_MAX_KEYS_CHARS: Final = 2_000
MAX_LIMIT: Final = 100
MAX_PAGE: Final = 100
_SHOWN_CHARS: Final = 40
_FIRST_DAY: Final = date(1970, 1, 1)
_LAST_DAY: Final = date(9000, 1, 1)
_MAX_NUMBER: Final = 2**53  # numbers of cursors are counts and positions

_EditKind = Literal["silent", "all"]

T = TypeVar("T", bound=BaseModel)


class ParameterError(NewsAssetsError):
    """A parameter of an address is wrong."""


def _keys(meaning: str) -> Any:
    return Field(None, max_length=_MAX_KEYS_CHARS, description=meaning)


def _key(meaning: str) -> Any:
    return Field(None, max_length=_MAX_KEY_CHARS, description=meaning)


def _day(meaning: str) -> Any:
    # so that the days around it are dates too
    return Field(None, ge=_FIRST_DAY, le=_LAST_DAY, description=meaning)


class Parameters(BaseModel, frozen=True, validate_by_name=True):
    """The parameters of an address; `url` is the address again. `lang` is the page's
    language.
    """

    lang: str = Field("", exclude=True, max_length=10)

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Return the parameters of a query string; empty ones count as left out, others
        than these are ignored.

        Raises:
            ParameterError: A parameter has a value that it does not take.
        """
        given = {name: value.strip() for name, value in query.items() if value.strip()}
        try:
            return cls.model_validate_strings(given, strict=True)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False)[0]
            name = str(wrong["loc"][0])
            message = wrong["msg"][:1].lower() + wrong["msg"][1:]
            raise ParameterError(
                f"{name}={given.get(name, '')[:_SHOWN_CHARS]}: {message}"
            ) from None

    @classmethod
    def names(cls) -> list[str]:
        """Return the names in an address, without `lang`."""
        return [
            field.alias or name
            for name, field in cls.model_fields.items()
            if not field.exclude
        ]

    def url(self, path: str, **changes: Any) -> str:
        """Return the address with these parameters changed; None leaves one out."""
        kept = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        kept |= {"lang": self.lang, **changes}
        given = {name: value for name, value in kept.items() if value not in (None, "")}
        return f"{path}?{urlencode(given)}" if given else path


class OneArticle(Parameters, frozen=True):
    """An article."""

    article_id: str = Field(max_length=_MAX_KEY_CHARS, description="id of the article")


class OneStory(Parameters, frozen=True):
    """A story."""

    story_id: str = Field(
        max_length=_MAX_KEY_CHARS,
        description="id of the story, also of one that became part of another",
    )


class ArticleAddress(Parameters, frozen=True):
    """The page of an article, or a version of it to cite."""

    rev: int | None = Field(None, ge=1, description="number of the version")
    hash: str = Field(
        "",
        pattern="^[0-9a-fA-F]{0,64}$",
        description="beginning of the SHA-256 of its text",
    )
    search: str = Field(
        "", max_length=3_000, description="query string of the search that led here"
    )


class ListParameters(Parameters, frozen=True):
    """A list that is read in parts."""

    limit: int = Field(50, ge=1, le=MAX_LIMIT, description="number of items")
    cursor: str = Field(
        "",
        max_length=1_000,
        description="`next` of the answer before; empty for the beginning",
    )

    def position(self, *kinds: type) -> tuple[Any, ...] | None:
        """Return the values of the cursor, None at the beginning. Raises
        ParameterError.
        """
        if not self.cursor:
            return None
        try:
            form = TypeAdapter(
                cast("type[tuple[Any, ...]]", GenericAlias(tuple, kinds))
            )
            values = form.validate_json(
                base64.urlsafe_b64decode(self.cursor.encode()), strict=True
            )
            if any(
                isinstance(value, int) and abs(value) > _MAX_NUMBER for value in values
            ):
                raise ValueError("a number that no cursor has")
            return values
        except ValueError:
            raise ParameterError(
                f"cursor={self.cursor[:_SHOWN_CHARS]}: take it from `next` of an answer"
            ) from None


def cursor_of(*values: str | float) -> str:
    """Return a cursor of these values."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


class ChangeParameters(Parameters, frozen=True):
    """The record of changes after a cursor."""

    since: str = Field(
        "",
        max_length=100,
        description="`next` of the answer before; empty for the oldest that is kept",
    )
    limit: int = Field(100, ge=1, le=1_000, description="number of items")


class OfDesk(ListParameters, frozen=True):
    """A list of one desk or of all."""

    desk: str | None = _key("key of the desk")
    agency: str | None = _key("key of the agency")


class EditParameters(OfDesk, frozen=True):
    """The texts that publishers replaced in the last days, newest first."""

    days: int = Field(7, ge=1, le=36_500, description="how many days back, to now")
    kind: _EditKind = Field(
        "silent",
        description="silent edits only, which the page does not mention, or all",
    )


class StoryParameters(OfDesk, frozen=True):
    """The stories of a day or of the last days, those of the most publishers and the
    newest first.
    """

    limit: int = Field(20, ge=1, le=MAX_LIMIT, description="number of items")
    text: str = Field(
        "",
        alias="q",
        max_length=_MAX_QUERY_CHARS,
        description="words of an article of the story, as in a search",
    )
    theme: str | None = _key("code of a theme of any level")
    language: str | None = _key("primary language of an article of the story, BCP 47")
    name: str | None = _key("id of a person, body or place, as place/sao-paulo")
    publishers: int = Field(
        2, ge=1, le=1_000, description="at least so many independent publishers"
    )
    day: date | None = _day("the last day; by default today")
    days: int = Field(2, ge=1, le=366, description="how many days, to the last one")

    def span(self, today: date) -> tuple[date, date]:
        """Return the first and the last day."""
        last_day = self.day or today
        return last_day - timedelta(days=self.days - 1), last_day

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, by their names in an address."""
        values = {name: getattr(self, name) for name in _STORY_FILTERS}
        return {name: str(value) for name, value in values.items() if value}


class BriefingParameters(StoryParameters, frozen=True):
    """The stories that a briefing quotes."""

    limit: int = Field(10, ge=1, le=50, description="number of stories")
    publishers: int = Field(
        1, ge=1, le=1_000, description="at least so many independent publishers"
    )


class MorningParameters(Parameters, frozen=True):
    """The morning page of a day."""

    day: date | None = _day("the day; by default today")
    desk: str | None = _key("key of the desk")


_STORY_FILTERS: Final = ("desk", "agency", "theme", "name", "language", "day")


class AgencyParameters(OfDesk, frozen=True):
    """The agencies, or those whose names fit, the best first."""

    name: str = Field(
        "",
        max_length=_MAX_KEY_CHARS,
        description="name or a part of it; accents, case and small mistakes do not matter",
    )


class CoverageParameters(OfDesk, frozen=True):
    """The articles of the last days by agency and day."""

    stage: str | None = _key(
        "name of the stage's table, to count only what waits for it"
    )


class ArticleParameters(OfDesk, frozen=True):
    """The articles as stored, newest first."""

    outcome: str | None = _key("ok, failed, withdrawn, ...: what became of the article")
    from_day: date | None = Field(
        None, alias="from", description="first day of publication"
    )
    to_day: date | None = Field(None, alias="to", description="last day of publication")


class MeetingParameters(OfDesk, frozen=True):
    """The meetings, those to come first; with words or a topic those with such an item
    on the agenda.
    """

    text: str = Field(
        "",
        alias="q",
        max_length=_MAX_QUERY_CHARS,
        description="words of an agenda item",
    )
    topic: str | None = _key("code of a topic of an agenda item")
    body: str | None = _key("part of the name of the body that meets, or of the title")
    status: MeetingStatus | None = Field(None, description="status of the meeting")
    from_day: date | None = Field(None, alias="from", description="first day")
    to_day: date | None = Field(None, alias="to", description="last day")


class OnePublisher(Parameters, frozen=True):
    """A publisher of a desk."""

    desk: str = Field(max_length=_MAX_KEY_CHARS, description="key of the desk")
    agency: str = Field(max_length=_MAX_KEY_CHARS, description="key of the agency")


class OneMeeting(ListParameters, frozen=True):
    """A meeting with a part of its agenda."""

    limit: int = Field(250, ge=1, le=1_000, description="number of agenda items")
    meeting_id: str = Field(max_length=_MAX_KEY_CHARS, description="id of the meeting")


class OneMatter(Parameters, frozen=True):
    """A matter of an agency."""

    desk: str = Field(max_length=_MAX_KEY_CHARS, description="key of the desk")
    agency: str = Field(max_length=_MAX_KEY_CHARS, description="key of the agency")
    matter: str = Field(
        max_length=_MAX_KEY_CHARS, description="key of the matter within the agency"
    )


class OneLaw(Parameters, frozen=True):
    """A law or national bill."""

    law: str = Field(
        max_length=_MAX_KEY_CHARS, description="its number, as LEI 14133/2021"
    )


class OnePerson(ListParameters, frozen=True):
    """A member of a body of an agency, with a part of the votes."""

    desk: str = Field(max_length=_MAX_KEY_CHARS, description="key of the desk")
    agency: str = Field(max_length=_MAX_KEY_CHARS, description="key of the agency")
    person: str = Field(
        max_length=_MAX_KEY_CHARS,
        description="key of the person: the name in lower case, with hyphens",
    )


class NameParameters(OfDesk, frozen=True):
    """The people, bodies and places that the articles of the last days name."""

    kind: str | None = _key("person, body or place")
    days: int = Field(30, ge=1, le=3_660, description="how many days back, to now")


class OneName(Parameters, frozen=True):
    """A person, body or place."""

    kind: str = Field(max_length=_MAX_KEY_CHARS, description="kind of its id")
    name: str = Field(
        max_length=_MAX_KEY_CHARS, description="words of its id, as ana-lima"
    )


class FailureParameters(OfDesk, frozen=True):
    """The failures, newest first."""

    stage: str | None = _key("name of the stage's table")
    host: str | None = _key("host of the article's address")
    cause: str | None = Field(
        None,
        max_length=_MAX_KEYS_CHARS,
        description="the reason, with … for addresses and long numbers",
    )

    @property
    def filters(self) -> dict[str, str | None]:
        """The values of all filters by name."""
        return {name: getattr(self, name) for name in FAILURE_FILTERS}


FAILURE_FILTERS: Final = ("desk", "agency", "stage", "host", "cause")


class SearchAddress(ListParameters, frozen=True):
    """A search: an empty text lists the newest articles."""

    limit: int = Field(10, ge=1, le=MAX_LIMIT, description="number of items")
    text: str = Field(
        "",
        alias="q",
        max_length=_MAX_QUERY_CHARS,
        description=(
            'words, "a phrase", -without, OR, brackets, NEAR/5, begin*; fields: title:,'
            " author:, publisher:, theme:, date:7d"
        ),
    )
    mode: SearchMode = Field("hybrid", description="by words, by meaning or both")
    sort: SearchSort = Field("relevance", description="the best first, or the newest")
    desk: str | None = _key("key of the desk")
    agency: str | None = _keys("key of the agency, or several with commas")
    theme: str | None = _keys("code of a theme of any level, or several with commas")
    language: str | None = _key("BCP 47 code; pt takes pt-BR too")
    from_day: date | None = Field(
        None, alias="from", description="first day of publication"
    )
    to_day: date | None = Field(None, alias="to", description="last day of publication")
    entity: str | None = _key("name of a person, body or place")
    sentiment: str | None = _key("positive, neutral or negative")
    body: str | None = _key("name of the body that met")
    matter: str | None = _key("key of the matter")
    meeting_status: str | None = _key("status of the meeting")
    explain: bool = Field(False, description="whether each item says why it was found")
    stories: bool = Field(
        False, description="whether each story is one item of a part, as its best hit"
    )
    page: int = Field(
        1, ge=1, le=MAX_PAGE, description="number of the page, instead of a cursor"
    )

    @property
    def filters(self) -> Filters:
        """The filters that every hit passes."""
        values = {name: getattr(self, name) for name in _FILTERS}
        for name in SEVERAL:
            if len(chosen := self.chosen(name)) > 1:
                values[name] = tuple(chosen)
        return Filters(**values)

    def chosen(self, name: str) -> list[str]:
        """Return the values of a filter, by its name in an address."""
        value = self.active.get(name)
        if value is None or name not in SEVERAL:
            return [value] if value else []
        return [one for one in value.split(",") if one]

    def toggled(self, name: str, value: str) -> Self:
        """Return this search with a value of a filter, or without it if it has it; of
        some filters, beside the other values.
        """
        chosen = self.chosen(name)
        if value in chosen:
            chosen.remove(value)
        elif name in SEVERAL:
            chosen.append(value)
        else:
            chosen = [value]
        changed = {name: ",".join(chosen) or None, "page": 1, "cursor": ""}
        return self.model_copy(update=changed)

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, by their names in an address."""
        set_ones = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {
            name: set_ones[name] for name in map(_alias, _FILTERS) if name in set_ones
        }

    @property
    def offset(self) -> int:
        """Number of hits before these. Raises ParameterError."""
        place = self.position(int)
        if place:
            first: int = place[0]
            return first
        return (self.page - 1) * self.limit

    def without(self, name: str) -> Self:
        """Return this search without one of its filters."""
        return self.model_copy(update={_field(name): None, "page": 1, "cursor": ""})

    def url(self, path: str = "/search", **changes: Any) -> str:
        """Return the address with these parameters changed; a changed one begins at
        page 1.
        """
        return super().url(
            path, **({"page": None, "cursor": None} | changes if changes else {})
        )


class TrendAddress(SearchAddress, frozen=True):
    """Searches over time, with the filters of a search."""

    text: str = Field(
        "",
        alias="q",
        max_length=_MAX_QUERY_CHARS,
        description="searches by words, one a line; empty for all articles",
    )
    by: Literal["", "day", "week", "month"] = Field(
        "", description="step of the points; empty for one that fits the time"
    )
    measure: Literal["count", "share"] = Field(
        "count", description="number of articles, or share of all articles"
    )
    split: Literal["", "publisher"] = Field(
        "", description="publisher: the first search by its publishers"
    )

    @classmethod
    def names(cls) -> list[str]:
        """Return the names in an address, without those of single hits."""
        return [name for name in super().names() if name not in _OF_HITS]

    @property
    def searches(self) -> list[SearchAddress]:
        """The searches by words, each once. Raises ParameterError."""
        lines = [one.strip() for one in self.text.splitlines() if one.strip()]
        texts = list(dict.fromkeys(lines)) or [""]
        if len(texts) > MAX_SEARCHES:
            raise ParameterError(f"q: at most {MAX_SEARCHES} searches, one a line")
        return [self.search_for(text) for text in texts]

    def search_for(self, text: str) -> SearchAddress:
        """Return the search by words for a text, with these filters."""
        filters = self.model_dump(include=set(_FILTERS))
        return SearchAddress(text=text, mode="keyword", lang=self.lang, **filters)


Step = Literal["day", "week", "month"]
MAX_SEARCHES: Final = 5
_OF_HITS: Final = ("limit", "cursor", "page", "mode", "sort", "explain")
SEVERAL: Final = ("agency", "theme")  # filters that take several values
_FILTERS: Final = tuple(Filters.__dataclass_fields__)


def _alias(name: str) -> str:
    return name.removesuffix("_day")


def _field(name: str) -> str:
    return f"{name}_day" if name in ("from", "to") else name
