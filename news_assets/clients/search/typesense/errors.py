"""What goes wrong with a Typesense server, as one reason that says what, where, and what mends it.

Errors of the official client and of its HTTP layer enter; `IndexingError` leaves, transient where waiting or freeing
the server can help. No key is ever part of a reason.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from news_assets.errors import IndexingError

REBUILD = "`news-assets rebuild search`"

_OUT_OF = "running out of resource"
_READ_ONLY = "Skipping writes"


def failure(where: str, reason: str, *, is_transient: bool = False) -> IndexingError:
    """Return an error about the server at this address."""
    error = IndexingError(f"{where}: {reason}")
    error.is_transient = is_transient
    return error


@contextmanager
def translated(where: str, api_key: str) -> Iterator[None]:
    """Turn the client's errors into IndexingError.

    Args:
        where: The address as the setting has it, to name in the reason.
        api_key: What no reason may contain, should a server repeat it.
    """
    from typesense import exceptions

    try:
        yield
    except exceptions.TypesenseClientError as error:
        raise _of_answer(where, error, str(error).replace(api_key, "***")) from None
    except httpx.HTTPError as error:
        raise _of_connection(where, error) from error
    except ValueError as error:  # JSON that is none
        raise failure(where, f"the answer cannot be read ({error}); is this a Typesense server?") from error


def _of_connection(where: str, error: httpx.HTTPError) -> IndexingError:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        reason = f"no connection ({error}); is the server running, and is the address right?"
    elif isinstance(error, httpx.TimeoutException):
        reason = "no answer in time; the server hangs or has too much to do; try again later"
    else:
        reason = f"the connection broke ({error or type(error).__name__}); what was not confirmed is sent again"
    return failure(where, reason, is_transient=True)


def _of_answer(where: str, error: Exception, said: str) -> IndexingError:
    from typesense import exceptions

    if isinstance(error, exceptions.RequestUnauthorized | exceptions.RequestForbidden):
        return failure(where, "the server refuses the API key; check NEWS_TYPESENSE_API_KEY and what the key may do")
    if isinstance(error, exceptions.ObjectNotFound):
        return failure(where, f"not there: {said}; {REBUILD} makes the index again")
    if isinstance(error, exceptions.ServiceUnavailable):
        return failure(where, f"not ready: {said}; it starts, catches up or is overloaded", is_transient=True)
    if isinstance(error, exceptions.ObjectUnprocessable):
        return _of_refusal(where, said)
    if isinstance(error, exceptions.RequestMalformed | exceptions.ObjectAlreadyExists):
        return failure(where, f"the server refuses the request: {said}")
    return failure(where, f"the server failed: {said}", is_transient=True)


def _of_refusal(where: str, said: str) -> IndexingError:
    if _OUT_OF in said:
        return failure(where, f"no room to write: {said}; free some, then it goes on", is_transient=True)
    if _READ_ONLY in said:
        return failure(where, f"read-only: {said}; start it without --skip-writes", is_transient=True)
    return failure(where, f"the server refuses the request: {said}")


def is_of_server(code: int, said: str) -> bool:
    """Tell whether the error of one imported line is about the server and not about its document."""
    return code >= 500 or code in (401, 422, 429) or _OUT_OF in said or _READ_ONLY in said
