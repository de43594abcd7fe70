"""Prints docs/licences.md: the licence of every package that an installation has, from
the packages' own metadata.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

# What packages without an SPDX expression write, as the SPDX identifiers meant.
_SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD-derived (http://www.repoze.org/LICENSE.txt)": "BSD-derived",
    "3-Clause BSD License": "BSD-3-Clause",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-3.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

PERMISSIVE = {
    *(
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSD-derived",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
    ),
    *("LLVM-exception", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Zlib"),
}
EXCEPTIONS = {
    "certifi": "MPL-2.0: used unchanged; its files stay under it",
    "psycopg2-binary": "LGPL with exceptions: used unchanged, as a library that can be replaced",
    "pypdfium2": "ships PDFium with its libraries, all under permissive licences whose texts are in the package",
    "tld": "used under MPL-1.1, one of its three: unchanged, its files stay under it",
    "tqdm": "MPL-2.0 and MIT: used unchanged; its files stay under it",
}


@dataclass(frozen=True, slots=True)
class Licensed:
    """An installed package and its licence as an SPDX expression, or as the package
    states it.
    """

    name: str
    version: str
    licence: str


def pins() -> dict[str, str]:
    """Return the versions of constraints.txt by normalised name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (
        line.split("==") for line in lines if "==" in line and not line.startswith("#")
    )
    return {str(canonicalize_name(name)): version for name, version in pairs}


def runtime_packages() -> list[Licensed]:
    """Return the pinned packages that pyproject.toml installs here, with the extras but
    for `dev`, by name.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *(one for extra in extras if extra != "dev" for one in extras[extra]),
    ]
    found = required_packages(map(Requirement, needed))
    pinned = pins()
    return [found[name] for name in sorted(found) if name in pinned]


def required_packages(requirements: Iterable[Requirement]) -> dict[str, Licensed]:
    """Return the installed packages that these requirements bring along, by normalised
    name.
    """
    found: dict[str, Licensed] = {}
    _add(requirements, found, set())
    return found


def _add(
    requirements: Iterable[Requirement],
    found: dict[str, Licensed],
    seen: set[tuple[str, str]],
) -> None:
    """Add what is required; `seen` has each name with each extra, since another extra
    brings other packages.
    """
    for requirement in requirements:
        name = str(canonicalize_name(requirement.name))
        wanted = {(name, extra) for extra in ("", *requirement.extras)}
        if wanted <= seen or not _applies(requirement):
            continue
        seen |= wanted
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = Licensed(
            name, installed.version.partition("+")[0], _licence_of(installed)
        )
        _add(_required_by(installed, requirement.extras), found, seen)


def _applies(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _required_by(package: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for line in package.requires or ():
        requirement = Requirement(line)
        if any(_applies(requirement, extra) for extra in ("", *extras)):
            requirement.marker = None
            yield requirement


def _licence_of(package: Distribution) -> str:
    """Return the SPDX expression, else the classifiers, else the first line of the
    licence field.
    """
    if expression := package.metadata.get("License-Expression"):
        return str(expression)
    classifiers = [
        one.split(" :: ")[-1]
        for one in package.metadata.get_all("Classifier", [])
        if one.startswith("License")
    ]
    if classifiers:
        return " OR ".join(sorted({_SPDX.get(one, one) for one in classifiers}))
    stated = str(package.metadata.get("License") or "unknown").strip().splitlines()[0]
    return _SPDX.get(stated, stated)


def words_of(licence: str) -> set[str]:
    """Return the identifiers of an SPDX expression."""
    return set(
        re.split(r"\s+(?:AND|OR|WITH)\s+", licence.replace("(", "").replace(")", ""))
    )


def licences_page() -> str:
    """Return the page."""
    rows = [
        f"| {one.name} | {one.version} | {one.licence} |" for one in runtime_packages()
    ]
    return "\n".join(
        (
            "# Licences",
            "",
            "The packages of an installation, and the licences that they state. `make licences` writes this page.",
            "A test checks it, and that every licence is permissive or one of these exceptions.",
            "",
            "| exception | reason |",
            "|---|---|",
            *(f"| {name} | {reason} |" for name, reason in sorted(EXCEPTIONS.items())),
            "",
            "| package | version | licence |",
            "|---|---|---|",
            *rows,
            "",
        )
    )


if __name__ == "__main__":
    sys.stdout.write(licences_page())
