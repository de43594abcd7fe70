"""The local enricher of each desk, whose work on texts runs in the sandbox.

    Enrichers.for_desk(desk)            (pipeline/enrich/model/enrichers.py)
    | LocalEnrichers.for_desk           with the desk's taxonomy and classifier
    = VectorEnricher                    themes by words and by vectors or the classifier
      | LocalEnrichers.enrich           for what is found by words
      | sandbox process: LocalEnricher  language, summary, keywords, themes by words

Without an embedding model, or with `themes: words`, `VectorEnricher` is left out.

Trained classifiers are files in a folder for each desk, one for each version, and one
with the name of the version in use. A file is a zip of numpy arrays and one JSON text,
and is read without pickle.
"""

import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, TypeVar

from news_assets.errors import EmbedError, EnrichError, NewsAssetsError
from news_assets.folders import private_folder
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.enrich.theme_vectors import (
    Space,
    ThemeClassifier,
    ThemeInput,
    ThemeVectors,
    VectorEnricher,
    theme_texts,
    theme_vectors,
)
from news_assets.ports.search_index import Embedder
from news_assets.ports.services import Enricher, Sandbox
from news_assets.records.desks import Desk, ThemeMethod
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import (
    BUILT_IN,
    Taxonomy,
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
            version = current_version(self._models_dir, desk)
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
            self._vectors = vectors_of(
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
        classifier, _ = load_classifier(self._models_dir, desk, version)
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


# --- files of trained theme classifiers -----------------------------------------------

_CURRENT = "current"
PACKAGED_VECTORS = BUILT_IN.with_name("vectors")
_VECTORS = "theme_vectors"
_ARRAYS = ("rarity", "center", "weights", "bias")
_TUPLES = ("stems", "themes", "roots", "codes")
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutClassifier:
    """What a classifier was trained on, and how it did in cross-validation.

    `untrained_accuracy` is the share of right themes without the labels, on the same
    articles. `labels_per_theme` has the code of each theme with labels; the empty one
    is for no theme. `sure` is the share of themes that are sure at the wanted error
    rate, which are the calls that it saves, and `error` the share of these that are
    wrong.
    """

    version: str
    trained_at: str
    data_hash: str
    articles: int
    by_person: int
    themes: int
    accuracy: float
    wanted_error_rate: float
    threshold: float
    sure: float
    error: float
    untrained_accuracy: float | None = None
    labels_per_theme: dict[str, int] = field(default_factory=dict)


def classifier_version(trained_at: datetime, data_hash: str) -> str:
    """Return the name of a version, of its time in UTC and its data."""
    return f"{trained_at:%Y%m%dT%H%M%S}-{data_hash[:8]}"


def save_classifier(
    models_dir: Path, desk: str, classifier: ThemeClassifier, about: AboutClassifier
) -> Path:
    """Write a version, which is then the one in use; return its file. Raises
    EnrichError.
    """
    import numpy as np

    space = classifier.space
    values = _values_of(classifier, about)
    text = np.frombuffer(json.dumps(values, ensure_ascii=False).encode(), np.uint8)
    try:
        folder = private_folder(_folder(models_dir, desk))
        file = folder / f"{about.version}.npz"
        partial = folder / f"{about.version}.partial"
        with partial.open("wb") as out:
            np.savez_compressed(
                out,
                text=text,
                rarity=space.rarity,
                center=space.center,
                weights=classifier.weights,
                bias=classifier.bias,
            )
        partial.replace(file)
        partial.write_text(about.version)
        partial.replace(folder / _CURRENT)
    except OSError as error:
        raise EnrichError(f"the classifier cannot be stored: {error}") from error
    return file


def _values_of(
    classifier: ThemeClassifier, about: AboutClassifier
) -> dict[str, object]:
    """Return what a file has besides arrays."""
    space = classifier.space
    return {
        "format": _FORMAT,
        "about": asdict(about),
        "stems": space.stems,
        "themes": space.themes,
        "roots": space.roots,
        "codes": classifier.codes,
        "sharpness": classifier.sharpness,
        "untrained_weight": classifier.untrained_weight,
        "taxonomy_version": classifier.taxonomy_version,
        "embedding_model": classifier.embedding_model,
    }


def current_version(models_dir: Path, desk: str) -> str | None:
    """Return the version in use; None if the desk has none. Raises EnrichError."""
    file = _folder(models_dir, desk) / _CURRENT
    try:
        version = file.read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise EnrichError(
            f"{file}: cannot be read ({error}); run `news-assets train-themes --desk {desk}`"
        ) from error
    if not version or version != os.path.basename(version):  # noqa: PTH119 - the name is not a path
        raise EnrichError(
            f"{file}: names no version; write the name of a file beside it without .npz"
        )
    return version


def load_classifier(
    models_dir: Path, desk: str, version: str
) -> tuple[ThemeClassifier, AboutClassifier]:
    """Return a version of a desk's classifier. Raises EnrichError."""
    import numpy as np

    file = _folder(models_dir, desk) / f"{version}.npz"
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            values: dict[str, Any] = json.loads(arrays["text"].tobytes())
            found = {name: arrays[name] for name in _ARRAYS}
        return _classifier(values, found), AboutClassifier(**values["about"])
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise EnrichError(
            f"{file}: is not a classifier of themes ({reason}); run `news-assets train-themes"
            f" --desk {desk}`, or delete {file.with_name(_CURRENT)} to do without"
        ) from error


def _classifier(values: dict[str, Any], arrays: dict[str, Any]) -> ThemeClassifier:
    stems, themes, roots, codes = map(tuple, itemgetter(*_TUPLES)(values))
    if values["format"] != _FORMAT:
        raise ValueError(f"format {values['format']}, not {_FORMAT}")
    rows = len(stems) + len(arrays["center"]) + len(themes) + len(roots)
    shapes = {
        "rarity": (len(stems),),
        "weights": (rows, len(codes)),
        "bias": (len(codes),),
    }
    wrong = [name for name, shape in shapes.items() if arrays[name].shape != shape]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} of another shape")
    return ThemeClassifier(
        Space(stems, arrays["rarity"], arrays["center"], themes, roots),
        codes,
        arrays["weights"],
        arrays["bias"],
        float(values["sharpness"]),
        str(values["taxonomy_version"]),
        str(values["embedding_model"]),
        float(values.get("untrained_weight", 0.0)),  # versions before 2 have none
    )


def vectors_of(
    models_dir: Path, taxonomy: Taxonomy, embedder: Embedder
) -> ThemeVectors:
    """Return the vectors of a taxonomy's themes.

    The vectors of the built-in taxonomies and model are part of the package. The first
    use of others embeds all texts and stores their vectors.

    Raises:
        EmbedError: A text cannot be embedded.
    """
    texts = theme_texts(taxonomy)
    name = vectors_file(taxonomy, embedder.model, embedder.dim)
    for folder in (PACKAGED_VECTORS, models_dir / _VECTORS):
        stored = _stored_vectors(folder / name, tuple(texts))
        if stored is not None:
            return stored
    vectors = iter(embedder.embed(list(chain.from_iterable(texts.values()))))
    by_code = {}
    for code, of_theme in texts.items():
        by_code[code] = [one.vector for one in islice(vectors, len(of_theme))]
    made = theme_vectors(by_code)
    _store_vectors(models_dir / _VECTORS / name, made)
    return made


def vectors_file(taxonomy: Taxonomy, model: str, dim: int) -> str:
    """Return the name of the file with the vectors of these themes by this model."""
    values = [model, dim, theme_texts(taxonomy)]
    key = json.dumps(values, ensure_ascii=False)
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass"))
    return f"{digest.hexdigest()[:24]}.npz"


def _stored_vectors(file: Path, codes: tuple[str, ...]) -> ThemeVectors | None:
    """Return the vectors of a file; None without one, or one that cannot be read."""
    import numpy as np

    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return ThemeVectors(codes, arrays["center"], arrays["directions"])
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _store_vectors(file: Path, made: ThemeVectors) -> None:
    """Write the file at once; where that fails the vectors are made again by the next
    process.
    """
    import numpy as np

    beside = file.with_suffix(f".{os.getpid()}")
    try:
        private_folder(file.parent)
        with beside.open("wb") as opened:
            np.savez(opened, center=made.center, directions=made.directions)
        beside.replace(file)
    except OSError as error:
        _LOG.warning("%s: the vectors of themes cannot be stored: %s", file, error)


def _folder(models_dir: Path, desk: str) -> Path:
    return models_dir / "themes" / desk
