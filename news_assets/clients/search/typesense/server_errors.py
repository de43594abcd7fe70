"""Errors of the Typesense client and its HTTP layer as `IndexingError`, transient where
a retry can succeed.

The message names the server, the reason and the remedy, and never contains an API key.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from news_assets.errors import IndexingError

REBUILD = "`news-assets rebuild search`"

_OUT_OF = "running out of resource"
_READ_ONLY = "Skipping writes"


class MissingCollectionError(IndexingError):
    """The collection of a request does not exist."""


def failure(where: str, reason: str, *, is_transient: bool = False) -> IndexingError:
    """Return an error about the server at this address."""
    error = IndexingError(f"{where}: {reason}")
    error.is_transient = is_transient
    return error


@contextmanager
def translated(where: str, api_key: str) -> Iterator[None]:
    """Raise the client's errors as IndexingError.

    Args:
        where: The server, as messages name it.
        api_key: Masked, in case the server repeats it.
    """
    from typesense import exceptions

    try:
        yield
    except exceptions.TypesenseClientError as error:
        raise _of_response(where, error, str(error).replace(api_key, "***")) from None
    except httpx.HTTPError as error:
        raise _of_connection(where, error) from error
    except ValueError as error:  # invalid JSON
        raise failure(
            where, f"the response cannot be read ({error}); is this a Typesense server?"
        ) from error


def _of_connection(where: str, error: httpx.HTTPError) -> IndexingError:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        reason = (
            f"no connection ({error}); is the server running, and is the address right?"
        )
    elif isinstance(error, httpx.TimeoutException):
        reason = (
            "no response in time; the server hangs or is overloaded; try again later"
        )
    else:
        reason = (
            f"the connection broke ({error or type(error).__name__}); unconfirmed documents are"
            " sent again"
        )
    return failure(where, reason, is_transient=True)


def _of_response(where: str, error: Exception, message: str) -> IndexingError:
    from typesense import exceptions

    if isinstance(error, exceptions.RequestUnauthorized | exceptions.RequestForbidden):
        return failure(
            where,
            "the server refuses the API key; check NEWS_TYPESENSE_API_KEY and its permissions",
        )
    if isinstance(error, exceptions.ObjectNotFound):
        return MissingCollectionError(f"{where}: not found: {message}; run {REBUILD}")
    if isinstance(error, exceptions.ServiceUnavailable):
        return failure(
            where,
            f"not ready: {message}; it is starting, catching up or overloaded",
            is_transient=True,
        )
    if isinstance(error, exceptions.ObjectUnprocessable):
        return _of_refusal(where, message)
    if isinstance(error, exceptions.RequestMalformed | exceptions.ObjectAlreadyExists):
        return failure(where, f"the server refuses the request: {message}")
    return failure(where, f"the server failed: {message}", is_transient=True)


def _of_refusal(where: str, message: str) -> IndexingError:
    if _OUT_OF in message:
        return failure(
            where, f"no space to write: {message}; free some space", is_transient=True
        )
    if _READ_ONLY in message:
        return failure(
            where,
            f"read-only: {message}; start it without --skip-writes",
            is_transient=True,
        )
    return failure(where, f"the server refuses the request: {message}")


def is_of_server(code: int, message: str) -> bool:
    """Return whether the error of one imported line is about the server, not about the
    document.
    """
    return (
        code >= 500
        or code in (401, 422, 429)
        or _OUT_OF in message
        or _READ_ONLY in message
    )
