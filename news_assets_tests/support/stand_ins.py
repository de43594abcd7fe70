"""Images in the place of the official ones that Compose names, where no registry can be
reached.

The base is made by debootstrap from Debian's packages, the others from
`news_assets_tests/stand_ins/`. They have the names of the official images, so they
belong into a store of their own, see `containers.py`.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from news_assets_tests.support.containers import BUILD_S, Engine

FOLDER = Path(__file__).parents[1] / "stand_ins"
BASE = "docker.io/library/debian:bookworm-slim"
NAMES = {
    "python:3.11-slim": "python",
    "postgres:17": "postgres",
    "rabbitmq:3.13": "rabbitmq",
}
PULL_S = 120
# pip in the image has to trust what pip here trusts
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# As in the official image: neither packages nor indexes nor manuals are kept
_APT = """DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""
_MANUALS = ("usr/share/doc", "usr/share/locale", "usr/share/man")


def provide(engine: Engine, image: str) -> str:
    """Make an image available and return how: it was there, was pulled, or was made
    here.

    Raises:
        RuntimeError: It can neither be pulled nor made.
    """
    name = f"docker.io/library/{image}"
    if engine.has_image(name):
        return "present"
    if (
        engine.run("pull", "--quiet", name, limit_s=PULL_S, is_checked=False).returncode
        == 0
    ):
        return "pulled"
    if (
        image not in NAMES
        or not engine.is_podman
        or shutil.which("debootstrap") is None
    ):
        raise RuntimeError(
            f"{image} cannot be pulled; to make it here: apt-get install podman buildah debootstrap"
        )
    _make_base(engine)
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        shutil.copytree(FOLDER, context, dirs_exist_ok=True)
        shutil.copy(_CERTIFICATES, context)
        file = context / f"{NAMES[image]}.Dockerfile"
        engine.run(
            "build", "--file", str(file), "--tag", name, str(context), limit_s=BUILD_S
        )
    return "made from Debian's packages"


def _make_base(engine: Engine) -> None:
    if engine.has_image(BASE):
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        _run(["debootstrap", "--variant=minbase", "bookworm", str(root), *_mirror()])
        (root / "etc/apt/apt.conf.d/90-clean").write_text(_APT)
        (root / "etc/dpkg/dpkg.cfg.d/90-slim").write_text(
            "".join(f"path-exclude /{name}/*\n" for name in _MANUALS)
        )
        for name in ("var/cache/apt", "var/lib/apt/lists", *_MANUALS):
            shutil.rmtree(root / name)
            (root / name).mkdir()
        archive = Path(folder) / "root.tar"
        _run(["tar", "--create", "--directory", str(root), "--file", str(archive), "."])
        engine.run("import", str(archive), BASE, limit_s=BUILD_S)


def _mirror() -> list[str]:
    """Return the address that this machine's apt has packages of Debian from, if it
    says so.
    """
    command = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Codename: bookworm",
    ]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False
    ).stdout.split()
    return found[:1]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout)[-2000:]}")
