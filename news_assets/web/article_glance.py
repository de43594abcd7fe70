"""What the page of an article says at a glance: who was first, how many published it, how often it
was edited, how long it takes to read, and where the reader came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from news_assets.text.fingerprint import normal_words
from news_assets.text.words import words
from news_assets.web.answers import ArticleView
from news_assets.web.article_versions import versions_of
from news_assets.web.parameters import ArticleAddress, ParameterError, SearchAddress

_ALIKE: Final = 0.9  # of the words, in order
_LEAD_WORDS: Final = 200  # a longer text is no lead
_WORDS_A_MINUTE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What is said beneath the headline.

    `first` is the agency that published the text first, and `publishers` how many did;
    `edits` and `silent_edits` are numbers. `cited` are the parameters of the address of
    this version; empty without a text. `subtitle` and `summary` are empty where the
    text begins with the same words. `search` is the address of the search that the
    reader came from; empty for none.
    """

    first: str
    publishers: int
    edits: int
    silent_edits: int
    minutes: int
    cited: str
    subtitle: str
    summary: str
    search: str


def glance_of(view: ArticleView, address: ArticleAddress) -> Glance:
    """Return what the page of an article says at a glance."""
    article, enriched = view.article, view.enriched
    text = article.text or ""
    publications = view.publications
    edits = [row for row in view.revisions if row.cause != "method"]
    shown = [text]
    subtitle = _unless_repeated(article.subtitle, shown)
    if subtitle:
        shown.append(subtitle)
    # what a summary rests on refers to its sentences
    rests_on_text = bool(view.evidence)
    summary = (enriched and enriched.summary) or ""
    version = next(versions_of(article, view.revisions), None)
    is_current = version is not None and version.replaced_at is None
    return Glance(
        first=publications[0].agency,
        publishers=len({copy.agency for copy in publications}),
        edits=len(edits),
        silent_edits=sum(map(view.is_silent, edits)),
        minutes=_minutes(article.word_count) if text else 0,
        cited=version.query if version and is_current else "",
        subtitle=subtitle,
        summary=summary if rests_on_text else _unless_repeated(summary, shown),
        search=search_of(address),
    )


def _minutes(word_count: int) -> int:
    return max(1, round(word_count / _WORDS_A_MINUTE))


def _unless_repeated(text: str | None, shown: Sequence[str]) -> str:
    return text if text and not any(begins_with(one, text) for one in shown) else ""


def begins_with(text: str, lead: str) -> bool:
    """Return whether a text begins with the words of a lead, or nearly; in Markdown or
    not.
    """
    from rapidfuzz.distance import Indel

    wanted = normal_words(lead)
    if not wanted or len(wanted) > _LEAD_WORDS:
        return False
    # a word has some ten characters at most, on average
    beginning = normal_words(text[: 2 * len(lead) + 100])[: len(wanted)]
    return Indel.normalized_similarity(beginning, wanted) >= _ALIKE


def search_of(address: ArticleAddress) -> str:
    """Return the address of the search that a reader came from, which is always one of
    this server; empty for none, and for what is no search.
    """
    if not address.search:
        return ""
    try:
        return SearchAddress.of(dict(parse_qsl(address.search))).url()
    except ParameterError:
        return ""


def search_words(value: str) -> str:
    """Return a tag, section or name as the words to search for, without operators."""
    return " ".join(words(value))
