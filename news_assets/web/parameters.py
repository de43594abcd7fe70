"""The parameters of a search in an address, checked: a wrong one is an error that names it and what it takes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any, Final, Self, get_args
from urllib.parse import urlencode

from news_assets.errors import NewsAssetsError
from news_assets.ports import SearchMode
from news_assets.search import Filters

MAX_QUERY_CHARS: Final = 500
MAX_PAGE: Final = 100
PAGE_SIZES: Final = (10, 20, 50, 100)
FILTERS: Final = ("desk", "agency", "theme", "language", "from", "to")
_MODES: Final = get_args(SearchMode)


class ParameterError(NewsAssetsError):
    """A parameter of an address is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAddress:
    """A search as its address states it; `url` is the address again."""

    text: str = ""
    mode: SearchMode = "hybrid"
    filters: Filters = field(default_factory=Filters)
    page: int = 1
    size: int = 10
    lang: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Self:
        """Return the search of a query string; empty parameters count as left out.

        Raises:
            ParameterError: A parameter has a value that it does not take.
        """
        given = {name: value.strip() for name, value in parameters.items() if value.strip()}
        text = given.get("q", "")
        if len(text) > MAX_QUERY_CHARS:
            raise ParameterError(f"q has {len(text)} characters; at most {MAX_QUERY_CHARS} are searched")
        return cls(
            text=text,
            mode=_one_of("mode", given.get("mode", "hybrid"), _MODES),
            filters=Filters(
                desk=given.get("desk"),
                agency=given.get("agency"),
                theme=given.get("theme"),
                language=given.get("language"),
                from_day=_day("from", given),
                to_day=_day("to", given),
            ),
            page=_number("page", given.get("page", "1"), MAX_PAGE),
            size=int(_one_of("size", given.get("size", "10"), [str(size) for size in PAGE_SIZES])),
            lang=given.get("lang", ""),
        )

    @property
    def offset(self) -> int:
        """Number of hits on the pages before."""
        return (self.page - 1) * self.size

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, by their names in an address."""
        values = asdict(self.filters)
        named = {name: values[f"{name}_day" if name in ("from", "to") else name] for name in FILTERS}
        return {name: str(value) for name, value in named.items() if value is not None}

    def without(self, name: str) -> Self:
        """Return this search without one of its filters."""
        return replace(self, filters=replace(self.filters, **{_field(name): None}), page=1)

    def url(self, path: str = "/search", **changes: Any) -> str:
        """Return the address with these parameters changed; None leaves one out, a changed filter begins at page 1."""
        parameters: dict[str, Any] = {"q": self.text, **self.active}
        parameters |= {"mode": self.mode, "size": self.size, "lang": self.lang, **changes}
        if "page" not in changes and not changes:
            parameters["page"] = self.page
        usual = {"mode": "hybrid", "size": 10, "page": 1, "lang": "", "q": ""}
        kept = {name: value for name, value in parameters.items() if value not in (None, usual.get(name))}
        return f"{path}?{urlencode(kept)}" if kept else path


def _field(name: str) -> str:
    return f"{name}_day" if name in ("from", "to") else name


def _one_of(name: str, value: str, allowed: Any) -> Any:
    if value not in allowed:
        raise ParameterError(f"{name}={value[:40]}: takes {', '.join(allowed)}")
    return value


def _number(name: str, value: str, most: int) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:9]) <= most:
        raise ParameterError(f"{name}={value[:40]}: takes 1 to {most}")
    return int(value)


def _day(name: str, given: Mapping[str, str]) -> date | None:
    if name not in given:
        return None
    try:
        return date.fromisoformat(given[name])
    except ValueError:
        raise ParameterError(f"{name}={given[name][:40]}: takes a day such as 2026-01-31") from None
