"""Makes a process refuse other machines: `sitecustomize` imports this module in the
processes of a profile.

Hostile documents name hosts of the internet. Here no name is resolved and no other
address is connected to.
"""

import ipaddress
import socket
from typing import Any

_LOCAL_NAMES = (None, "", "localhost", socket.gethostname())
_resolve, _connect = socket.getaddrinfo, socket.socket.connect


def _is_here(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    try:
        return (
            name in _LOCAL_NAMES
            or ipaddress.ip_address(str(name).split("%")[0]).is_loopback
        )
    except ValueError:
        return False


def _is_address(host: Any) -> bool:
    try:
        return bool(ipaddress.ip_address(str(host).split("%")[0]))
    except ValueError:
        return False


def _resolve_here(host: Any, *arguments: Any, **options: Any) -> Any:
    if not (_is_here(host) or _is_address(host)):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return _resolve(host, *arguments, **options)


def _connect_here(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
        raise OSError(f"connects to {address[0]}")
    _connect(self, address)


socket.getaddrinfo = _resolve_here
socket.socket.connect = _connect_here  # type: ignore[method-assign]
