"""The local enricher with a theme from words, vectors, and a desk's classifier if there
is one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Self

from news_assets.errors import EmbedError, EnrichError
from news_assets.pipeline.enrich.theme_vectors import (
    MIN_BEST,
    VERSION,
    ThemeVectors,
    score_of,
)
from news_assets.pipeline.enrich.themes import FoundTheme, descend
from news_assets.pipeline.enrich.trained.classifier import NO_THEME, ThemeClassifier
from news_assets.pipeline.enrich.trained.features import ThemeInput
from news_assets.ports.search_index import Embedder
from news_assets.ports.services import Enricher
from news_assets.records.desks import Desk
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.taxonomy_files import Taxonomy


class VectorEnricher:
    """Summary and keywords of the local enricher.

    A theme from words, the article's vector and a classifier.

    They give the theme of level 1; the levels below are found by the taxonomy's words.
    `vectors` returns those of the themes, and `version` is that of the classifier.
    """

    def __init__(
        self,
        local: Enricher,
        theme_input: Callable[[str, str, str | None], ThemeInput],
        vectors: Callable[[], ThemeVectors],
        taxonomy: Taxonomy,
        embedder: Embedder,
        classifier: ThemeClassifier | None = None,
        version: str = VERSION,
    ) -> None:
        self.name, self.model = local.name, f"{local.model}+{version}"
        self.prompt_version, self.taxonomy_version = (
            local.prompt_version,
            local.taxonomy_version,
        )
        self._local, self._theme_input, self._vectors = local, theme_input, vectors
        self._taxonomy, self._embedder, self._classifier = (
            taxonomy,
            embedder,
            classifier,
        )

    def for_desk(self, desk: Desk) -> Self:
        """Return this enricher, which is that of one desk."""
        return self

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        enrichment = self._local.enrich(title, text, language)
        read = self._theme_input(title, text, enrichment.language)
        if not read.text:
            return enrichment
        primary = (enrichment.language or "").partition("-")[0] or None
        try:
            vector = self._embedder.embed([read.text])[0].vector
            scores = self._vectors().scores(read.evidence, vector)
        except EmbedError as error:
            raise EnrichError(f"no theme without an embedding: {error}") from error
        if self._classifier is None:
            found = self._untrained(scores, read, enrichment.theme_reason)
        else:
            found = self._trained(
                self._classifier.probabilities(read, vector, scores), read
            )
        return replace(
            enrichment,
            theme_path=found.path,
            theme_labels=tuple(
                self._taxonomy.themes[code].label(primary) for code in found.path
            ),
            theme_score=round(found.score, 4),
            theme_reason=found.reason,
        )

    def _untrained(
        self, scores: dict[str, float], read: ThemeInput, reason: str | None
    ) -> FoundTheme:
        """Return the theme; for a text without evidence `reason`, which names what is
        missing.
        """
        best = max(scores, key=lambda code: scores[code])
        score = score_of(scores)
        if scores[best] < MIN_BEST:
            if any(evidence > 0 for evidence in read.evidence.values()):
                reason = "the evidence is weak"
            return FoundTheme((), score, reason)
        return FoundTheme(self._path(best, read), score)

    def _trained(self, probabilities: dict[str, float], read: ThemeInput) -> FoundTheme:
        best = max(probabilities, key=lambda code: probabilities[code])
        if best == NO_THEME:
            return FoundTheme(
                (),
                probabilities[best],
                "no theme fits: articles like this one were labelled so",
            )
        return FoundTheme(self._path(best, read), probabilities[best])

    def _path(self, code: str, read: ThemeInput) -> tuple[str, ...]:
        return descend(self._taxonomy, code, lambda each: read.evidence[each])
