"""Containers by Docker or podman, whichever runs here.

Docker is used with its Compose. Podman has a store of images of its own below the
repository, since images made here have the names of official ones, and needs
`podman-compose` on PATH. What the programs print is in the engine's log.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

BUILD_S: Final = 3600.0
COMMAND_S: Final = 300.0  # on a busy machine
NEEDED = "needs Docker with Compose, or: apt-get install podman buildah runc netavark aardvark-dns iptables catatonit"
_PROJECT_LABEL, _SERVICE_LABEL = (
    "com.docker.compose.project",
    "com.docker.compose.service",
)
# runc starts also where cgroups are of both versions; limits above those of this
# process cannot be set
_PODMAN = """[engine]
runtime = "runc"
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
"""
_STORE = """[storage]
driver = "overlay"
graphroot = "{folder}/images"
runroot = "{folder}/run"
"""


class Engine:
    """The program that runs containers, and its Compose."""

    def __init__(self, folder: Path) -> None:
        """Choose the program; `folder` is where podman keeps images, and has the log.

        Raises:
            RuntimeError: There is none.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        self.is_podman = not _has_docker()
        self.env = dict(os.environ)
        self._compose: tuple[str, ...] = ("docker", "compose")
        if self.is_podman:
            compose = shutil.which("podman-compose")
            if compose is None or shutil.which("podman") is None:
                raise RuntimeError(NEEDED)
            self._compose = (compose,)
            self.env |= _podman_settings(folder)

    @property
    def name(self) -> str:
        """The program with its version."""
        return self.run("--version").stdout.strip()

    def run(
        self, *arguments: str, limit_s: float = COMMAND_S, is_checked: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of docker or podman and return what it printed.

        Raises:
            RuntimeError: It failed and `is_checked`, or took too long.
        """
        return self._run(
            ["podman" if self.is_podman else "docker", *arguments],
            {},
            limit_s,
            is_checked,
        )

    def compose(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        limit_s: float = COMMAND_S,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of Compose with these variables. Raises RuntimeError as `run`
        does.
        """
        return self._run([*self._compose, *arguments], env, limit_s, True)

    def _run(
        self,
        command: list[str],
        env: Mapping[str, str],
        limit_s: float,
        is_checked: bool,
    ) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                command,
                env={**self.env, **env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(
                f"{' '.join(command)}: not after {limit_s:.0f} s"
            ) from error
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}\n")
        if is_checked and done.returncode:
            raise RuntimeError(
                f"{' '.join(command)}: {(done.stderr or done.stdout)[-2000:]}; see {self.log}"
            )
        return done

    def has_image(self, name: str) -> bool:
        """Return whether the image is here."""
        return self.run("image", "inspect", name, is_checked=False).returncode == 0

    def size_of(self, image: str) -> int:
        """Return the bytes that the image takes on the disk."""
        return int(self.run("image", "inspect", "--format", "{{.Size}}", image).stdout)

    def containers(self, project: str, service: str = "") -> list[str]:
        """Return the names of a project's containers that run, of one service or all."""
        return sorted(self._of(project, service, "ps", "--format", "{{.Names}}"))

    def all_of(self, project: str) -> list[str]:
        """Return the names of a project's containers, volumes and networks."""
        kinds = (
            ("ps", "--all", "--format", "{{.Names}}"),
            ("volume", "ls", "--format", "{{.Name}}"),
            ("network", "ls", "--format", "{{.Name}}"),
        )
        return [name for kind in kinds for name in self._of(project, "", *kind)]

    def _of(self, project: str, service: str, *command: str) -> list[str]:
        labels = [
            f"{_PROJECT_LABEL}={project}",
            *([f"{_SERVICE_LABEL}={service}"] if service else []),
        ]
        filters = [word for label in labels for word in ("--filter", f"label={label}")]
        return self.run(*command, *filters).stdout.split()

    def is_healthy(self, container: str) -> bool:
        """Return whether the container's health check passes; podman runs it now,
        Docker by itself.
        """
        if self.is_podman:
            return (
                self.run("healthcheck", "run", container, is_checked=False).returncode
                == 0
            )
        state = self.run("inspect", "--format", "{{json .State}}", container).stdout
        return bool(json.loads(state)["Health"]["Status"] == "healthy")

    def user_of(self, container: str) -> int:
        """Return the id of the user that the container's processes have."""
        return int(self.run("exec", container, "id", "-u").stdout)


def _has_docker() -> bool:
    commands = (["docker", "info"], ["docker", "compose", "version"])
    return shutil.which("docker") is not None and all(
        subprocess.run(command, capture_output=True, check=False).returncode == 0
        for command in commands
    )


def _podman_settings(folder: Path) -> dict[str, str]:
    """Write podman's settings and return the variables that name them."""
    files = {
        "CONTAINERS_CONF": ("containers.conf", _PODMAN),
        "CONTAINERS_STORAGE_CONF": ("storage.conf", _STORE),
    }
    for name, text in files.values():
        (folder / name).write_text(
            text.format(folder=folder) if name == "storage.conf" else text
        )
    has_systemd = Path("/run/systemd/system").is_dir()
    return {
        **{variable: str(folder / name) for variable, (name, _) in files.items()},
        # else it asks systemd for a timer of each check
        **({} if has_systemd else {"DISABLE_HC_SYSTEMD": "true"}),
    }
