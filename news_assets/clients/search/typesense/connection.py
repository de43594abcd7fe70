"""One Typesense server, through the official client: addresses, timeouts, searches, imports and exports.

Parameters and lines of JSON enter, the server's answers leave as they are. What they mean stands in the other
modules beside this one.
"""

import json
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from news_assets.clients.search.typesense.errors import failure, is_of_server, translated

if TYPE_CHECKING:
    from typesense import Client

DEFAULT_ALIAS = "news_articles"
QUEUE_WAIT_S = 5.0  # writes of others pass through the queue in less; a replay takes a minute for 100,000 documents
SEARCH_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 120.0  # 1,000 documents take .7 s; the rest is for a server that is busy
LINES_AT_ONCE = 1_000
BYTES_AT_ONCE = 20_000_000
SEARCHES_AT_ONCE = 50  # the server's limit
HITS_AT_ONCE = 250  # the server's limit
MAX_QUERY_CHARS = 3_500  # of an encoded filter; the server takes 4,000 in an address

_ADDRESS = re.compile(r"typesense(\+https)?://(\[[0-9a-fA-F:]+\]|[^\s/:@?#]+)(?::(\d{1,5}))?(?:/([\w-]+))?/?")

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TypesenseAddress:
    """Where a server is and under which name (an alias) the index is asked for."""

    host: str
    port: int
    protocol: str = "http"
    alias: str = DEFAULT_ALIAS

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that `typesense://host:port/alias` names; `typesense+https://` is encrypted.

        Raises:
            ValueError: It is none.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or int(match[3] or 1) not in range(1, 65536):
            raise ValueError("takes typesense://host:port or typesense+https://host:port, and perhaps /name after it")
        protocol, port = ("https", 443) if match[1] else ("http", 8108)
        return cls(match[2].strip("[]"), int(match[3] or port), protocol, match[4] or DEFAULT_ALIAS)

    def __str__(self) -> str:
        return f"typesense at {self.host}:{self.port}"


class TypesenseConnection:
    """A server with one key. Safe to use from several threads."""

    def __init__(self, address: TypesenseAddress, api_key: str, *, search_timeout_s: float, write_timeout_s: float):
        self.address = address
        self.where = str(address)
        self.alias = address.alias
        self.queue_wait_s = QUEUE_WAIT_S
        self._api_key = api_key
        self._timeouts_s = {"search": search_timeout_s, "write": write_timeout_s}
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            for client in self._clients.values():
                client.api_call.close()
            self._clients.clear()

    def _client(self, kind: str) -> Any:
        with self._lock:
            if kind not in self._clients:
                self._clients[kind] = self._made_client(self._timeouts_s[kind])
            return self._clients[kind]

    def _made_client(self, timeout_s: float) -> "Client":
        from typesense import Client

        node = {"host": self.address.host, "port": self.address.port, "protocol": self.address.protocol}
        settings: Any = {
            "nodes": [node],
            "api_key": self._api_key,
            "connection_timeout_seconds": timeout_s,
            "num_retries": 0,  # whoever calls tries again later, and knows for how long
            "verify": self.address.protocol == "https",  # else 80 ms go by with certificates that nobody shows
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of its own parts, which it makes itself
            return Client(settings)

    def call(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Answer:
        """Return the JSON that a request is answered with; reading has the shorter time limit."""
        answer: Answer = self._request("search" if method == "get" else "write", method, path, body, params)
        return answer

    def _request(
        self, kind: str, method: str, path: str, body: Any, params: Mapping[str, Any] | None, **more: Any
    ) -> Any:
        """Send one request below the client's own methods: these send numbers as texts, and warn of their parts."""
        with translated(self.where, self._api_key):
            given = {} if method in ("get", "delete") else {"body": body}
            send = getattr(self._client(kind).api_call, method)
            return send(path, entity_type=dict, params=dict(params or {}), **given, **more)

    def scoped_key(self, key: str, scope: Mapping[str, Any]) -> str:
        """Return a key made of another, which searches with these parameters set for good."""
        made: bytes = self._client("search").keys.generate_scoped_search_key(key, dict(scope))
        return made.decode()

    # --- asking ------------------------------------------------------------------------------------------------------

    def search(self, searches: Sequence[Answer]) -> list[Answer]:
        """Return the answers to these searches, in their order; all go in the body of as few requests as may be.

        Raises:
            IndexingError: One of them failed, or was cut off by its time limit and so would be partial.
        """
        answers: list[Answer] = []
        for start in range(0, len(searches), SEARCHES_AT_ONCE):
            body = {"searches": list(searches[start : start + SEARCHES_AT_ONCE])}
            answers += self._request("search", "post", "/multi_search", body, None)["results"]
        for answer in answers:
            self._check(answer)
        return answers

    def _check(self, answer: Answer) -> None:
        if "error" in answer:
            code, said = int(answer.get("code", 500)), str(answer["error"]).replace(self._api_key, "***")
            raise failure(self.where, f"the search failed: {said}", is_transient=code >= 500)
        if answer.get("search_cutoff"):
            raise failure(self.where, "the search took too long and was cut off; try again later", is_transient=True)

    def matching(self, name: str, filter_by: str, fields: str) -> Iterator[Answer]:
        """Yield these fields of every document that passes the filter."""
        common = {"collection": name, "q": "*", "filter_by": filter_by, "include_fields": fields}
        found, page = 1, 1
        while (page - 1) * HITS_AT_ONCE < found:
            (answer,) = self.search([common | {"per_page": HITS_AT_ONCE, "page": page}])
            found, page = answer["found"], page + 1
            yield from (hit["document"] for hit in answer["hits"])

    def export(self, name: str, fields: Sequence[str], filter_by: str = "") -> str:
        """Return these fields of every document that passes the filter, one JSON object a line."""
        params = {"include_fields": ",".join(fields)} | ({"filter_by": filter_by} if filter_by else {})
        path = f"/collections/{name}/documents/export"
        lines: str = self._request("write", "get", path, None, params, as_json=False)
        return lines

    # --- writing -----------------------------------------------------------------------------------------------------

    def import_lines(self, name: str, lines: Sequence[tuple[str, str]], action: str) -> dict[str, tuple[int, str]]:
        """Send documents as lines; return {id: (code, reason)} for those that were refused.

        Args:
            name: The collection or alias.
            lines: Ids, each with its document as JSON.
            action: create, upsert, update or emplace.

        Raises:
            IndexingError: The server could not take them; some may be stored.
        """
        path = f"/collections/{name}/documents/import"
        refused: dict[str, tuple[int, str]] = {}
        for batch in _batches(lines):
            body = "\n".join(line for _, line in batch).encode()
            params = {"action": action, "return_id": True}
            answer = self._request("write", "post", path, body, params, as_json=False)
            with translated(self.where, self._api_key):
                results = [json.loads(line) for line in answer.split("\n") if line]
            refused |= self._refused(batch, results)
        return refused

    def _refused(self, batch: list[tuple[str, str]], results: list[Answer]) -> dict[str, tuple[int, str]]:
        """Read every line's result; the line's place says whose it is, an id that is given has to agree."""
        if len(results) != len(batch):
            reason = f"{len(batch)} documents were sent and {len(results)} answers came; they are sent again"
            raise failure(self.where, reason, is_transient=True)
        refused: dict[str, tuple[int, str]] = {}
        for (article_id, _), result in zip(batch, results, strict=True):
            if result.get("id", article_id) != article_id:
                raise failure(self.where, "the answers are not in the order of the documents", is_transient=True)
            if not result["success"]:
                code, said = int(result.get("code", 500)), str(result.get("error", "no reason given"))
                if is_of_server(code, said):
                    raise failure(self.where, f"a write failed: {said}", is_transient=True)
                refused[article_id] = code, said
        return refused

    def delete(self, name: str, article_ids: Sequence[str]) -> None:
        """Remove documents by id; an unknown one is no error."""
        for filter_by in id_filters(article_ids, MAX_QUERY_CHARS):
            self.call("delete", f"/collections/{name}/documents", params={"filter_by": filter_by})


def _batches(lines: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == LINES_AT_ONCE or size + len(line[1]) > BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line[1])
    if batch:
        yield batch


_NEEDS_NO_QUOTES = re.compile(r"[\w.:-]+", re.ASCII)


def quoted(value: str) -> str:
    """Return a value as a filter takes it. A backtick ends a quoted value and cannot be part of one."""
    return value if _NEEDS_NO_QUOTES.fullmatch(value) else f"`{value.replace('`', ' ')}`"


def id_filters(values: Sequence[str], max_chars: int, field: str = "id:") -> Iterator[str]:
    """Yield filters for these values, each no longer than this when it is part of an address."""
    from urllib.parse import quote

    part: list[str] = []
    size = len(field) + 6
    for value in map(quoted, values):
        length = len(quote(value)) + 3
        if part and (size + length > max_chars or len(part) == HITS_AT_ONCE):
            yield f"{field}[{','.join(part)}]"
            part, size = [], len(field) + 6
        part.append(value)
        size += length
    if part:
        yield f"{field}[{','.join(part)}]"
