"""`vector_query`: parsing of `embedding:([0.1, 0.2], k: 10, alpha: 0.5)`, and its hits."""

import re
from dataclasses import dataclass

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.errors import ApiError

_QUERY = re.compile(r"\s*([\w.]+)\s*:\s*\(\s*\[([^\]]*)\]\s*((?:,[^()]*)?)\)\s*")
NO_THRESHOLD = 2.01  # beyond the largest distance of two unit vectors
_MALFORMED = "Malformed vector query string"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorQuery:
    """A vector query. `k` 0 means as many as the page needs; `vector` is empty if
    `document_id` is given.
    """

    name: str
    vector: list[float]
    k: int = 0
    alpha: float = 0.3
    distance_threshold: float = NO_THRESHOLD
    flat_search_cutoff: int = 0
    document_id: str = ""


def parse(collection: Collection, text: str) -> VectorQuery:
    """Parse a query.

    Raises:
        ApiError: 400.
    """
    match = _QUERY.fullmatch(text)
    if match is None:
        raise ApiError(400, f"{_MALFORMED}.")
    name, numbers, rest = match.groups()
    if collection.vector_index(name) is None:
        raise ApiError(400, f"Field `{name}` does not have a vector query index.")
    given = (part.partition(":") for part in rest.split(","))
    return _query(
        collection,
        name,
        _floats(numbers),
        {key.strip(): value.strip() for key, _, value in given},
    )


def _floats(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",") if number.strip()]
    except ValueError:
        raise ApiError(
            400, f"{_MALFORMED}: one of the vector values is not a float."
        ) from None


def _query(
    collection: Collection, name: str, vector: list[float], given: dict[str, str]
) -> VectorQuery:
    try:
        alpha, threshold = (
            float(given.get("alpha", "0.3")),
            float(given.get("distance_threshold", NO_THRESHOLD)),
        )
        k, cutoff = int(given.get("k", "0")), int(given.get("flat_search_cutoff", "0"))
    except ValueError:
        raise ApiError(400, f"{_MALFORMED}.") from None
    if not 0 <= alpha <= 1:
        raise ApiError(
            400, f"{_MALFORMED}: `alpha` parameter must be a float between 0.0-1.0."
        )
    document_id = given.get("id", "")
    return VectorQuery(
        name=name,
        vector=_vector_of(collection, name, document_id) if document_id else vector,
        k=k,
        alpha=alpha,
        distance_threshold=threshold,
        flat_search_cutoff=cutoff,
        document_id=document_id,
    )


def _vector_of(collection: Collection, name: str, document_id: str) -> list[float]:
    if document_id not in collection.numbers:
        raise ApiError(400, "Document id referenced in vector query is not found.")
    vector = collection.one(document_id).get(name)
    if vector is None:
        raise ApiError(
            400,
            "Document referenced in vector query does not contain a valid vector field.",
        )
    return [float(number) for number in vector]


def check_length(collection: Collection, query: VectorQuery) -> None:
    """Reject a vector of another length; in a hybrid search the server accepts it.

    Raises:
        ApiError: 400.
    """
    if len(query.vector) != collection.fields[query.name].num_dim:
        raise ApiError(
            400,
            f"Query field `{query.name}` must have {collection.fields[query.name].num_dim} dimensions.",
        )


def nearest(
    collection: Collection, query: VectorQuery, allowed: set[int] | None, count: int
) -> tuple[dict[int, float], int]:
    """Return the nearest documents with distances, and how many of the k results were
    used.

    Without a filter (`allowed` None) a vector whose document is gone takes a place and
    gives no document.
    """
    index = collection.vector_index(query.name)
    assert index is not None
    own = collection.numbers.get(query.document_id, -1)
    k = query.k or count
    if allowed is not None and len(allowed) < query.flat_search_cutoff:
        k = len(allowed)  # a flat search returns all of them, whatever k is
    pairs = [
        pair
        for pair in index.nearest(query.vector, allowed, k + (own >= 0))
        if pair[0] != own
    ][:k]
    near = [pair for pair in pairs if pair[1] <= query.distance_threshold]
    return {
        number: distance for number, distance in near if number in collection.documents
    }, len(near)
