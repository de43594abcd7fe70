"""Machines with networks of their own, on this one: each is a network namespace with a
link to a bridge, which has the address SERVERS here.

    with machines_of_their_own("second", "third") as networks:
        subprocess.Popen([*networks["second"].enter, "celery", "worker"])
        with networks["second"].cut():
            ...

In a namespace, 127.0.0.1 is that machine alone, and the name `servers`, also with names
in front of it, leads to SERVERS. Requires root and Debian's iproute2.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

SERVERS = "10.213.0.1"
_BRIDGE = "news-bridge"
_LOCK = Path(tempfile.gettempdir()) / "news-networks.lock"
_FILES = Path("/etc/netns")  # `ip netns exec` shows what is in it as files of /etc


def has_networks() -> bool:
    """Return whether this process may make network namespaces."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


@dataclass(frozen=True)
class Network:
    """The network of one machine; its namespace and its link have the same name."""

    name: str

    @property
    def enter(self) -> tuple[str, ...]:
        """What stands before a command that is to run there; its process id stays."""
        return ("ip", "netns", "exec", self.name)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Cut the link; what is sent meanwhile is lost without an error."""
        _ip("link", "set", self.name, "down")
        try:
            yield
        finally:
            _ip("link", "set", self.name, "up")

    def add(self, address: str, aliases: Sequence[str]) -> None:
        """Make the namespace, with this address, and its link to the bridge."""
        hosts = _FILES / self.name / "hosts"
        hosts.parent.mkdir(parents=True, exist_ok=True)
        hosts.write_text(f"127.0.0.1 localhost\n{SERVERS} {' '.join(aliases)}\n")
        _ip("netns", "add", self.name)
        here, there = ("name", self.name), ("name", "eth0", "netns", self.name)
        _ip("link", "add", *here, "type", "veth", "peer", *there)
        _ip("link", "set", self.name, "master", _BRIDGE, "up")
        _ip("-n", self.name, "address", "add", f"{address}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            _ip("-n", self.name, "link", "set", link, "up")

    def remove(self) -> None:
        """Remove what `add` made, or a part of it."""
        _ip("link", "delete", self.name, is_there=False)
        _ip("netns", "delete", self.name, is_there=False)
        shutil.rmtree(_FILES / self.name, ignore_errors=True)


@contextmanager
def machines_of_their_own(
    *names: str, buckets: Sequence[str] = ()
) -> Iterator[dict[str, Network]]:
    """Make the networks and remove them at the end, as well as those that a killed
    process left; wait for another process that has some. `buckets` are names that stand
    before `servers` in addresses.
    """
    networks = {name: Network(f"news-{name}") for name in names}
    aliases = ["servers", *(f"{bucket}.servers" for bucket in buckets)]
    with ExitStack() as stack:
        stack.enter_context(FileLock(_LOCK))
        for network in networks.values():
            network.remove()
            stack.callback(network.remove)
        _ip("link", "delete", _BRIDGE, is_there=False)
        stack.callback(_ip, "link", "delete", _BRIDGE, is_there=False)
        _ip("link", "add", _BRIDGE, "type", "bridge")
        _ip("address", "add", f"{SERVERS}/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        for number, network in enumerate(networks.values(), 2):
            network.add(SERVERS.removesuffix("1") + str(number), aliases)
        yield networks


def _ip(*options: str, is_there: bool = True) -> None:
    """Run `ip`; where what it names may not be there, ignore its error."""
    subprocess.run(["ip", *options], check=is_there, capture_output=not is_there)
