"""The local enricher of each desk, whose work on texts runs in the sandbox.

    Enrichers.for_desk(desk)            (pipeline/enrich/model/enrichers.py)
    | LocalEnrichers.for_desk           with the desk's taxonomy and classifier
    = VectorEnricher                    themes by words and by vectors or the classifier
      | LocalEnrichers.enrich           for what is found by words
      | sandbox process: LocalEnricher  language, summary, keywords, themes by words

Without an embedding model, or with `themes: words`, `VectorEnricher` is left out.
"""

import logging
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Self, TypeVar

from news_assets.clients import theme_models
from news_assets.errors import EmbedError, EnrichError, NewsAssetsError
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.enrich.theme_vectors import (
    ThemeInput,
    ThemeVectors,
    VectorEnricher,
)
from news_assets.ports.search_index import Embedder
from news_assets.ports.services import Enricher, Sandbox
from news_assets.records.desks import Desk, ThemeMethod
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import (
    lender_of,
    load_taxonomy,
    taxonomy_file,
    taxonomy_of,
)

_R = TypeVar("_R")

_LOG = logging.getLogger(__name__)


class LocalEnrichers:
    """The local enrichers: of the built-in taxonomy, and of desks with another one; implements
    `ports.Enricher` by words only, with the sandbox's limits of time and memory.

    `models_dir` holds the classifiers of desks, and `open_embedder` opens the embedder
    that they are used with.
    """

    def __init__(
        self,
        taxonomy: Path | None,
        sandbox: Sandbox,
        models_dir: Path,
        open_embedder: Callable[[], Embedder],
    ) -> None:
        self.taxonomy = load_taxonomy(taxonomy)
        self._taxonomy_file = taxonomy
        local = LocalEnricher(self.taxonomy, lender_of(taxonomy))
        self.name = local.name
        self.model = local.model
        self.prompt_version = local.prompt_version
        self.taxonomy_version = local.taxonomy_version
        self._of_sandbox = (taxonomy, local.taxonomy_version)
        self._sandbox = sandbox
        self._models_dir, self._open_embedder = models_dir, open_embedder
        self._trained: dict[str, tuple[str, Enricher]] = {}
        self._vectors: ThemeVectors | None = None
        self._of_taxonomies: dict[str, Self] = {}  # by version

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        work = partial(_enrich, *self._of_sandbox)
        return self._run(work, title, text, language)

    def theme_input(self, title: str, text: str, language: str | None) -> ThemeInput:
        """Return what a trained classifier reads of one article. Raises EnrichError."""
        work = partial(_theme_input, *self._of_sandbox)
        return self._run(work, title, text, language)

    def _run(
        self, work: Callable[..., _R], title: str, text: str, language: str | None
    ) -> _R:
        [found] = self._sandbox.run(work, [(title, text, language)])
        if isinstance(found, NewsAssetsError):
            raise EnrichError(str(found)) from found
        return found

    def for_desk(self, desk: Desk) -> Enricher:
        """Return the enricher with the desk's taxonomy, and with vectors or its
        classifier as `desk.enrich` says.

        Raises:
            TaxonomyError: The taxonomy cannot be read.
            EnrichError: The desk wants a classifier and has none, or it cannot be read,
                or was trained on vectors of another model.
            EmbedError: The embedding model that the classifier needs cannot be opened.
        """
        of_taxonomy = self.with_taxonomy_of(desk)
        return of_taxonomy._choose(desk.key, desk.enrich.themes)

    def _choose(self, desk: str, themes: ThemeMethod | None) -> Enricher:
        version = None
        if themes in (None, "trained"):
            version = theme_models.current_version(self._models_dir, desk)
        if version is not None:
            return self._of_version(desk, version)
        if themes == "trained":
            raise EnrichError(
                f"desk {desk}: it has no classifier of themes; run `news-assets train-themes --desk"
                f" {desk}`, or take `themes: trained` out of its desk file"
            )
        return self if themes == "words" else self.with_vectors()

    def with_vectors(self) -> Enricher:
        """Return the enricher with vectors of the themes; without an embedding model
        itself, and a warning.
        """
        try:
            embedder = self._open_embedder()
        except EmbedError as error:
            _LOG.warning("themes are found by words only: %s", error)
            return self
        return VectorEnricher(
            self, self.theme_input, self.vectors, self.taxonomy, embedder
        )

    def vectors(self) -> ThemeVectors:
        """Return the vectors of the themes. Raises EmbedError."""
        if self._vectors is None:
            self._vectors = theme_models.vectors_of(
                self._models_dir, self.taxonomy, self._open_embedder()
            )
        return self._vectors

    def with_taxonomy_of(self, desk: Desk) -> Self:
        """Return the enricher with the desk's taxonomy, without a classifier. Raises
        TaxonomyError.
        """
        version = taxonomy_of(desk, self._taxonomy_file).version
        if version == self.taxonomy_version:
            return self
        if version not in self._of_taxonomies:
            file = taxonomy_file(desk, self._taxonomy_file)
            self._of_taxonomies[version] = type(self)(
                file, self._sandbox, self._models_dir, self._open_embedder
            )
        return self._of_taxonomies[version]

    def _of_version(self, desk: str, version: str) -> Enricher:
        known, enricher = self._trained.get(desk, ("", None))
        if enricher is None or known != version:
            enricher = self._with_classifier(desk, version)
            self._trained[desk] = version, enricher
        return enricher

    def _with_classifier(self, desk: str, version: str) -> Enricher:
        classifier, _ = theme_models.load(self._models_dir, desk, version)
        again = f"run `news-assets train-themes --desk {desk}`"
        if classifier.taxonomy_version != self.taxonomy_version:
            _LOG.warning(
                "desk %s: its classifier is of another taxonomy and is not used; %s",
                desk,
                again,
            )
            return self.with_vectors()
        embedder = self._open_embedder()
        if classifier.embedding_model != embedder.model:
            raise EnrichError(
                f"desk {desk}: its classifier was trained on vectors of"
                f" {classifier.embedding_model}, but the model is {embedder.model}: set"
                f" NEWS_EMBEDDING_MODEL back, or {again}"
            )
        return VectorEnricher(
            self,
            self.theme_input,
            self.vectors,
            self.taxonomy,
            embedder,
            classifier,
            version,
        )


def _enrich(
    taxonomy: Path | None, version: str, title: str, text: str, language: str | None
) -> Enrichment:
    return _local(taxonomy, version).enrich(title, text, language)


def _theme_input(
    taxonomy: Path | None, version: str, title: str, text: str, language: str | None
) -> ThemeInput:
    return _local(taxonomy, version).theme_input(title, text, language)


@lru_cache(maxsize=8)
def _local(taxonomy: Path | None, version: str) -> LocalEnricher:
    """Return the enricher of the sandbox's process; another `version` of the taxonomy
    is read again.
    """
    loaded = load_taxonomy(taxonomy)
    return LocalEnricher(loaded, lender_of(taxonomy))
