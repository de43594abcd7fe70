"""Files of trained theme classifiers: a folder for each desk, a file for each version,
and the name of the one in use.

A file is a zip of numpy arrays and one JSON text, and is read without pickle.
"""

import hashlib
import json
import logging
import os
import zipfile
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from news_assets.errors import EnrichError
from news_assets.folders import private_folder
from news_assets.pipeline.enrich.theme_vectors import (
    Space,
    ThemeClassifier,
    ThemeVectors,
    theme_texts,
    theme_vectors,
)
from news_assets.ports.search_index import Embedder
from news_assets.taxonomy import BUILT_IN, Taxonomy

_CURRENT = "current"
PACKAGED_VECTORS = BUILT_IN.with_name("vectors")
_VECTORS = "theme_vectors"
_ARRAYS = ("rarity", "center", "weights", "bias")
_TUPLES = ("stems", "themes", "roots", "codes")
_FORMAT = 1

_LOG = logging.getLogger(__name__)


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


def version_of(trained_at: datetime, data_hash: str) -> str:
    """Return the name of a version, of its time in UTC and its data."""
    return f"{trained_at:%Y%m%dT%H%M%S}-{data_hash[:8]}"


def save(
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


def load(
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
