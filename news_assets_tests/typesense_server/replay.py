"""Replay of requests that were recorded with a real server, and comparison of the
responses.

`python -m news_assets_tests.typesense_server.replay` prints how many responses are
equal. `LEFT_OUT` and `NOT_COMPARED` list what is not simulated.
"""

import base64
import gzip
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from news_assets_tests.typesense_server.server import running

RECORDINGS = Path(__file__).parents[3] / "shared" / "typesense" / "recordings.jsonl"
ADMIN_KEY = "adminkey123"  # as in the query string of recording 771
# their bodies are not recorded completely and are generated here
GZIPPED, LONG_BODY = (
    103,
    104,
)
LONG_WORDS = 200_000
DISTANCE_TOLERANCE = 1e-6  # distances are sums of float32 in another order
VALUES_NOT_SIMULATED = {"created_at", "search_time_ms", "expires_at"}


@dataclass(slots=True)
class Replayed:
    """Numbers of recordings with an equal response, a different one (with both), or
    none compared.
    """

    equal: list[int] = field(default_factory=list)
    different: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)


# Reasons why recordings are not sent.
LEFT_OUT: dict[str, list[int | range]] = {
    "no answer within 30 s was recorded": [749],
    "figures of the machine": [6, 800, 866],
    "stemming dictionaries": [*range(672, 679), 687, 689, 690, 872, 873, 878],
    "synonym sets": [694, 696, 697, 698, 699, *range(701, 714), 715, 868, 869, 877],
    "stopwords": [range(716, 722)],
    "fields of type auto and nested fields": [range(815, 825)],
    "state after a restart from a snapshot": [982, 983],
    "_rand order": [460],
    "text_match_type other than max_score": [235],
}

# Reasons why recordings are sent, because later ones need what they store, but not
# compared.
NOT_COMPARED: dict[str, list[int | range]] = {
    "the recorded answer is shortened": [108, 109],
    "order of collections made within one second, cut by limit": [75],
    "which refused documents use up a number, and so a generated id": [125, 156, 157],
    "place of text scores beyond the 15 words the score has bits for": [239],
    "which of equally frequent facet values are cut, order of `facet_by=*`": [437, 442],
    "which of equally near vectors take the last of k places": [
        520,
        *range(541, 547),
        548,
        550,
        551,
        552,
        557,
        559,
        562,
    ],
    "wrong results of a hybrid search with a vector of the wrong length": [
        556,
        952,
        954,
        956,
    ],
    "distances of vectors with infinite numbers": [950],
    "how a parser words a literal that is no JSON": [945],
}


def reasons(table: dict[str, list[int | range]]) -> dict[int, str]:
    """Return the reasons of a table by the recordings' numbers."""
    return {
        number: reason
        for reason, spans in table.items()
        for span in spans
        for number in ([span] if isinstance(span, int) else span)
    }


def recordings() -> Iterator[dict[str, Any]]:
    """Yield the recordings in order."""
    with RECORDINGS.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def replay() -> Replayed:
    """Send the recorded requests to a new server and compare the responses."""
    result, left_out, not_compared = (
        Replayed(),
        reasons(LEFT_OUT),
        reasons(NOT_COMPARED),
    )
    with (
        running(admin_key=ADMIN_KEY) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        secrets: dict[str, str] = {}
        for recorded in recordings():
            number = recorded["n"]
            if number in left_out:
                result.skipped[number] = left_out[number]
                continue
            answered = _sent(client, recorded, secrets)
            if number in not_compared:
                result.skipped[number] = not_compared[number]
                continue
            expected = comparable(_recorded_answer(recorded))
            if alike(comparable(answered), expected):
                result.equal.append(number)
            else:
                result.different[number] = (answered, _recorded_answer(recorded))
    return result


def _sent(
    client: httpx.Client, recorded: dict[str, Any], secrets: dict[str, str]
) -> tuple[int, str, Any]:
    headers = dict(recorded["request_headers"] or {})
    if "X-TYPESENSE-API-KEY" in headers:
        headers["X-TYPESENSE-API-KEY"] = _key(headers["X-TYPESENSE-API-KEY"], secrets)
    query = urlencode(recorded["query"] or {}, doseq=True)
    url = (
        f"{client.base_url}".rstrip("/")
        + recorded["path"]
        + (f"?{query}" if query else "")
    )
    response = client.request(
        recorded["method"], url, headers=headers, content=_body(recorded)
    )
    kind, body = _read(response.text)
    # a few routes name no charset
    media_type = response.headers["Content-Type"].partition(";")[0]
    if media_type != recorded["response_headers"]["content-type"].partition(";")[0]:
        kind = media_type
    if recorded["path"] == "/keys" and response.status_code == 201:
        secrets.setdefault("<search key>", body["value"])
        secrets["<scoped>"] = secrets["<search key for the alias adocs>"] = body[
            "value"
        ]
    return response.status_code, kind, body


def _recorded_answer(recorded: dict[str, Any]) -> tuple[int, str, Any]:
    return recorded["status"], recorded["response_kind"], recorded["response_body"]


def _body(recorded: dict[str, Any]) -> bytes:
    body = recorded["request_body"]
    if recorded["n"] == GZIPPED:
        line = '{"id": "20", "title": "ok linha", "body": "b", "category": "c", "year": 2000}'
        return gzip.compress(line.encode())
    if recorded["n"] == LONG_BODY:
        words = " ".join(f"palavra{order}" for order in range(LONG_WORDS))
        return f'{{"id": "60", "title": "muito longo", "body": "{words}", "category": "c", "year": 2000}}'.encode()
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _key(placeholder: str, secrets: dict[str, str]) -> str:
    if placeholder == "<admin>":
        return ADMIN_KEY
    if placeholder.startswith("<scoped"):
        params = (
            placeholder[len("<scoped") :].partition(" of ")[0].strip(" >")
            or '{"filter_by": "category:=ensino"}'
        )
        parent = (
            ADMIN_KEY
            if placeholder.endswith("of admin>")
            else secrets.get(placeholder, secrets["<search key>"])
        )
        digest = base64.b64encode(
            hmac.digest(parent.encode(), params.encode(), hashlib.sha256)
        ).decode()
        return base64.b64encode((digest + parent[:4] + params).encode()).decode()
    return secrets.get(placeholder, placeholder)


def _read(text: str) -> tuple[str, Any]:
    for kind, read in (("json", json.loads), ("jsonl", _lines)):
        try:
            return kind, read(text)
        except ValueError:
            continue
    return "text", text


def _lines(text: str) -> list[Any]:
    if not text:
        raise ValueError(text)
    return [json.loads(line) for line in text.split("\n")]


def comparable(value: Any) -> Any:
    """Return a response without values that are not simulated."""
    if isinstance(value, dict):
        # of a key
        hidden = VALUES_NOT_SIMULATED | (
            {"value", "value_prefix"} if "actions" in value else set()
        )
        kept = {
            name: comparable(one) for name, one in value.items() if name not in hidden
        }
        if "aliases" in kept:  # listed in the order of a hash table
            kept["aliases"].sort(key=lambda alias: alias["name"])
        return kept
    return (
        [comparable(one) for one in value] if isinstance(value, list | tuple) else value
    )


def alike(one: Any, other: Any) -> bool:
    """Return whether two responses are equal, distances within the tolerance."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < DISTANCE_TOLERANCE
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            alike(one[name], other[name]) for name in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def main() -> None:
    """Print the numbers of equal, different and skipped recordings."""
    result = replay()
    total = len(result.equal) + len(result.different) + len(result.skipped)
    print(  # noqa: T201
        f"{len(result.equal)} of {total} recordings have an equal response, {len(result.different)} a different one"
    )
    print(f"different: {sorted(result.different)}")  # noqa: T201
    for reason, count in Counter(result.skipped.values()).most_common():
        print(f"{count:5} not compared: {reason}")  # noqa: T201


if __name__ == "__main__":
    main()
