"""What a classifier of themes reads of an article."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from news_assets.pipeline.embed import embedding_text
from news_assets.pipeline.enrich.themes import MAX_CHARS, ThemeTable
from news_assets.text.prose import prose
from news_assets.text.words import stem, stopwords, words

_TITLE_REPEATS = 3


@dataclass(frozen=True, slots=True)
class ThemeInput:
    """Counts of stems, evidence by theme code, and the text to embed, empty without
    words.
    """

    stems: Mapping[str, int]
    evidence: Mapping[str, float]
    text: str


def theme_input(
    table: ThemeTable, title: str, text: str, language: str | None
) -> ThemeInput:
    """Return the input of one article; its title counts _TITLE_REPEATS times."""
    plain = prose(text)
    stop = stopwords(language)
    found = [*words(title) * _TITLE_REPEATS, *words(plain[:MAX_CHARS])]
    stems = Counter(stem(word, language) for word in found if word not in stop)
    return ThemeInput(
        dict(stems), table.evidence(title, plain), embedding_text(title, text, None)
    )
