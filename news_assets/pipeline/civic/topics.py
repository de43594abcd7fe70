"""Topics of agenda items and of their meeting, by the words of
`taxonomy/civic_topics.yaml`; pure.

A theme is the one subject of an article. Topics are all subjects of an item that its
words are evidence for.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

from news_assets.pipeline.enrich.theme_words import ThemeTable
from news_assets.taxonomy.taxonomy_files import CIVIC_TOPICS, Taxonomy, load_taxonomy

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
    return tuple(code for code in ranked[:_MAX_TOPICS] if evidence[code] >= least) or (
        OTHER,
    )


def topics_of_meeting(items: Sequence[Sequence[str]]) -> tuple[tuple[str, int], ...]:
    """Return the topics of a meeting's items with the number of items, the most
    frequent first, `other` last.
    """
    counts = Counter[str]()
    for topics in items:
        counts.update(set(topics))
    return tuple(
        sorted(counts.items(), key=lambda one: (one[0] == OTHER, -one[1], one[0]))
    )
