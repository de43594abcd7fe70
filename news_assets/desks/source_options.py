"""Options in a desk file: how a source is requested, limits of its vendor, selectors of
its listing and its pages.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from news_assets.errors import without_credentials
from news_assets.records.desks import Access, PageRule, Selectors, VendorLimits
from news_assets.sources.civic import CIVIC_LIMITS
from news_assets.sources.html_document import problem_of

# a request in a vendor's slot waits for its host; ten minutes count as a process that
# hangs
_MAX_DELAY_S = 300
_MAX_BREAK_S = 600
_MAX_HEADERS = 20
_MAX_CSS_CHARS = 300  # nested `:not()` within it stay below the recursion limit

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")  # a token of RFC 9110
_VALUE = re.compile(r"[!-~](?:[ -~]{0,998}[!-~])?")
_OF_CLIENT = re.compile(
    r"host|user-agent|connection|keep-alive|upgrade|te|trailer|transfer-encoding|expect|range|if-.*|content-.*|"
    r"accept-encoding|proxy-.*|http2-settings|via|forwarded|x-forwarded-.*",
    re.IGNORECASE,
)
_OF_SECRETS = re.compile(
    r"cookie|auth|token|key|secret|password|session|credential", re.IGNORECASE
)
# of the variables that a file may name: others hold secrets of other programs
TOKEN_PREFIX = "NEWS_TOKEN_"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def _header_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"`{value}` is not the name of a header; use letters, digits and -"
        )
    if value.lower() == "user-agent":
        raise ValueError(f"`{value}` is set for all sources; use NEWS_USER_AGENT")
    if _OF_CLIENT.fullmatch(value):
        raise ValueError(f"`{value}` is set by the HTTP client; remove it")
    return value


def _public_header_name(value: str) -> str:
    if _NAME.fullmatch(value) and _OF_SECRETS.search(value):
        raise ValueError(
            f"`{value}` is for a secret, which no desk file may contain; name an environment"
            " variable with `token_env`, and the header with `token_header`"
        )
    return _header_name(value)


def _header_value(value: object) -> object:
    if isinstance(value, str) and _VALUE.fullmatch(value):
        return value
    raise ValueError(
        "not a header's value; write 1 to 1000 printable ASCII characters, in quotes"
    )


def _named_once(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, count in Counter(map(str.lower, headers)).items():
        if count > 1:
            raise ValueError(
                f"`{name}` is repeated; capital letters make no other header; keep one"
            )
    return headers


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError(
            "not the name of an environment variable; write the name here, never the token itself"
        )
    if not value.startswith(TOKEN_PREFIX):
        raise ValueError(
            f"`{value}` is not a variable for tokens; give it a name that begins with"
            f" {TOKEN_PREFIX}"
        )
    return value


def _token_header(value: str) -> str:
    if "cookie" in value.lower():
        raise ValueError(f"`{value}` cannot carry a token; name another header")
    return _header_name(value)


def _proxy(value: str) -> str:
    shown = without_credentials(value)
    if not _is_proxy(value):
        raise ValueError(
            f"`{shown}` is not the address of an HTTP proxy; write http://host:port or"
            " https://host:port"
        )
    if "@" in urlsplit(value).netloc:
        raise ValueError(
            f"`{shown}` has a user or password; put them into NEWS_LOGINS and leave them out here"
        )
    return value


def _is_proxy(value: str) -> bool:
    """Whether an address has a scheme, a host and perhaps a port, and nothing more."""
    try:
        parts = urlsplit(value)
        if parts.port == 0:
            return False
        if not parts.hostname:
            return False
    except ValueError:
        return False
    if parts.path.strip("/"):
        return False
    if parts.query:
        return False
    if parts.fragment:
        return False
    return parts.scheme in ("http", "https")


def _css(value: str) -> str:
    problem: str | None = f"longer than {_MAX_CSS_CHARS} characters"
    if len(value) <= _MAX_CSS_CHARS:
        problem = problem_of(value)
    if problem is not None:
        raise ValueError(
            f"`{value[:80]}` is not a CSS selector: {problem}; write one such as `ul.news > li`"
        )
    return value


_Css = Annotated[str, AfterValidator(_css)]
_HeaderName = Annotated[str, AfterValidator(_public_header_name)]
_HeaderValue = Annotated[str, BeforeValidator(_header_value)]
_Headers = Annotated[
    dict[_HeaderName, _HeaderValue],
    Field(max_length=_MAX_HEADERS),
    AfterValidator(_named_once),
]
_DelayS = Annotated[float, Field(ge=0, le=_MAX_DELAY_S, allow_inf_nan=False)]


class VendorSpec(BaseModel):
    """Limits that the hosts of one kind of source share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slots: int = Field(1, ge=1, le=64)
    delay_s: _DelayS = 0.0
    break_s: float = Field(0.0, ge=0, le=_MAX_BREAK_S, allow_inf_nan=False)


class SelectorsSpec(BaseModel):
    """The selectors of a source of kind `html_listing`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item: _Css
    link: _Css | None = None
    title: _Css | None = None
    date: _Css | None = None
    summary: _Css | None = None
    next: _Css | None = None
    empty: _Css | None = None

    def selectors(self) -> Selectors:
        """Return the selectors without the empty ones."""
        return Selectors(**self.model_dump(exclude_none=True))


class PageRuleSpec(BaseModel):
    """Selectors for the pages of an agency's articles."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: date | None = None
    content: _Css | None = None
    remove: _Css | None = None
    date: _Css | None = None

    @model_validator(mode="after")
    def _with_a_selector(self) -> Self:
        if not any((self.content, self.remove, self.date)):
            raise ValueError("no selector; add `content`, `remove` or `date`")
        return self

    def rule(self) -> PageRule:
        """Return the rule without the empty selectors."""
        return PageRule(**self.model_dump(exclude_none=True))


class AccessSpec(BaseModel):
    """The keys of a source that say how it is requested."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    headers: _Headers = Field(default_factory=dict)
    token_env: Annotated[str, AfterValidator(_variable)] | None = None
    token_header: Annotated[str, AfterValidator(_token_header)] | None = None
    token_param: (
        Annotated[str, Field(pattern=r"^[A-Za-z_$][A-Za-z0-9_.$-]{0,50}$")] | None
    ) = None
    proxy: Annotated[str, AfterValidator(_proxy)] | None = None
    delay_s: _DelayS = 0.0

    @field_validator("token_header", "token_param")
    @classmethod
    def _of_a_token(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        if info.data.get("token_env", "") is None:
            raise ValueError(
                "there is no token to send; add `token_env: NAME` or remove this"
            )
        if info.field_name == "token_param" and info.data.get("token_header"):
            raise ValueError(
                "the token is sent as `token_header` already; keep one of the two"
            )
        return value


def access_of(
    spec: AccessSpec, url: str, kind: str, vendors: Mapping[str, VendorSpec]
) -> Access:
    """Return how a source of this kind and address is requested, with the limits of its
    vendor.
    """
    return Access(
        headers=tuple(spec.headers.items()),
        token_env=spec.token_env,
        token_header=spec.token_header or "Authorization",
        token_param=spec.token_param or "",
        token_url=url if spec.token_env else "",
        proxy=spec.proxy,
        delay_s=spec.delay_s,
        vendor=_limits_of(kind, vendors),
    )


def _limits_of(kind: str, vendors: Mapping[str, VendorSpec]) -> VendorLimits | None:
    """Return the limits that the desk file sets for a kind of source, else its civic
    vendor's, if it has one.
    """
    if (stated := vendors.get(kind)) is not None:
        return VendorLimits(kind=kind, **stated.model_dump())
    limits = CIVIC_LIMITS.get(kind)
    if limits and limits.delay_s:
        return limits
    return None
