"""The pinned packages: each has hashes for a release install, and a licence that the project may be used with."""

import json
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from news_assets_tests.add_hashes import with_hashes
from news_assets_tests.licences_page import (
    EXCEPTIONS,
    PERMISSIVE,
    ROOT,
    licences_page,
    pins,
    runtime_packages,
    words_of,
)

REQUIREMENTS = (ROOT / "requirements.txt").read_text()


def hashes() -> dict[tuple[str, str], list[str]]:
    """Return the hashes of requirements.txt by name and version."""
    blocks = re.findall(
        r"^([\w.-]+)==(\S+) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", REQUIREMENTS, re.MULTILINE
    )
    return {(name, version): re.findall(r"sha256:(\w+)", lines) for name, version, lines in blocks}


def test_every_pinned_package_has_hashes_and_no_other_package() -> None:
    assert hashes().keys() == set(pins().items()), "run `make hashes`"
    assert all(hashes().values())


def test_the_file_of_hashes_has_names_versions_and_hashes_only() -> None:
    lines = REQUIREMENTS.splitlines()
    assert [
        line for line in lines if not re.fullmatch(r"[\w.-]+==\S+ \\| +--hash=sha256:[0-9a-f]{64}(?: \\)?", line)
    ] == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    named = {str(canonicalize_name(Requirement(one).name)) for one in required}
    assert named - pins().keys() == set()


def test_the_hash_of_a_file_from_elsewhere_is_added_once() -> None:
    package = {"metadata": {"name": "b"}, "download_info": {"archive_info": {"hashes": {"sha256": "22"}}}}
    before = "a==1 \\\n    --hash=sha256:11\nb==1 \\\n    --hash=sha256:33\n"
    after = "a==1 \\\n    --hash=sha256:11\nb==1 \\\n    --hash=sha256:22 \\\n    --hash=sha256:33\n"
    report = json.dumps({"install": [package]})
    assert with_hashes(before, report) == after
    assert with_hashes(after, report) == after
    with pytest.raises(SystemExit, match="b is in the file 0 times"):
        with_hashes("a==1 \\\n    --hash=sha256:11\n", report)


def test_every_licence_is_permissive_or_an_exception_with_a_reason() -> None:
    found = {one.name: one.licence for one in runtime_packages()}
    assert len(found) > 100
    assert {
        name: licence for name, licence in found.items() if words_of(licence) - PERMISSIVE
    }.keys() == EXCEPTIONS.keys()


def test_every_installed_package_is_on_the_page_of_licences() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    assert set(licences_page().splitlines()) - set(page.splitlines()) == set(), "run `make licences`"
