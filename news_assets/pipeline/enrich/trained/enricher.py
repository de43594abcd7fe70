"""The local enricher with the theme of a trained classifier."""

from collections.abc import Callable
from dataclasses import replace

from news_assets.errors import EmbedError, EnrichError
from news_assets.pipeline.enrich.themes import descend
from news_assets.pipeline.enrich.trained.classifier import ThemeClassifier
from news_assets.pipeline.enrich.trained.features import ThemeInput
from news_assets.ports.enrichment import Enricher
from news_assets.ports.search import Embedder
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.loader import Taxonomy


class TrainedEnricher:
    """Summary and keywords of the local enricher; a theme for every text with words, with its probability as score.

    The classifier gives the theme of level 1; the levels below are found by the taxonomy's words.
    """

    def __init__(
        self,
        local: Enricher,
        theme_input: Callable[[str, str, str | None], ThemeInput],
        classifier: ThemeClassifier,
        version: str,
        taxonomy: Taxonomy,
        embedder: Embedder,
    ) -> None:
        self.name, self.model = local.name, f"{local.model}+{version}"
        self.prompt_version, self.taxonomy_version = local.prompt_version, local.taxonomy_version
        self._local, self._theme_input, self._classifier = local, theme_input, classifier
        self._taxonomy, self._embedder = taxonomy, embedder

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        found = self._local.enrich(title, text, language)
        read = self._theme_input(title, text, found.language)
        if not read.text:
            return found
        try:
            vector = self._embedder.embed([read.text])[0].vector
        except EmbedError as error:
            raise EnrichError(f"no theme without an embedding: {error}") from error
        probabilities = self._classifier.probabilities(read, vector)
        best = max(probabilities, key=lambda code: probabilities[code])
        path = descend(self._taxonomy, best, lambda code: read.evidence[code])
        primary = (found.language or "").partition("-")[0] or None
        return replace(
            found,
            theme_path=path,
            theme_labels=tuple(self._taxonomy.themes[code].label(primary) for code in path),
            theme_score=round(probabilities[best], 4),
            theme_reason=None,
        )
