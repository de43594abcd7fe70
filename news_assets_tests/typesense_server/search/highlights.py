"""Highlighted snippets of a hit's texts; like the server's, they do not escape HTML."""

from dataclasses import dataclass
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.documents import names_of
from news_assets_tests.typesense_server.collections.schema import Field

SNIPPET_THRESHOLD = 30  # a text of fewer words is its own snippet
AFFIX_TOKENS = 4
WINDOW_TOKENS = 10  # matches further from the first are not in the snippet


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with highlighted matches."""

    snippet: str
    tokens: list[str]
    score: int


def highlights(
    collection: Collection,
    document: dict[str, Any],
    words: tuple[tuple[str, str], ...],
    params: dict[str, str],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return highlights of the included fields, by field and as the older list, best
    first.
    """
    asked = params.get("highlight_fields") or params.get("query_by", "")
    marked: list[tuple[int, dict[str, Any], dict[str, Any], str]] = []
    for name in names_of(asked):
        field = collection.fields.get(name)
        if field is not None and field.is_text and document.get(name) is not None:
            full = name in names_of(params.get("highlight_full_fields", ""))
            marked.extend(_of_field(field, document[name], words, params, full))
    by_field = {name: shown for _, shown, _, name in marked}
    listed = [old for _, _, old, _ in sorted(marked, key=lambda one: -one[0])]
    return by_field, listed


def _of_field(
    field: Field,
    value: Any,
    words: tuple[tuple[str, str], ...],
    params: dict[str, str],
    is_full: bool,
) -> list[tuple[int, Any, dict[str, Any], str]]:
    texts = [
        _mark(field, text, words, params)
        for text in (value if field.is_array else [value])
    ]
    best = max((text.score for text in texts), default=0)
    if not best:
        return []
    if field.is_array:
        new: Any = [
            {"matched_tokens": text.tokens, "snippet": text.snippet} for text in texts
        ]
        hit = [order for order, text in enumerate(texts) if text.tokens]
        old = {
            "field": field.name,
            "indices": hit,
            "matched_tokens": [texts[order].tokens for order in hit],
            "snippets": [texts[order].snippet for order in hit],
        }
        return [(best, new, old, field.name)]
    new = {"matched_tokens": texts[0].tokens, "snippet": texts[0].snippet}
    if is_full:
        new["value"] = _mark(
            field, value, words, params | {"snippet_threshold": "1000000"}
        ).snippet
    return [(best, new, {"field": field.name, **new}, field.name)]


def _mark(
    field: Field, text: str, words: tuple[tuple[str, str], ...], params: dict[str, str]
) -> Marked:
    start, end = (
        params.get("highlight_start_tag", "<mark>"),
        params.get("highlight_end_tag", "</mark>"),
    )
    spans = field.analysis.spans(text)
    lengths = _lengths(words)
    hits = [
        (
            begin,
            min(stop, begin + lengths.get(token, 0)) if lengths.get(token) else stop,
        )
        for token, begin, stop in spans
        if token in lengths
    ]
    first, last = _window(spans, hits, params)
    pieces, position = [], first
    for begin, stop in hits:
        if first <= begin and stop <= last:
            pieces += [text[position:begin], start, text[begin:stop], end]
            position = stop
    snippet = "".join([*pieces, text[position:last]])
    found = {token for token, *_ in spans if token in lengths}
    return Marked(
        snippet,
        list(dict.fromkeys(text[begin:stop] for begin, stop in hits)),
        len(found),
    )


def _lengths(words: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Return how many letters of each matched word are highlighted: those of a prefix,
    or all (0).
    """
    return {
        word: len(token) if word.startswith(token) and word != token else 0
        for token, word in words
    }


def _window(
    spans: list[tuple[str, int, int]],
    hits: list[tuple[int, int]],
    params: dict[str, str],
) -> tuple[int, int]:
    """Return start and end of the snippet: a short text, or some words around the first
    match.
    """
    if (
        not spans
        or not hits
        or len(spans) <= int(params.get("snippet_threshold", SNIPPET_THRESHOLD))
    ):
        return 0, 1 << 60
    affix = int(params.get("highlight_affix_num_tokens", AFFIX_TOKENS))
    order_of = {begin: order for order, (_, begin, _) in enumerate(spans)}
    first = order_of[hits[0][0]]
    last = max(
        order_of[begin] for begin, _ in hits if order_of[begin] - first < WINDOW_TOKENS
    )
    return spans[max(0, first - affix)][1], spans[min(len(spans) - 1, last + affix)][2]
