"""What the words of an agenda item say: whether it is dropped or not enriched, its
topics, its matter, and the step of the matter's way that it is; pure.

A procedural title is a phrase with nothing beside it that names business: "Approval of
Minutes of the Regular Meeting of March 3, 2026" is one, "Roll Call Vote on the Budget
Ordinance" is not. What is routine begins with a phrase, and names no business either. A
phrase fits whole words, in any case, with any spaces and signs between them.

A theme is the one subject of an article. An agenda item has up to three topics, by the
words of `taxonomy/civic_topics.yaml`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal

from news_assets.pipeline.enrich.theme_words import ThemeTable
from news_assets.records.desks import ItemFilters
from news_assets.records.meetings import AgendaItem, StoredItem
from news_assets.sources.civic.numbering import canonical_file
from news_assets.taxonomy import CIVIC_TOPICS, Taxonomy, load_taxonomy
from news_assets.text.fingerprint import normal_words, sha256

# --- filters --------------------------------------------------------------------------

_MAX_TITLE_CHARS = 1000

# Words that may stand beside a procedural phrase: of meetings and bodies, of dates, and
# of who does it.
_BESIDE_WORDS = """
a an and any at by for from in no not of on or the to with as its this that all
if regular special joint work study working session sessions meeting meetings
workshop previous last prior draft city town village county council board
commission committee authority trustees district public school mayor president
chair chairman chairwoman chairperson vice clerk secretary members member
attendance present absent approve approval accept acceptance adopt adoption
consider consideration review motion action possible discussion necessary
required quorum minutes agenda consent calendar summary monday tuesday wednesday
thursday friday saturday sunday january february march april may june july
august september october november december jan feb mar apr jun jul aug sep sept
oct nov dec am pm st nd rd th noon
"""
_BESIDE = frozenset(_BESIDE_WORDS.split())
_PERFORMED = re.compile(
    r"\b(?:(?:led|given|offered|delivered)\s)?by\s[^:;]{1,60}\Z", re.IGNORECASE
)
_BRACKETS = re.compile(r"[(\[][^()\[\]]{0,80}[)\]]")
_LEAD_WORDS = """
a an re the of for to and new annual consider consideration approve approval
resolution certificate presentation request application applications mayoral
"""
_LEAD = frozenset(_LEAD_WORDS.split())
_BUSINESS = re.compile(
    r"\b(?:emergency|disaster|ordinance|resolution|contract|agreement|budget|policy|moratorium|bonds?"
    r"|lease|procedures?|rules|code|fees?)\b|[$€£]\s?\d",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][^\W_]*")

_Tier = Literal["dropped", "not_enriched"]


@dataclass(frozen=True, slots=True)
class Filtered:
    """Why an item is filtered: its tier, and the reason that is stored."""

    tier: _Tier
    reason: str


def filtered(title: str, filters: ItemFilters) -> Filtered | None:
    """Return whether and why an item is filtered; None for one that is enriched."""
    words = title[:_MAX_TITLE_CHARS]
    for match in _pattern(filters.dropped).finditer(words):
        if not _names_business(words, match):
            return Filtered("dropped", f'procedural: "{_plain(match[0])}"')
    kept = _pattern(filters.not_enriched).search(words)
    if kept is None:
        return None
    if not _is_lead(words[: kept.start()]):
        return None
    if _BUSINESS.search(words[kept.end() :]):
        return None
    return Filtered("not_enriched", f'ceremonial or routine: "{_plain(kept[0])}"')


def _names_business(title: str, match: re.Match[str]) -> bool:
    """Whether a title has words beside a procedural phrase that are not of the
    procedure.
    """
    after = _PERFORMED.sub(" ", _BRACKETS.sub(" ", title[match.end() :]))
    words = _WORD.findall(f"{title[: match.start()]} {after}".lower())
    for word in words:
        if len(word) > 1 and word not in _BESIDE:
            return True
    return False


def _is_lead(text: str) -> bool:
    """Whether nothing but a number and words of a motion stand before a phrase."""
    for word in _WORD.findall(text.lower()):
        if len(word) > 1 and word not in _LEAD:
            return False
    return True


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


@lru_cache(maxsize=64)
def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of whole phrases; without a phrase one that never fits. Longer
    phrases count first.
    """
    by_length = sorted(map(str.split, phrases), key=len, reverse=True)
    split_phrases = [words for words in by_length if words]
    if not split_phrases:
        return re.compile(r"(?!)")
    written = [r"[\s\W]{1,3}".join(map(re.escape, words)) for words in split_phrases]
    return re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)", re.IGNORECASE)


# --- topics ---------------------------------------------------------------------------

OTHER: Final = "other"
_MAX_TOPICS = 3  # of an item
_MIN_EVIDENCE = 1.2  # a keyword in the title, or two in the text
_MIN_SHARE = 0.5  # of the evidence for the best topic
_LANGUAGE = "en"


@cache
def topics_taxonomy() -> Taxonomy:
    """Return the topics with their words."""
    return load_taxonomy(CIVIC_TOPICS)


@cache
def _table() -> ThemeTable:
    return ThemeTable(topics_taxonomy(), _LANGUAGE)


def topic_label(code: str, language: str) -> str:
    """Return the label of a topic in a language; the code if it is not known."""
    theme = topics_taxonomy().themes.get(code)
    return theme.label(language) if theme else code


def topics_of_item(title: str, text: str = "") -> tuple[str, ...]:
    """Return the codes of an item's topics, the best first, at most three; `other`
    where its words fit none.

    `text` is the item's summary, or its text without markup.
    """
    evidence = _table().evidence(title, text)
    ranked = sorted(evidence, key=lambda code: -evidence[code])
    least = max(_MIN_EVIDENCE, _MIN_SHARE * evidence[ranked[0]])
    topics = [code for code in ranked[:_MAX_TOPICS] if evidence[code] >= least]
    if not topics:
        return (OTHER,)
    return tuple(topics)


def topics_of_meeting(items: Sequence[Sequence[str]]) -> tuple[tuple[str, int], ...]:
    """Return the topics of a meeting's items with the number of items, the most
    frequent first, `other` last.
    """
    counts = Counter[str]()
    for topics in items:
        counts.update(set(topics))
    by_frequency = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(sorted(by_frequency, key=lambda one: one[0] == OTHER))


# --- matters --------------------------------------------------------------------------

# shorter titles, such as "Budget update", are those of several matters
_MIN_TITLE_CHARS: Final = 30
_BY_TITLE: Final = "title:"


def matter_key(item: AgendaItem) -> str:
    """Return the key of an item's matter within its agency: by public number, vendor's
    id or title; empty without.
    """
    if item.matter_file and item.matter_file.strip():
        return f"file:{canonical_file(item.matter_file)}"
    if item.matter_id:
        return f"id:{item.matter_id}"
    title = " ".join(normal_words(item.title))
    return f"{_BY_TITLE}{sha256(title)[:16]}" if len(title) >= _MIN_TITLE_CHARS else ""


# --- the step of a matter's way that an appearance is ---------------------------------

_Step = Literal["introduced", "referred", "heard", "voted", "scheduled", "cancelled"]

# The first that fits: "referred to committee; motion carried" is no vote on the matter
# itself.
_BY_WORDS: Final[tuple[tuple[_Step, re.Pattern[str]], ...]] = (
    (
        "referred",
        re.compile(
            r"\b(?:re-?)?referr(?:ed|al)\b|\bassigned\b|\bsent to\b", re.IGNORECASE
        ),
    ),
    (
        "introduced",
        re.compile(r"\bintroduc|\bfirst reading\b|\b1st reading\b", re.IGNORECASE),
    ),
    (
        "heard",
        re.compile(
            r"\b(?:heard|held|continued|tabled|deferred|postponed|discussed|laid over|received and"
            r" filed)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "voted",
        re.compile(
            r"\b(?:adopt|approv|pass|enact|fail|den(?:y|ied)|defeat|reject|carried|award|confirm"
            r"|vote)",
            re.IGNORECASE,
        ),
    ),
)
_HEARING: Final = re.compile(r"\bhearing", re.IGNORECASE)


def step_of(item: StoredItem, meeting_status: str, *, is_first: bool) -> _Step:
    """Return the step that an appearance is; one without a stated decision is a first
    or a further reading.
    """
    if meeting_status == "cancelled":
        return "cancelled"
    decided = f"{item.action} {item.decision}"
    if meeting_status != "passed" and decided == " ":
        return "scheduled"
    for step, words in _BY_WORDS:
        if words.search(decided):
            return step
    if item.result:
        return "voted"
    if item.votes_json != "[]":
        return "voted"
    if _HEARING.search(f"{item.section} {item.title}"):
        return "heard"
    return "introduced" if is_first else "heard"
