"""Requests to one Typesense server through the official client: calls, searches, imports,
exports and deletions.

Errors of the client and its HTTP layer become `IndexingError`, transient where a retry
can succeed. The message names the server, the reason and the remedy, and never contains
an API key.
"""

import json
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import httpx

from news_assets.errors import IndexingError

if TYPE_CHECKING:
    from typesense import Client


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
def _as_indexing_errors(where: str, api_key: str) -> Iterator[None]:
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


def _is_of_server(code: int, message: str) -> bool:
    """Return whether the error of one imported line is about the server, not about the
    document.
    """
    if code >= 500:
        return True
    if code in (401, 422, 429):
        return True
    return _OUT_OF in message or _READ_ONLY in message


# --- requests -------------------------------------------------------------------------


DEFAULT_ALIAS = "news_articles"
# ordinary writes leave the queue sooner; a replay of 100,000 documents takes a minute
_QUEUE_WAIT_S = 5.0
SEARCH_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 120.0  # 1,000 documents take .7 s on an idle server
LINES_PER_IMPORT = 1_000
_BYTES_PER_IMPORT = 20_000_000
_SEARCHES_PER_REQUEST = 50  # the server's limit
HITS_PER_SEARCH = 250  # the server's limit
# of an encoded filter; the server accepts 4,000 characters in a URL
_MAX_FILTER_CHARS = 3_500
_UNBOUNDED = 1 << 30  # filters in a request body may have any length

_ADDRESS = re.compile(
    r"typesense(\+https)?://(\[[0-9a-fA-F:]+\]|[^\s/:@?#]+)(?::(\d{1,5}))?(?:/([\w-]+))?/?"
)

_Response = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TypesenseAddress:
    """A server, and the alias that the index is addressed by."""

    host: str
    port: int
    protocol: str = "http"
    alias: str = DEFAULT_ALIAS

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that `typesense://host:port/alias` names;
        `typesense+https://` uses TLS.

        Raises:
            ValueError: The text is not such an address.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or int(match[3] or 1) not in range(1, 65536):
            raise ValueError(
                "must be typesense://host:port or typesense+https://host:port, optionally followed"
                " by /name"
            )
        protocol, port = ("https", 443) if match[1] else ("http", 8108)
        host = match[2].strip("[]")
        alias = match[4] or DEFAULT_ALIAS
        return cls(host, int(match[3] or port), protocol, alias)

    def __str__(self) -> str:
        return f"typesense at {self.host}:{self.port}"


class TypesenseConnection:
    """A server with one API key. Safe to use from several threads."""

    def __init__(
        self,
        address: TypesenseAddress,
        api_key: str,
        *,
        search_timeout_s: float,
        write_timeout_s: float,
    ):
        self.address = address
        self.where = str(address)
        self.alias = address.alias
        self.queue_wait_s = _QUEUE_WAIT_S
        self._api_key = api_key
        self._timeouts_s = {"search": search_timeout_s, "write": write_timeout_s}
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the HTTP connections."""
        with self._lock:
            for client in self._clients.values():
                client.api_call.close()
            self._clients.clear()

    def _client(self, kind: str) -> Any:
        with self._lock:
            if kind not in self._clients:
                self._clients[kind] = self._new_client(self._timeouts_s[kind])
            return self._clients[kind]

    def _new_client(self, timeout_s: float) -> "Client":
        from typesense import Client

        node = {
            "host": self.address.host,
            "port": self.address.port,
            "protocol": self.address.protocol,
        }
        settings: Any = {
            "nodes": [node],
            "api_key": self._api_key,
            "connection_timeout_seconds": timeout_s,
            "num_retries": 0,  # callers retry
            # loading certificates takes 80 ms
            "verify": self.address.protocol == "https",
        }
        with warnings.catch_warnings():
            # The client warns of its own classes.
            warnings.simplefilter("ignore", DeprecationWarning)
            return Client(settings)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> _Response:
        """Return the JSON of a response; GET requests have the shorter time limit."""
        kind = "search" if method == "get" else "write"
        response: _Response = self._request(kind, method, path, body, params)
        return response

    def _request(
        self,
        kind: str,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, Any] | None,
        **more: Any,
    ) -> Any:
        """Send a request below the client's own methods, which send numbers as strings
        and warn of deprecations.
        """
        with _as_indexing_errors(self.where, self._api_key):
            given = {} if method in ("get", "delete") else {"body": body}
            send = getattr(self._client(kind).api_call, method)
            return send(
                path, entity_type=dict, params=dict(params or {}), **given, **more
            )

    def scoped_key(self, key: str, scope: Mapping[str, Any]) -> str:
        """Return a key derived from another, whose searches always have these
        parameters.
        """
        made: bytes = self._client("search").keys.generate_scoped_search_key(
            key, dict(scope)
        )
        return made.decode()

    # --- reading ----------------------------------------------------------------------

    def search(self, searches: Sequence[_Response]) -> list[_Response]:
        """Return the responses to these searches, in order, from as few requests as
        possible.

        Raises:
            IndexingError: A search failed, or exceeded its time limit, which makes its
                response partial.
        """
        responses: list[_Response] = []
        for start in range(0, len(searches), _SEARCHES_PER_REQUEST):
            body = {"searches": list(searches[start : start + _SEARCHES_PER_REQUEST])}
            answer = self._request("search", "post", "/multi_search", body, None)
            responses += answer["results"]
        for response in responses:
            self._check(response)
        return responses

    def _check(self, response: _Response) -> None:
        if "error" in response:
            message = str(response["error"]).replace(self._api_key, "***")
            is_transient = int(response.get("code", 500)) >= 500
            raise failure(
                self.where, f"the search failed: {message}", is_transient=is_transient
            )
        if response.get("search_cutoff"):
            raise failure(
                self.where,
                "the search exceeded its time limit; try again later",
                is_transient=True,
            )

    def documents(
        self, name: str, article_ids: Sequence[str], fields: str
    ) -> dict[str, _Response]:
        """Return these fields of the documents that exist, by id."""
        common = {
            "collection": name,
            "q": "*",
            "include_fields": fields,
            "per_page": HITS_PER_SEARCH,
        }
        filters = id_filters(article_ids, _UNBOUNDED)
        found: dict[str, _Response] = {}
        for response in self.search([common | {"filter_by": one} for one in filters]):
            for hit in response["hits"]:
                found[str(hit["document"]["id"])] = hit["document"]
        return found

    def export(self, name: str, fields: Sequence[str], filter_by: str = "") -> str:
        """Return these fields of every document that passes the filter, one JSON object
        per line.
        """
        params = {"include_fields": ",".join(fields)}
        if filter_by:
            params["filter_by"] = filter_by
        path = f"/collections/{name}/documents/export"
        lines: str = self._request("write", "get", path, None, params, as_json=False)
        return lines

    # --- writing ----------------------------------------------------------------------

    def import_lines(
        self, name: str, lines: Sequence[tuple[str, str]], action: str
    ) -> dict[str, tuple[int, str]]:
        """Send documents as lines; return {id: (code, reason)} for refused ones.

        Args:
            name: The collection or alias.
            lines: Pairs of id and document, the document as JSON.
            action: create, upsert, update or emplace.

        Raises:
            IndexingError: The import failed; some documents may be stored.
        """
        path = f"/collections/{name}/documents/import"
        refused: dict[str, tuple[int, str]] = {}
        for batch in _batches(lines):
            body = "\n".join(line for _, line in batch).encode()
            params = {"action": action, "return_id": True}
            response = self._request("write", "post", path, body, params, as_json=False)
            with _as_indexing_errors(self.where, self._api_key):
                results = [json.loads(line) for line in response.split("\n") if line]
            refused |= self._refused(batch, results)
        return refused

    def _refused(
        self, batch: list[tuple[str, str]], results: list[_Response]
    ) -> dict[str, tuple[int, str]]:
        """Return the refused lines; results are in the order of the lines, and repeat
        the id.
        """
        if len(results) != len(batch):
            raise self._failed(
                f"{len(results)} results for {len(batch)} documents, which are sent again"
            )
        refused: dict[str, tuple[int, str]] = {}
        for (article_id, _), result in zip(batch, results, strict=True):
            if result.get("id", article_id) != article_id:
                raise self._failed("the results are not in the order of the documents")
            if result["success"]:
                continue
            code = int(result.get("code", 500))
            message = str(result.get("error", "no reason given"))
            if _is_of_server(code, message):
                raise self._failed(f"a write failed: {message}")
            refused[article_id] = code, message
        return refused

    def _failed(self, reason: str) -> IndexingError:
        return failure(self.where, reason, is_transient=True)

    def delete(self, name: str, article_ids: Sequence[str]) -> None:
        """Remove documents by id; unknown ids are ignored."""
        for filter_by in id_filters(article_ids, _MAX_FILTER_CHARS):
            self.call(
                "delete",
                f"/collections/{name}/documents",
                params={"filter_by": filter_by},
            )


def _batches(lines: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    size = 0
    for line in lines:
        is_full = len(batch) == LINES_PER_IMPORT
        if batch and (is_full or size + len(line[1]) > _BYTES_PER_IMPORT):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line[1])
    if batch:
        yield batch


_NEEDS_NO_QUOTES = re.compile(r"[\w.:-]+", re.ASCII)
_BRACKETS_CHARS = 9  # `id:[]`, encoded


def quoted(value: str) -> str:
    """Return a value as filters take it. A quoted value ends at a backtick, which is
    replaced.
    """
    if _NEEDS_NO_QUOTES.fullmatch(value):
        return value
    return f"`{value.replace('`', ' ')}`"


def id_filters(article_ids: Sequence[str], max_chars: int) -> Iterator[str]:
    """Yield filters for these ids, each of at most `max_chars` when URL-encoded."""
    from urllib.parse import quote

    part: list[str] = []
    size = _BRACKETS_CHARS
    for value in map(quoted, article_ids):
        length = len(quote(value)) + 3
        if part and (size + length > max_chars or len(part) == HITS_PER_SEARCH):
            yield f"id:[{','.join(part)}]"
            part, size = [], _BRACKETS_CHARS
        part.append(value)
        size += length
    if part:
        yield f"id:[{','.join(part)}]"
