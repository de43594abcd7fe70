"""A `SearchQuery` as the server's search parameters, for one or several searches of one
request.

The server searches one text in all fields and cannot choose between forms of a word, so
words are searched as the stems that documents are stored with
(`text.words.shared_stem`). Stems are searched exactly. Stems that no document has are
corrected first (`words.py`), because a typo in an ending changes the stem.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from news_assets.clients.search.typesense.document_lines import (
    KEYED_FACETS,
    day_number,
    exact_key,
    facet_key,
    sent_vectors,
)
from news_assets.clients.search.typesense.server_requests import HITS_PER_SEARCH, quoted
from news_assets.ports.search_index import SearchQuery
from news_assets.text.search_query import parse_query
from news_assets.text.words import shared_stem, words

CANDIDATES = 100  # best documents of each ranking; more for a page further down
EF = 200  # recall@20 .999; the server's default of 10 gives .893
# Of the vector in (1 - alpha) / rank by words + alpha / rank by vector. MRR@10 on a
# simulated server that dropped words
# from the ends of queries (`words.py` ranks better), with multilingual-e5-small on
# known items (pt), Quati (pt),
# Cranfield (en) and SIB-200 (pt, documents en):
#     words .788 .681 .268 .447     equal weights .900 .865 .416 .809
#     vectors .954 .969 .539 .977   .8 for vectors .955 .969 .543 .978
ALPHA = 0.8
_MAX_FACET_VALUES = 4_000  # 11 years of days
CUTOFF_MS = 8_000  # below the client's timeout, so that the server reports the reason

_RANKED = "id,text_hash,duplicate_of,published_ts"
SHOWN = "id,title,text,summary,section,tags,keywords,url,desk,agency,day,theme_code,language"
FACETS = (
    "desk,agency,theme_path,language,sentiment,entities,body,matter,meeting_status,day"
)

# Besides the filter, for keys of readers; they win over the parameters of a request.
# Without `filter_curated_hits` the filter does not hold for `pinned_hits` and for
# curations, of a preset as well. A cached response may be another key's.
SCOPE = {"filter_curated_hits": True, "exclude_fields": "vector", "use_cache": False}

Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StemmedQuery:
    """The parsed text of a query as stems. `words` are as typed, in the order of
    `stems`.
    """

    words: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
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


def _stems(found: Iterable[str], languages: tuple[str, ...]) -> tuple[str, ...]:
    stems = [shared_stem(word, languages) for word in found]
    return tuple(stem for stem in stems if words(stem))


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
    return params | {"facet_by": FACETS, "max_facet_values": _MAX_FACET_VALUES}


def counting_search(
    common: Params, stemmed: StemmedQuery, stems: Iterable[str]
) -> Params:
    """Return the search that counts the documents with one of these stems; `common`
    searches for all of the query.
    """
    listed = _listed(stems)
    filter_by = f"(title_stems:[{listed}] || stems:[{listed}])"
    if "filter_by" in common:
        filter_by = f"{common['filter_by']} && {filter_by}"
    return _with_facets(common) | {
        "q": replace(stemmed, stems=()).text,
        "filter_by": filter_by,
        "per_page": 0,
    }


def search_from(
    common: Params, stemmed: StemmedQuery, start: str, depth: int
) -> Params:
    """Return the search for documents with this stem; those with the next stems of the
    query as well are first.
    """
    stems = (start, *(stem for stem in stemmed.stems if stem != start))
    ranked = {"include_fields": _RANKED, "limit": depth, "drop_tokens_threshold": depth}
    return common | ranked | {"q": replace(stemmed, stems=stems).text}


def _listed(stems: Iterable[str]) -> str:
    return ",".join(map(quoted, dict.fromkeys(stems)))


def vector_params(vector: Sequence[float], depth: int) -> Params:
    """Return the parameters that search the nearest `depth` documents; the vector must
    have a direction.
    """
    (unit,) = sent_vectors([vector])
    assert unit is not None
    values = ", ".join(f"{value:.6g}" for value in unit.tolist())
    return {
        "q": "*",
        "vector_query": f"vector:([{values}], k: {depth}, ef: {max(EF, depth)})",
    }


# --- filters --------------------------------------------------------------------------


def desk_filter(desk: str) -> str:
    """Return the filter for one desk."""
    return f"desk_key:={exact_key(desk)}" if desk else _NOTHING


def _filters(query: SearchQuery, stemmed: StemmedQuery) -> Iterator[str]:
    if query.desk is not None:
        yield desk_filter(query.desk)
    if query.agency is not None:
        yield f"agency_key:={exact_key(query.agency)}" if query.agency else _NOTHING
    if query.theme is not None:
        yield _theme_filter(query.theme)
    for facet in (*KEYED_FACETS, "entity"):
        value = getattr(query, facet)
        if value is not None:
            yield f"facet_keys:={facet_key(facet, value)}"
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


def _theme_filter(theme: str) -> str:
    return f"theme_path:={quoted(theme)}" if _has_letter(theme) else _NOTHING
