"""A search: from the parameters of the query string to the response."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.documents import names_of
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.search import sorting, vector_query
from news_assets_tests.typesense_server.search.curation import curated
from news_assets_tests.typesense_server.search.facets import check_groups, facet_counts
from news_assets_tests.typesense_server.search.filters import passing
from news_assets_tests.typesense_server.search.matching import Search
from news_assets_tests.typesense_server.search.page import Page, answer
from news_assets_tests.typesense_server.search.query import Options, QueryField, parse
from news_assets_tests.typesense_server.search.sorting import Hit

Params = dict[str, str]
NO_SETS: Mapping[str, Any] = MappingProxyType({})
NUMBERS = (
    "page", "per_page", "limit", "offset", "limit_hits", "group_limit", "max_facet_values", "drop_tokens_threshold",
    "typo_tokens_threshold", "min_len_1typo", "min_len_2typo", "snippet_threshold", "highlight_affix_num_tokens",
    "facet_sample_percent",
)  # fmt: skip


def search(
    collection: Collection, params: Params, curation_sets: Mapping[str, Any] = NO_SETS
) -> dict[str, Any]:
    """Return the response to a search.

    Raises:
        ApiError: 400, 404 or 422, with the server's message.
    """
    _check_numbers(params)
    page = Page.of(params)
    if params.get("facet_query"):
        page.size = 0  # a search of facet values returns no hits
    fields = _query_fields(collection, params)
    allowed = passing(collection, params.get("filter_by", ""))
    knn = _vector_query(collection, params)
    grouped_by = check_groups(collection, params)
    sorts = sorting.parse(collection, params.get("sort_by", ""))
    if params.get("q") == "*":
        hits, found = _wildcard(collection, params, knn, allowed, page)
    else:
        hits, found = _by_words(collection, params, fields, knn, allowed, page)
    matched = len(hits)
    hits = curated(
        collection,
        params,
        curation_sets,
        sorting.ordered(collection, hits, sorts),
        allowed,
    )
    found += len(hits) - matched
    counts = facet_counts(collection, params, [hit.number for hit in hits])
    return answer(collection, params, page, hits, found, counts, grouped_by)


def _check_numbers(params: Params) -> None:
    for name in NUMBERS:
        if name in params and not params[name].isdecimal():
            raise ApiError(400, f"Parameter `{name}` must be an unsigned integer.")


def _query_fields(collection: Collection, params: Params) -> list[QueryField]:
    names = names_of(params.get("query_by", ""))
    if params.get("q") == "*":
        return []
    if not names:
        raise ApiError(400, "No search fields specified for the query.")
    for name in names:
        _check_query_field(collection, name)
    if "infix" in params and set(names_of(params["infix"])) != {"off"}:
        raise ApiError(
            400,
            f"Could not find `{names[0]}` in the infix index. Make sure to enable infix search by specifying "
            "`infix: true` in the schema.",
        )
    prefixes = _per_field(params, "prefix", "true", names)
    typos = [
        _whole(text, "num_typos")
        for text in _per_field(params, "num_typos", "2", names)
    ]
    weights = _weights(params, names)
    return [
        QueryField(
            name=name,
            weight=weights[at],
            is_prefix=prefixes[at] == "true",
            num_typos=typos[at],
        )
        for at, name in enumerate(names)
    ]


def _check_query_field(collection: Collection, name: str) -> None:
    field = collection.fields.get(name)
    if field is None:
        raise ApiError(404, f"Could not find a field named `{name}` in the schema.")
    if field.num_dim:
        raise ApiError(
            400,
            f"Vector field `{name}` is not an auto-embedding field, do not use `query_by` with it, use `vector_query` "
            "instead.",
        )
    if not field.is_text or not field.index:
        raise ApiError(400, f"Field `{name}` should be a string or a string array.")


def _per_field(params: Params, name: str, default: str, fields: list[str]) -> list[str]:
    values = names_of(params.get(name, default)) or [default]
    return values if len(values) == len(fields) else values[:1] * len(fields)


def _weights(params: Params, names: list[str]) -> list[int]:
    """Return 15 for the highest weight, 14 for the next; equal weights stay equal."""
    given = [
        _whole(weight, "query_by_weights")
        for weight in names_of(params.get("query_by_weights", ""))
    ]
    if given and len(given) != len(names):
        raise ApiError(
            400,
            "Number of weights in `query_by_weights` does not match number of `query_by` fields.",
        )
    if not given:
        given = list(range(len(names), 0, -1))
    steps = sorted(set(given), reverse=True)
    return [max(15 - steps.index(weight), 0) for weight in given]


def _whole(text: str, parameter: str) -> int:
    if not text.isdecimal():
        raise ApiError(400, f"Parameter `{parameter}` is malformed.")
    return int(text)


def _vector_query(
    collection: Collection, params: Params
) -> vector_query.VectorQuery | None:
    text = params.get("vector_query", "")
    knn = vector_query.parse(collection, text) if text else None
    if knn is None or knn.vector:
        if knn is not None and params.get("q") == "*":
            vector_query.check_length(collection, knn)
        return knn
    if params.get("q") != "*":
        raise ApiError(400, "Vector query could not find any embedded fields.")
    return knn


def _wildcard(
    collection: Collection,
    params: Params,
    knn: vector_query.VectorQuery | None,
    allowed: set[int],
    page: Page,
) -> tuple[list[Hit], int]:
    if knn is None or not knn.vector:
        if knn is not None and knn.k:
            page.size = min(page.size, knn.k)
        return [Hit(number) for number in allowed], len(allowed)
    near, found = vector_query.nearest(
        collection, knn, _filtered(params, allowed), page.last
    )
    return [Hit(number, distance=distance) for number, distance in near.items()], found


def _filtered(params: Params, allowed: set[int]) -> set[int] | None:
    return allowed if params.get("filter_by", "").strip() else None


def _by_words(
    collection: Collection,
    params: Params,
    fields: list[QueryField],
    knn: vector_query.VectorQuery | None,
    allowed: set[int],
    page: Page,
) -> tuple[list[Hit], int]:
    query = parse(params.get("q", ""), collection.fields[fields[0].name].analysis)
    matches = Search(collection, fields, _options(params), allowed).run(query)
    # highlighted even where dropped
    query_words = tuple((token, token) for token in query.tokens)
    token_count = len(query.tokens) or 1
    hits = {
        number: Hit(
            number,
            match.score,
            match.score,
            words=(*match.words, *query_words),
            tokens_asked=token_count,
        )
        for number, match in matches.items()
    }
    if knn is None:
        return list(hits.values()), len(hits)
    near, _ = vector_query.nearest(
        collection, knn, _filtered(params, allowed), page.last
    )
    if params.get("rerank_hybrid_matches") == "true":
        every, _ = vector_query.nearest(
            collection, knn, set(hits) | set(near), len(collection.documents)
        )
        near = {
            number: distance
            for number, distance in every.items()
            if number in hits or number in near
        }
    fused = _fused(hits, near, knn.alpha, token_count)
    return fused, len(fused)


def _options(params: Params) -> Options:
    names = (
        "min_len_1typo",
        "min_len_2typo",
        "typo_tokens_threshold",
        "drop_tokens_threshold",
    )
    modes = ("drop_tokens_mode", "split_join_tokens")
    given: dict[str, Any] = {
        name: int(params[name]) for name in names if name in params
    }
    return Options(**given | {name: params[name] for name in modes if name in params})


def _fused(
    hits: dict[int, Hit], near: dict[int, float], alpha: float, tokens_asked: int
) -> list[Hit]:
    """Return the hits of both searches with the score (1 - alpha) / text rank + alpha /
    vector rank.

    Equal text scores have the same rank.
    """
    scores = sorted({hit.rank for hit in hits.values()}, reverse=True)
    text_rank = {number: scores.index(hit.rank) + 1 for number, hit in hits.items()}
    vector_rank = {number: rank for rank, number in enumerate(near, 1)}
    fused = []
    for number in hits | near:
        hit = hits.get(number) or Hit(number, text_score=0, tokens_asked=tokens_asked)
        hit.distance = near.get(number)
        hit.fusion = (1 - alpha) / text_rank[number] if number in text_rank else 0.0
        hit.fusion += alpha / vector_rank[number] if number in vector_rank else 0.0
        hit.rank = hit.fusion
        fused.append(hit)
    return fused
