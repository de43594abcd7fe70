"""The exception tree. Foreign exceptions become one of these where they enter: in `clients/`, `store/` and the loaders.

NewsAssetsError
├── SettingsError            a NEWS_* variable
├── DeskFileError            a desk file, all its mistakes at once
├── TaxonomyError            a taxonomy file
├── SourceError              one source
│   └── ListingChangedError  a 200 that is no listing any more
├── FetchError               one URL
│   ├── ForbiddenAddressError
│   ├── TooLargeError
│   └── RobotsError
├── ExtractError             one page
├── EnrichError, EmbedError, IndexingError
└── LakeError
"""

from collections.abc import Sequence


class NewsAssetsError(Exception):
    """Any error of this package. `is_transient` tells whether trying again later can help."""

    is_transient: bool = False


class SettingsError(NewsAssetsError):
    """A setting that cannot be used: names the setting, its value and what it takes."""


class DeskFileError(NewsAssetsError):
    """Every mistake of the desk files, one `file:line: what; fix` a line."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


class TaxonomyError(NewsAssetsError):
    """A taxonomy file that cannot be used."""


class SourceError(NewsAssetsError):
    """A source that gave nothing usable."""


class ListingChangedError(SourceError):
    """A 200 that is no listing any more: another template, a log-in page, HTML in place of a feed."""


class FetchError(NewsAssetsError):
    """One URL could not be had.

    `status` is None where no answer came. `retry_after_s` is what the server asked for, in seconds.
    `weight` counts towards giving a source longer pauses: hard 1, soft .5 (it may come back), DNS .25.
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
    ) -> None:
        self.url = url
        self.reason = reason
        self.status = status
        self.retry_after_s = retry_after_s
        self.weight = weight
        self.is_transient = is_transient if is_transient is not None else _is_transient(status)
        super().__init__(f"{url}: {reason}")


def _is_transient(status: int | None) -> bool:
    return status is None or status in (408, 425, 429) or status >= 500


class ForbiddenAddressError(FetchError):
    """The host resolves to an address that is not public and not named in NEWS_ALLOW_PRIVATE_HOSTS."""


class TooLargeError(FetchError):
    """The body passed its size cap while it streamed."""


class RobotsError(FetchError):
    """The site's robots.txt forbids this URL to us."""


class ExtractError(NewsAssetsError):
    """A page with no article in it."""


class EnrichError(NewsAssetsError):
    """An article that could not be enriched."""


class EmbedError(NewsAssetsError):
    """A text that could not be embedded, or a model that cannot be used."""


class IndexingError(NewsAssetsError):
    """The search index could not be read or written."""


class LakeError(NewsAssetsError):
    """The lake could not be opened, read or written."""
