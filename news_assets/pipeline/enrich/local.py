"""The local enricher, which needs no network."""

from typing import Self

from news_assets.pipeline.enrich.keywords import keywords
from news_assets.pipeline.enrich.readability import readability
from news_assets.pipeline.enrich.summary import summary
from news_assets.pipeline.enrich.themes import ThemeTable
from news_assets.pipeline.enrich.trained.features import ThemeInput, theme_input
from news_assets.records.desks import Desk
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.taxonomy_files import Taxonomy
from news_assets.text.language import language_of
from news_assets.text.prose import paragraphs, prose, sentences
from news_assets.text.words import words

_READING_WPM = 220  # adults read 200 to 230 words a minute
MODEL = "lexical-2"  # changed with every change to themes, summaries or keywords
_PROMPT_VERSION = "1"


class LocalEnricher:
    """Finds theme, summary and keywords by the words of a taxonomy and of the text
    itself.
    """

    def __init__(self, taxonomy: Taxonomy, lender: Taxonomy | None = None) -> None:
        self.name = "local"
        self.model = f"{MODEL}+{lender.version}" if lender else MODEL
        self.prompt_version = _PROMPT_VERSION
        self.taxonomy_version = taxonomy.version
        self._taxonomy, self._lender = taxonomy, lender
        self._tables: dict[str | None, ThemeTable] = {}

    def for_desk(self, desk: Desk) -> Self:
        """Return this enricher, which is that of every desk with its taxonomy."""
        return self

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article.

        The theme is empty if the evidence is weak or divided.
        """
        plain = prose(text)
        detected = language_of(f"{title}\n{plain}" if title else plain, language)
        primary = (detected or "").partition("-")[0] or None
        counted = words(plain)
        theme = self._table(primary).find(title, plain)
        return Enrichment(
            theme_path=theme.path,
            theme_labels=tuple(
                self._taxonomy.themes[code].label(primary) for code in theme.path
            ),
            theme_score=round(theme.score, 4),
            theme_reason=theme.reason,
            summary=summary(title, text, primary),
            keywords=keywords(title, plain, primary),
            language=detected,
            word_count=len(counted),
            reading_minutes=max(1, round(len(counted) / _READING_WPM)),
            readability=readability(
                counted, sum(len(sentences(part)) for part in paragraphs(text)), primary
            ),
        )

    def theme_input(self, title: str, text: str, language: str | None) -> ThemeInput:
        """Return what a trained classifier reads of one article.

        `language` (BCP 47) is that of its enrichment.
        """
        primary = (language or "").partition("-")[0] or None
        return theme_input(self._table(primary), title, text, primary)

    def _table(self, language: str | None) -> ThemeTable:
        if language not in self._tables:
            lender = ThemeTable(self._lender, language) if self._lender else None
            self._tables[language] = ThemeTable(self._taxonomy, language, lender)
        return self._tables[language]
