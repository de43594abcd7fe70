"""A query as the server's search parameters.

A `SearchQuery` enters; parameters leave, for one or several searches of one request. What comes back is read in
`answers.py`.

The server has one text for all fields and no choice between forms of a word, so words are sought as the stems that
documents were stored with (`text.words.shared_stem`). Stems are sought exactly; what no document has is corrected
first (`typos.py`), because a typing mistake in an ending changes where the stem ends.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from news_assets.clients.search.embedded.ranking import ENOUGH_MATCHES
from news_assets.clients.search.query import parse_query
from news_assets.clients.search.typesense.connection import HITS_AT_ONCE, quoted
from news_assets.clients.search.typesense.documents import day_number, exact_key
from news_assets.clients.search.typesense.lines import unit_values
from news_assets.ports import SearchQuery
from news_assets.text.words import shared_stem, words

CANDIDATES = 100  # nearest vectors that are listed and counted; more where a page asks
EF = 200  # recall@20 .999; with the server's 10 it is .893
ALPHA = 0.5  # words and vectors weigh alike, as in reciprocal rank fusion
MAX_OF_STORY = 10  # duplicates among which the original is looked for
MAX_FACET_VALUES = 10_000
CUTOFF_MS = 8_000  # below the client's own limit, so that the server says why

SHOWN = "id,title,text,summary,url,desk,agency,day,theme_code,language,duplicate_of,published_ts"
FACETS = "agency,theme_path,language,month"

Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SoughtWords:
    """What a query's text asks for, as stems. `words` are as typed, `stems` in the same order."""

    words: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    is_blank: bool = True

    @property
    def finds_nothing(self) -> bool:
        """Nothing but signs were typed."""
        return not (self.is_blank or self.stems or self.excluded)

    @property
    def text(self) -> str:
        """The server's query. Words of a phrase are sought by themselves too: a phrase alone is not ranked."""
        distinct = tuple(dict.fromkeys(self.stems))
        return " ".join((*distinct, *(f'"{phrase}"' for phrase in self.phrases))) or "*"


def sought_words(query: SearchQuery, languages: tuple[str, ...]) -> SoughtWords:
    """Return what the query's text asks for. In a phrase, endings are forgiven as elsewhere."""
    parsed = parse_query(query.text, (query.language,) if query.language else languages)
    return SoughtWords(
        words=parsed.words,
        stems=_stems(parsed.words, languages),
        phrases=tuple(" ".join(_stems(phrase, languages)) for phrase in parsed.phrases),
        excluded=_stems(parsed.excluded, languages),
        is_blank=not query.text.strip(),
    )


def _stems(found: Iterable[str], languages: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(stem for word in found if (stem := shared_stem(word, languages)) and words(stem))


# --- searches --------------------------------------------------------------------------------------------------------


def common_params(name: str, query: SearchQuery, sought: SoughtWords) -> Params:
    """Return what all searches for a query have: where, which words, which filters; nothing is highlighted."""
    params: Params = {
        "collection": name,
        "q": sought.text,
        "highlight_fields": "none",
        "search_cutoff_ms": CUTOFF_MS,
    }
    if sought.stems:
        params |= word_params()
    filter_by = " && ".join(_filters(query, sought))
    return params | ({"filter_by": filter_by} if filter_by else {})


def word_params() -> Params:
    """Return how words are sought: as stems, the title's first, some of them only where all find too little."""
    return {
        "query_by": "title_stems,stems",
        "query_by_weights": "3,1",
        "prefix": "false",
        "num_typos": "0",
        "split_join_tokens": "off",
        "drop_tokens_threshold": ENOUGH_MATCHES,
        "drop_tokens_mode": "both_sides:3",
    }


def page_searches(common: Params, query: SearchQuery) -> list[Params]:
    """Return the searches that give the page, one hit for each story; the server gives 250 at once."""
    ends = query.offset + query.limit
    starts = range(query.offset, ends, HITS_AT_ONCE) if query.limit else [query.offset]
    grouped = common | {"group_by": "story", "group_limit": MAX_OF_STORY, "include_fields": SHOWN}
    return [grouped | {"offset": start, "limit": min(HITS_AT_ONCE, ends - start)} for start in starts]


def count_search(common: Params) -> Params:
    """Return the search that counts stories."""
    return common | {"group_by": "story", "group_limit": 1, "include_fields": "id", "per_page": 0}


def facet_search(common: Params) -> Params:
    """Return the search that counts documents by facet, and shows how many words the best one has.

    It stands by itself because a grouped search counts groups.
    """
    return common | {
        "facet_by": FACETS,
        "max_facet_values": MAX_FACET_VALUES,
        "include_fields": "id",
        "per_page": 1,
    }


def near_params(query: SearchQuery) -> Params:
    """Return what makes a search one for near vectors, or with words one for both. The vector is not empty."""
    k = max(CANDIDATES, 2 * (query.offset + query.limit))
    values = ", ".join(f"{value:.6g}" for value in unit_values(query.vector or ()).tolist())
    return {"vector_query": f"vector:([{values}], k: {k}, ef: {EF}, alpha: {ALPHA})"}


def without_words(params: Params) -> Params:
    """Return the search for everything that passes the filters."""
    return {name: value for name, value in params.items() if name not in word_params()} | {"q": "*"}


# --- filters ---------------------------------------------------------------------------------------------------------


def desk_filter(desk: str) -> str:
    """Return the filter for one desk."""
    return f"desk_key:={exact_key(desk)}" if desk else _NOTHING


def _filters(query: SearchQuery, sought: SoughtWords) -> Iterator[str]:
    if query.desk is not None:
        yield desk_filter(query.desk)
    if query.agency is not None:
        yield f"agency_key:={exact_key(query.agency)}" if query.agency else _NOTHING
    if query.theme is not None:
        yield f"theme_path:={quoted(query.theme)}" if _has_letter(query.theme) else _NOTHING
    if query.language is not None:
        yield _language_filter(query.language.lower()) if _has_letter(query.language) else _NOTHING
    if query.from_day is not None:
        yield f"day:>={day_number(query.from_day)}"
    if query.to_day is not None:
        yield f"day:<={day_number(query.to_day)}"
    if sought.excluded:
        stems = ",".join(map(quoted, dict.fromkeys(sought.excluded)))
        yield f"title_stems:![{stems}]"
        yield f"stems:![{stems}]"


_NOTHING = "day:<0"  # the server refuses an empty value, or one of signs alone


def _has_letter(value: str) -> bool:
    return any(sign.isalnum() for sign in value)


def _language_filter(wanted: str) -> str:
    """Return the filter for a language: `pt` takes `pt-BR`, and `pt-BR` takes `pt`, but no `pt-PT`."""
    wider = ["-".join(wanted.split("-")[:count]) for count in range(1, wanted.count("-") + 1)]
    either = [f"languages:={quoted(wanted)}", *(f"language:={quoted(one)}" for one in wider)]
    return f"({' || '.join(either)})"
