"""A `SearchQuery` as the server's search parameters, and its responses as rankings, one
ranking of both kinds without copies, and hits.

The server searches one text in all fields and cannot choose between forms of a word, so
words are searched as the stems that documents are stored with
(`text.words.shared_stem`). Stems are searched exactly. Stems that no document has are
corrected first (`searcher.py`), because a typo in an ending changes the stem.

Copies are collapsed here: the server's own `group_by` made a vector search take 126 ms
in place of 7. Snippets are made here: the server's own are not escaped, and highlight
stems.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from news_assets.clients.search.index_texts import (
    MAX_NAMES,
    most_first,
    snippet,
    time_counts,
    time_values,
    with_words,
)
from news_assets.clients.search.typesense.documents import (
    day_number,
    day_of,
    exact_key,
    facet_key,
    sent_vectors,
)
from news_assets.clients.search.typesense.server import HITS_PER_SEARCH, quoted
from news_assets.ports.search_index import (
    COPIED_FACETS,
    DECLARED_FACETS,
    FACETS,
    TIME_FACETS,
    Explanation,
    SearchHit,
    SearchQuery,
    values_of,
)
from news_assets.text.query_parser import parse_query
from news_assets.text.query_tree import Node, Prefix, words_of_part, written_parts
from news_assets.text.words import fold, shared_stem, word_spans, words

CANDIDATES = 100  # best documents of each ranking; more for a page further down
_EF = 200  # recall@20 .999; the server's default of 10 gives .893
# Of the vector in (1 - alpha) / rank by words + alpha / rank by vector. MRR@10 on a
# simulated server that dropped words
# from the ends of queries (`searcher.py` ranks better), with multilingual-e5-small on
# known items (pt), Quati (pt),
# Cranfield (en) and SIB-200 (pt, documents en):
#     words .788 .681 .268 .447     equal weights .900 .865 .416 .809
#     vectors .954 .969 .539 .977   .8 for vectors .955 .969 .543 .978
_ALPHA = 0.8
_MAX_FACET_VALUES = 4_000  # 11 years of days
CUTOFF_MS = 8_000  # below the client's timeout, so that the server reports the reason

_RANKED = "id,text_hash,duplicate_of,published_ts"
SHOWN = (
    "id,title,text,summary,section,tags,keywords,url,desk,agency,day,published_ts,theme_code"
    ",language"
)
# of each facet
_FIELDS = {one.name: one.field for one in DECLARED_FACETS}
_NAMES = {one.name for one in DECLARED_FACETS if one.column.has_many_values}
_FACET_FIELDS = ",".join(_FIELDS[name] for name in FACETS if name in _FIELDS)
COUNTED = f"id,{_FACET_FIELDS}"  # the values of a document that are counted

# Besides the filter, for keys of readers; they win over the parameters of a request.
# Without `filter_curated_hits` the filter does not hold for `pinned_hits` and for
# curations, of a preset as well. A cached response may be another key's.
SCOPE = {"filter_curated_hits": True, "exclude_fields": "vector", "use_cache": False}

Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StemmedQuery:
    """The parsed text of a query as stems. `words` are as typed, in the order of
    `stems`. `beginnings` are folded, and only marked in hits.
    """

    words: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    is_blank: bool = True

    @property
    def finds_nothing(self) -> bool:
        """The text has neither words nor exclusions, but is not blank."""
        return not (self.is_blank or self.stems or self.excluded)

    @property
    def text(self) -> str:
        """The server's query. It has the words of a phrase also one by one, because a
        phrase alone is not ranked.
        """
        words = list(dict.fromkeys(self.stems))
        words += [f'"{phrase}"' for phrase in self.phrases]
        return " ".join(words) or "*"


def stemmed_query(query: SearchQuery, languages: tuple[str, ...]) -> StemmedQuery:
    """Return the stems of the query's text; phrases are of stems, too."""
    of_text = (query.language,) if query.language else languages
    parsed = parse_query(query.text, of_text)
    return StemmedQuery(
        words=parsed.words,
        stems=_stems(parsed.words, languages),
        phrases=tuple(" ".join(_stems(phrase, languages)) for phrase in parsed.phrases),
        excluded=_stems(parsed.excluded, languages),
        is_blank=not query.text.strip(),
    )


def stems_of_tree(tree: Node, languages: tuple[str, ...]) -> StemmedQuery:
    """Return the stems of the words that a hit of a tree may have."""
    found: dict[str, str] = {}
    beginnings: list[str] = []
    for part in written_parts(tree):
        if isinstance(part, Prefix):
            beginnings.append(part.start)
            continue
        for word in words_of_part(part):
            found[word] = shared_stem(word, languages)
    return StemmedQuery(
        words=tuple(found),
        stems=tuple(found.values()),
        beginnings=tuple(beginnings),
        is_blank=False,
    )


def _stems(found: Iterable[str], languages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stems of words, without those that have no letter or digit."""
    stems = []
    for word in found:
        stem = shared_stem(word, languages)
        if words(stem):
            stems.append(stem)
    return tuple(stems)


# --- searches -------------------------------------------------------------------------


def common_params(name: str, query: SearchQuery, stemmed: StemmedQuery) -> Params:
    """Return the parameters that all searches of a query share: collection, words and
    filters.
    """
    params: Params = {
        "collection": name,
        "q": stemmed.text,
        "highlight_fields": "none",
        "search_cutoff_ms": CUTOFF_MS,
    }
    if stemmed.stems:
        params |= word_params()
    if query.sort == "date":
        params["sort_by"] = "published_ts:desc"
    filters = list(_filters(query, stemmed))
    if filters:
        params["filter_by"] = " && ".join(filters)
    return params


def word_params() -> Params:
    """Return how stems are searched: titles weigh more, and all words have to occur."""
    return {
        "query_by": "title_stems,stems",
        "query_by_weights": "3,1",
        "prefix": "false",
        "num_typos": "0",
        "split_join_tokens": "off",
        "drop_tokens_threshold": 0,
    }


def ranking_searches(common: Params, depth: int) -> list[Params]:
    """Return the searches for the best `depth` documents, each for at most
    `HITS_PER_SEARCH`; the first has facets.
    """
    ranked = common | {"include_fields": _RANKED}
    searches = []
    for start in range(0, depth, HITS_PER_SEARCH):
        limit = min(HITS_PER_SEARCH, depth - start)
        searches.append(ranked | {"offset": start, "limit": limit})
    return [_with_facets(searches[0]), *searches[1:]]


def _with_facets(params: Params) -> Params:
    """Return the search with the facets of all its matches."""
    return params | {"facet_by": _FACET_FIELDS, "max_facet_values": _MAX_FACET_VALUES}


def with_filter(common: Params, filter_by: str) -> Params:
    """Return the parameters with one more filter."""
    if "filter_by" in common:
        filter_by = f"{common['filter_by']} && {filter_by}"
    return common | {"filter_by": filter_by}


def counting_search(
    common: Params, stemmed: StemmedQuery, stems: Iterable[str]
) -> Params:
    """Return the search that counts the documents with one of these stems; `common`
    searches for all of the query.
    """
    listed = _listed(stems)
    filter_by = f"(title_stems:[{listed}] || stems:[{listed}])"
    counted = _with_facets(with_filter(common, filter_by))
    return counted | {"q": replace(stemmed, stems=()).text, "per_page": 0}


def search_among(counted_by: Params, ids: Sequence[str]) -> Params:
    """Return the search for these documents among those that a search counts."""
    left_out = (
        "facet_by",
        "max_facet_values",
        "sort_by",
        "offset",
        "limit",
        "per_page",
    )
    kept = {name: one for name, one in counted_by.items() if name not in left_out}
    listed = ",".join(map(quoted, ids))
    those = with_filter(kept, f"id:[{listed}]")
    return those | {"include_fields": "id", "per_page": len(ids)}


def facets_search(common: Params) -> Params:
    """Return the search for the number and the facets of all that pass the filters."""
    return _with_facets(common) | {"q": "*", "per_page": 0}


def search_from(
    common: Params, stemmed: StemmedQuery, start: str, depth: int
) -> Params:
    """Return the search for documents with this stem; those with the next stems of the
    query as well are first.
    """
    others = [stem for stem in stemmed.stems if stem != start]
    from_start = replace(stemmed, stems=(start, *others))
    ranked = {"include_fields": _RANKED, "limit": depth, "drop_tokens_threshold": depth}
    return common | ranked | {"q": from_start.text}


def _listed(stems: Iterable[str]) -> str:
    distinct = dict.fromkeys(stems)
    return ",".join(map(quoted, distinct))


def vector_params(vector: Sequence[float], depth: int) -> Params:
    """Return the parameters that search the nearest `depth` documents; the vector must
    have a direction.
    """
    (unit,) = sent_vectors([vector])
    assert unit is not None
    values = ", ".join(f"{value:.6g}" for value in unit.tolist())
    return {
        "q": "*",
        "vector_query": f"vector:([{values}], k: {depth}, ef: {max(_EF, depth)})",
    }


# --- filters --------------------------------------------------------------------------


def desk_filter(desk: str) -> str:
    """Return the filter for one desk."""
    return f"desk_key:={exact_key(desk)}" if desk else _NOTHING


def _filters(query: SearchQuery, stemmed: StemmedQuery) -> Iterator[str]:
    if query.desk is not None:
        yield desk_filter(query.desk)
    if query.agency is not None:
        keys = [exact_key(key) for key in values_of(query.agency) if key]
        yield _one_of("agency_key", keys)
    if query.theme is not None:
        codes = [quoted(one) for one in values_of(query.theme) if _has_letter(one)]
        yield _one_of("theme_path", codes)
    for facet in COPIED_FACETS:
        value = getattr(query, facet.name)
        if value is not None:
            yield f"facet_keys:={facet_key(facet.name, value)}"
    if query.language is not None:
        yield _language_filter(query.language.lower())
    yield from _day_filters(query)
    if stemmed.excluded:
        yield f"title_stems:![{_listed(stemmed.excluded)}]"
        yield f"stems:![{_listed(stemmed.excluded)}]"


def _day_filters(query: SearchQuery) -> Iterator[str]:
    if query.from_day is not None:
        yield f"day:>={day_number(query.from_day)}"
    if query.to_day is not None:
        yield f"day:<={day_number(query.to_day)}"


_NOTHING = "day:<0"  # the server refuses values without a letter or digit


def _has_letter(value: str) -> bool:
    return any(character.isalnum() for character in value)


def _language_filter(language: str) -> str:
    """Return the filter for a language: `pt` takes `pt-BR`, and `pt-BR` takes `pt`, but
    not `pt-PT`.
    """
    if not _has_letter(language):
        return _NOTHING
    either = [f"languages:={quoted(language)}"]
    parts = language.split("-")
    for count in range(1, len(parts)):
        wider = "-".join(parts[:count])
        either.append(f"language:={quoted(wider)}")
    return f"({' || '.join(either)})"


def _one_of(field: str, values: Sequence[str]) -> str:
    """Return the filter for documents with one of these values."""
    if not values:
        return _NOTHING
    listed = values[0] if len(values) == 1 else f"[{','.join(values)}]"
    return f"{field}:={listed}"


# --- responses ------------------------------------------------------------------------


# only this part of a longer text is searched for matching words
_HIGHLIGHTED_CHARS = 60_000

_Response = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document of a ranking."""

    article_id: str
    text_hash: str | None
    duplicate_of: str | None
    published_ts: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best matches of one search, best first, and number and facets of all.
    `counted_by` are the parameters of the search that all of them pass; none if every
    other ranking is within it.
    """

    candidates: tuple[Candidate, ...]
    found: int
    facets: dict[str, dict[str, int]]
    counted_by: Params = field(default_factory=dict)


def no_facets() -> dict[str, dict[str, int]]:
    """Return the facets of an answer without hits."""
    return {name: {} for name in FACETS}


NOTHING = Ranking((), 0, no_facets())


def ranking_of(responses: Sequence[_Response]) -> Ranking:
    """Return the ranking from the responses to `ranking_searches`."""
    candidates: list[Candidate] = []
    for response in responses:
        candidates += map(_candidate, response["hits"])
    first = responses[0]
    return Ranking(tuple(candidates), int(first["found"]), _facets_of(first))


def _candidate(hit: _Response) -> Candidate:
    document = hit["document"]
    return Candidate(
        document["id"],
        document.get("text_hash"),
        document.get("duplicate_of"),
        document["published_ts"],
        _score(hit),
    )


def _score(hit: _Response) -> float:
    if "vector_distance" in hit:
        return 1.0 - float(hit["vector_distance"])
    return float(hit.get("text_match", 0))


def fused(
    by_words: Sequence[Candidate], by_vector: Sequence[Candidate]
) -> list[Candidate]:
    """Return one ranking of both, as the server fuses them; documents with the same
    score by words have one rank.
    """
    if not by_words or not by_vector:
        return [*by_words, *by_vector]
    every: dict[str, Candidate] = {}
    scores: dict[str, float] = {}
    ranks: dict[float, int] = {}
    for one in by_words:
        rank = ranks.setdefault(one.score, len(ranks) + 1)
        every[one.article_id] = one
        scores[one.article_id] = (1 - _ALPHA) / rank
    for rank, one in enumerate(by_vector, 1):
        every[one.article_id] = one
        scores[one.article_id] = scores.get(one.article_id, 0.0) + _ALPHA / rank
    rescored = [replace(one, score=scores[key]) for key, one in every.items()]
    return sorted(rescored, key=lambda one: (-one.score, -one.published_ts))


def newest(
    by_words: Sequence[Candidate], by_vector: Sequence[Candidate]
) -> list[Candidate]:
    """Return the documents with the words and those nearest to the vector, newest
    first.
    """
    every = {one.article_id: one for one in (*by_vector, *by_words)}
    return sorted(every.values(), key=lambda one: -one.published_ts)


def copies_of(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Return by id a key that is the same for copies of one text.

    Copies have the same text hash, or one names the other, or both name the same
    original.
    """
    leaders: dict[str, str] = {}

    def leader(key: str) -> str:
        while (above := leaders.setdefault(key, key)) != key:
            key = above
        return key

    listed = list(candidates)
    for one in listed:
        for key in filter(None, (one.duplicate_of, one.text_hash)):
            leaders[leader(key)] = leader(one.article_id)
    return {one.article_id: leader(one.article_id) for one in listed}


def collapsed(
    candidates: Iterable[Candidate], copies: Mapping[str, str]
) -> list[Candidate]:
    """Return one document of each text with its best score: the original if it is among
    these, else the best.
    """
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(copies[one.article_id], []).append(one)
    found = []
    for group in groups.values():
        best, *_ = group
        found.append(replace(_shown(group), score=best.score))
    return found


def _shown(group: list[Candidate]) -> Candidate:
    originals = [one for one in group if one.duplicate_of is None]
    return min(
        originals, key=lambda one: (one.published_ts, one.article_id), default=group[0]
    )


def hits_of(
    page: Iterable[Candidate],
    documents: Mapping[str, _Response],
    query: StemmedQuery,
    languages: tuple[str, ...],
    explained: Mapping[str, Explanation],
) -> tuple[SearchHit, ...]:
    """Return the hits of a page; a document that was deleted since it was ranked is
    left out.

    Args:
        page: The documents, in order.
        documents: Their stored fields, by id.
        query: The words of the query.
        languages: Languages of the stems.
        explained: Ranks by id; hits without them have no explanation.
    """
    hits = []
    for one in page:
        document = documents.get(one.article_id)
        if document is None:
            continue
        explanation = explained.get(one.article_id)
        if explanation is not None:
            explanation = _with_words(explanation, document, query, languages)
        hits.append(_hit(document, one.score, query, languages, explanation))
    return tuple(hits)


def _hit(
    document: _Response,
    score: float,
    query: StemmedQuery,
    languages: tuple[str, ...],
    explanation: Explanation | None,
) -> SearchHit:
    text = document["text"] or document.get("summary") or ""
    return SearchHit(
        article_id=document["id"],
        title=document["title"],
        url=document["url"],
        desk=document["desk"],
        agency=document["agency"],
        day=day_of(document["day"]),
        score=score,
        snippet=snippet(text, _spans(text, query, languages)),
        theme_code=document.get("theme_code"),
        language=document.get("language"),
        published_at=datetime.fromtimestamp(document["published_ts"], UTC),
        explanation=explanation,
    )


def _with_words(
    explanation: Explanation,
    document: _Response,
    query: StemmedQuery,
    languages: tuple[str, ...],
) -> Explanation:
    labels = [document.get("section", "")]
    labels += [*document.get("tags", ()), *document.get("keywords", ())]
    fields = {
        "title": document["title"],
        "text": document["text"],
        "summary": document.get("summary") or "",
        "labels": "\n".join(labels),
    }
    pairs = zip(query.words, query.stems, strict=True)
    stems = {word: (stem,) for word, stem in pairs}
    return with_words(
        explanation, stems, fields, lambda word: shared_stem(word, languages)
    )


def _spans(
    text: str, query: StemmedQuery, languages: tuple[str, ...]
) -> list[tuple[int, int]]:
    stems = frozenset(query.stems)
    beginnings = query.beginnings
    if not (stems or beginnings):
        return []
    spans = []
    for word, start, end in word_spans(text[:_HIGHLIGHTED_CHARS]):
        is_begun = bool(beginnings) and fold(word).startswith(beginnings)
        if is_begun or shared_stem(word, languages) in stems:
            spans.append((start, end))
    return spans


def _facets_of(response: _Response) -> dict[str, dict[str, int]]:
    """Return counts by facet value: the most frequent first, days and months newest
    first.
    """
    of_fields: dict[str, dict[str, int]] = {}
    for listed in response["facet_counts"]:
        of_field = of_fields[listed["field_name"]] = {}
        for one in listed["counts"]:
            of_field[str(one["value"])] = int(one["count"])
    counts = no_facets()
    for facet in DECLARED_FACETS:
        counts[facet.name] = _in_order(facet.name, of_fields.get(facet.field, {}))
    # days are numbers: 20260131
    days: dict[str, int] = {}
    for day in sorted(counts["day"], key=int, reverse=True):
        days[day_of(int(day)).isoformat()] = counts["day"][day]
    return counts | time_counts(days)


def _in_order(name: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of a facet, the most frequent first; of names the first
    `MAX_NAMES`.
    """
    found = most_first(counts.items())
    if name in _NAMES:
        return dict(islice(found.items(), MAX_NAMES))
    return found


@dataclass(frozen=True, slots=True)
class Correction:
    """What changes the facets of a search: further documents, and groups of copies that
    the server counted one by one. Both are ids of `documents`, stored fields by id.
    """

    documents: Mapping[str, _Response]
    further: Sequence[str]
    groups: Sequence[Sequence[str]]

    def corrected(
        self, facets: Mapping[str, Mapping[str, int]]
    ) -> dict[str, dict[str, int]]:
        """Return the facets with the further documents, and each group once a value."""
        found: dict[str, dict[str, int]] = {}
        for name in FACETS:
            counts = Counter(facets[name])
            for article_id in self.further:
                counts.update(self._values(article_id, name))
            for group in self.groups:
                of_group: Counter[str] = Counter()
                for article_id in group:
                    of_group.update(self._values(article_id, name))
                for value, count in of_group.items():
                    counts[value] -= count - 1
            found[name] = _ordered(name, counts)
        return found

    def _values(self, article_id: str, name: str) -> list[str]:
        """Return the values of a facet that a document has."""
        stored = self.documents.get(article_id, {})
        if name in TIME_FACETS and "day" in stored:
            day = day_of(stored["day"]).isoformat()
            return [time_values(day)[name]]
        value = stored.get(_FIELDS.get(name, ""))
        if not value:
            return []
        if isinstance(value, list):
            return list(dict.fromkeys(value))
        return [value]


def _ordered(name: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the values that have hits, in the order of answers."""
    kept = {value: count for value, count in counts.items() if count > 0}
    if name in TIME_FACETS:
        return dict(sorted(kept.items(), reverse=True))
    return _in_order(name, kept)
