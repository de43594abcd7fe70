"""The pinned packages: each has hashes for a release install, and a licence that the
project may be used with.
"""

import json
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from news_assets.errors import LakeError
from news_assets.store.connection import load_extension
from news_assets.store.lake import Lake
from news_assets_tests.licences_page import (
    EXCEPTIONS,
    PERMISSIVE,
    ROOT,
    licences_page,
    pins,
    runtime_packages,
    words_of,
)
from news_assets_tests.requirements_files import names_of_files, split, with_hashes

FILES = {
    name: (ROOT / name).read_text()
    for name in ("requirements.txt", "requirements-models.txt", "requirements-dev.txt")
}


def hashes(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the hashes of a requirements file by name and version."""
    blocks = re.findall(
        r"^([\w.-]+)==(\S+) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        text,
        re.MULTILINE,
    )
    return {
        (name, version): re.findall(r"sha256:(\w+)", lines)
        for name, version, lines in blocks
    }


def test_every_pinned_package_is_in_one_file_with_hashes_and_no_other_package() -> None:
    found = [package for text in FILES.values() for package in hashes(text)]
    assert sorted(found) == sorted(pins().items()), "run `make hashes`"
    assert all(values for text in FILES.values() for values in hashes(text).values())


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-models.txt"])
def test_a_file_has_what_its_extras_need(file: str) -> None:
    assert {name for name, _ in hashes(FILES[file])} == names_of_files()[
        file
    ] & pins().keys(), "run `make hashes`"


@pytest.mark.parametrize(
    "name", ["ducklake", "sqlite_scanner", "postgres_scanner", "httpfs"]
)
def test_an_extension_of_duckdb_has_its_signature(name: str) -> None:
    with duckdb.connect(config={"allow_unsigned_extensions": False}) as connection:
        load_extension(connection, name)
        loaded = connection.execute(
            "SELECT extension_name FROM duckdb_extensions() WHERE loaded"
        ).fetchall()
    assert (name,) in loaded


def test_a_lake_loads_no_extension_without_a_signature_later(
    tmp_path: Path, lake: Lake
) -> None:
    [package] = find_spec("duckdb_extension_httpfs").submodule_search_locations  # type: ignore[union-attr, misc]
    [signed] = Path(package).rglob("httpfs.*extension")
    unsigned = tmp_path / signed.name
    code = bytearray(signed.read_bytes())
    code[1000] ^= 1
    unsigned.write_bytes(code)
    with pytest.raises(LakeError, match="signature"):
        lake.query(f"LOAD '{unsigned}'")
    with pytest.raises(LakeError, match="allow_unsigned_extensions"):
        lake.query("SET GLOBAL allow_unsigned_extensions = true")


def test_only_the_file_for_exports_has_pytorch() -> None:
    assert [file for file, text in FILES.items() if "torch==" in text] == [
        "requirements-models.txt"
    ]


def test_packages_of_no_extra_are_those_of_the_tests() -> None:
    text = "a==1 \\\n    --hash=sha256:11\nB_x==1 \\\n    --hash=sha256:22 \\\n    --hash=sha256:33\n"
    first, second = text[: text.index("B_x")], text[text.index("B_x") :]
    assert split(text, {"one.txt": {"b-x"}}) == {
        "one.txt": second,
        "requirements-dev.txt": first,
    }


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_hashes_has_names_versions_and_hashes_only(file: str) -> None:
    lines = FILES[file].splitlines()
    assert [
        line
        for line in lines
        if not re.fullmatch(
            r"[\w.-]+==\S+ \\| +--hash=sha256:[0-9a-f]{64}(?: \\)?", line
        )
    ] == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *(one for extra in extras for one in extra)]
    named = {str(canonicalize_name(Requirement(one).name)) for one in required}
    assert named - pins().keys() == set()


def test_the_hash_of_a_file_from_elsewhere_is_added_once() -> None:
    package = {
        "metadata": {"name": "b"},
        "download_info": {"archive_info": {"hashes": {"sha256": "22"}}},
    }
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
        name: licence
        for name, licence in found.items()
        if words_of(licence) - PERMISSIVE
    }.keys() == EXCEPTIONS.keys()


def test_every_installed_package_is_on_the_page_of_licences() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    assert set(licences_page().splitlines()) - set(page.splitlines()) == set(), (
        "run `make licences`"
    )
