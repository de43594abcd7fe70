"""The exception tree. Exceptions of libraries are translated in `clients/`, `store/`
and the loaders.

NewsAssetsError
├── SettingsError            a NEWS_* variable
├── DeskFileError            a desk file, all its mistakes at once
├── TaxonomyError            a taxonomy file
├── SourceError              one source
│   └── ListingChangedError  a 200 that is no longer a listing
├── FetchError               one URL
│   ├── ForbiddenAddressError
│   ├── TooLargeError
│   └── RobotsError
├── ReadingError             outside bytes or text, in the sandbox
├── EnrichError              one article, or the enricher
│   └── ModelCallError       one request to a language model
├── EmbedError, IndexingError
├── QueryError               the text of one search
├── BatchError               one batch of a provider of language models
└── LakeError
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

MAX_REASON_CHARS: Final = 500  # a reason may quote headers and addresses of the server

_API_KEY = re.compile(r"\b(?:sk|key|AIza|AKIA)[-_]?[\w*-]{12,}")
_USER_AND_PASSWORD = re.compile(r"(?<=[/\\]{2})[^/\\?# ]+@")


def without_credentials(text: str) -> str:
    """Return a text without the user and password of the addresses in it:
    `https://user:password@host`.
    """
    return _USER_AND_PASSWORD.sub("", text)


class NewsAssetsError(Exception):
    """Base class of all errors of this package. `is_transient` means that a later retry
    can help.
    """

    is_transient: bool = False


class SettingsError(NewsAssetsError):
    """An invalid setting: names the setting, its value and the accepted values."""


MAX_MISTAKES = 50  # that an error lists; the rest is left out


class DeskFileError(NewsAssetsError):
    """The mistakes of the desk files, one `file:line: what; fix` per line."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(listed(self.mistakes))


def listed(mistakes: Sequence[str]) -> str:
    """Return the first mistakes of a file, one a line, and whether there are more."""
    return "\n".join(
        (
            *mistakes[:MAX_MISTAKES],
            *(["and more"] if len(mistakes) > MAX_MISTAKES else []),
        )
    )


class TaxonomyError(NewsAssetsError):
    """An invalid taxonomy file."""


class SourceError(NewsAssetsError):
    """A source that returned nothing usable."""


class ClosedSourceError(SourceError):
    """A vendor that has no such client, or wants a token: another poll changes nothing."""


class ListingChangedError(SourceError):
    """A 200 that is no longer a listing: a new template, a login page, HTML in place of
    a feed.
    """


TRANSIENT_STATUSES: Final = (408, 425, 429)  # of those below 500


class FetchError(NewsAssetsError):
    """One URL could not be fetched.

    `url` and `reason` contain no user and password; the reason is one line of at most
    MAX_REASON_CHARS characters. `status` is None if there was no response.
    `retry_after_s` is the server's Retry-After in seconds. `weight` is added to the
    source's failure points, which lengthen its pauses: hard 1, soft .5 (temporary), DNS
    .25. `elapsed_ms` is the duration of the requests in milliseconds, without waits for
    host slots. `is_connection`: the host was not found or not reached, or the
    connection was lost; a try some seconds later may help.
    """

    def __init__(
        self,
        url: str,
        reason: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        weight: float = 0.5,
        is_transient: bool | None = None,
        elapsed_ms: int = 0,
        is_connection: bool = False,
    ) -> None:
        self.url = without_credentials(url)
        self.reason = _one_line(without_credentials(reason))[:MAX_REASON_CHARS]
        self.status = status
        self.retry_after_s = retry_after_s
        self.weight = weight
        self.elapsed_ms = elapsed_ms
        self.is_connection = is_connection
        self.is_transient = (
            is_transient if is_transient is not None else _is_transient(status)
        )
        super().__init__(f"{_one_line(self.url)}: {self.reason}")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _is_transient(status: int | None) -> bool:
    return status is None or status in TRANSIENT_STATUSES or status >= 500


class ForbiddenAddressError(FetchError):
    """The host is neither public nor in NEWS_ALLOW_PRIVATE_HOSTS, or the port belongs
    to another protocol.
    """


class TooLargeError(FetchError):
    """The body exceeded its size cap."""


class RobotsError(FetchError):
    """The site's robots.txt forbids this URL."""


class ReadingError(NewsAssetsError):
    """Outside bytes or text that could not be read, or not within the limits of time
    and memory.
    """


class EnrichError(NewsAssetsError):
    """An article that could not be enriched."""


class BatchError(NewsAssetsError):
    """A batch that could not be made, found or read; if `is_transient`, it may have
    been made all the same.
    """

    def __init__(self, message: str, *, is_transient: bool) -> None:
        self.is_transient = is_transient
        super().__init__(message)


CallFailure = Literal[
    "retry", "rest", "unanswered", "too_long", "rejected", "declined", "fatal"
]


class ModelCallError(EnrichError):
    """A request to a language model without an answer.

    Attributes:
        kind: `retry`: the provider failed, and bills nothing. `rest`: it wants no
            request before `wait_s`. `unanswered`: the request was sent, and perhaps
            billed. `too_long`: it exceeds the context window. `rejected`: the provider
            refuses this request, `declined`: its content. `fatal`: it would refuse any.
        wait_s: Pause that the provider wants, in seconds; None if it states none.
        window_tokens: Context window that the provider states, with `too_long`.
    """

    def __init__(
        self,
        reason: str,
        kind: CallFailure,
        *,
        wait_s: float | None = None,
        window_tokens: int | None = None,
    ) -> None:
        self.kind = kind
        self.wait_s = wait_s
        self.window_tokens = window_tokens
        shown = _API_KEY.sub("[key]", without_credentials(reason))
        super().__init__(_one_line(" ".join(shown.split()))[:MAX_REASON_CHARS])


class QueryError(NewsAssetsError):
    """A mistake in the text of a search.

    `column` is where it is, from 1. `problem` is a sentence with names in braces,
    which pages translate, and `values` are what stands in their place.
    """

    def __init__(self, problem: str, column: int, **values: object) -> None:
        self.problem = problem
        self.column = column
        self.values = values
        super().__init__(f"column {column} of the search: {problem.format(**values)}")


class EmbedError(NewsAssetsError):
    """A text that could not be embedded, or a model that cannot be used."""


class NotifyError(NewsAssetsError):
    """A message that a channel did not accept; `retry_after_s` is the pause that it
    requests. `is_unreachable`: the mail server itself, so no recipient can be reached.
    """

    def __init__(
        self,
        message: str,
        *,
        is_transient: bool,
        retry_after_s: float | None = None,
        is_unreachable: bool = False,
    ) -> None:
        self.is_transient = is_transient
        self.is_unreachable = is_unreachable
        self.retry_after_s = retry_after_s
        super().__init__(_one_line(without_credentials(message))[:MAX_REASON_CHARS])


class RunRequestError(NewsAssetsError):
    """A run that Dagster's web server did not take."""


class IndexingError(NewsAssetsError):
    """The search index could not be read or written."""


class LakeError(NewsAssetsError):
    """The lake could not be opened, read or written."""
