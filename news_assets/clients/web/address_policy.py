"""Which network addresses and ports may be connected to: public ones, and those that
the settings allow.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

# RFC 6052: the last four bytes are the IPv4 address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# RFC 6761, 6762, 8375; ICANN 2024
_LOCAL_NAMES = re.compile(r"(?:.*\.)?(?:localhost|local|internal|home\.arpa)")
# RFC 4291: all that IANA assigns to hosts
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

# Blocks that `is_global` accepts on some or all versions of Python.
_ALSO_REFUSED_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            # Azure's metadata and DNS, a public address that is reachable only from
            # inside
            "168.63.129.16/32",
            "192.0.0.0/24",  # RFC 6890; Oracle's metadata is 192.0.0.192
            "192.88.99.0/24",  # RFC 7526: former 6to4 relays
        ),
    )
)
_ALSO_REFUSED_V6 = (ipaddress.IPv6Network("3fff::/20"),)  # RFC 9637: documentation

# "Bad ports" of WHATWG Fetch, https://fetch.spec.whatwg.org/#port-blocking: browsers
# refuse them too.
_OF_BROWSERS = """
    1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95
    101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 179
    389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995
    1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
# Servers that obey or store what a request of plain text contains, or answer it with
# data; IANA's service names.
_OF_SERVERS = {
    445: "SMB",
    873: "rsync",
    1433: "SQL Server",
    1521: "Oracle",
    2181: "ZooKeeper",
    2375: "Docker",
    2376: "Docker",
    2379: "etcd",
    2380: "etcd",
    3306: "MySQL",
    3389: "RDP",
    4369: "epmd",
    5432: "PostgreSQL",
    5672: "AMQP",
    5900: "VNC",
    5984: "CouchDB",
    6379: "Redis",
    6443: "Kubernetes",
    8086: "InfluxDB",
    8108: "Typesense",
    9042: "Cassandra",
    9092: "Kafka",
    9200: "Elasticsearch",
    9300: "Elasticsearch",
    10250: "Kubernetes",
    11211: "memcached",
    25672: "RabbitMQ",
    27017: "MongoDB",
}
BAD_PORTS = frozenset(map(int, _OF_BROWSERS.split())) | frozenset(_OF_SERVERS)


class AddressPolicy:
    """Allows public addresses, and those that `allowed` names as hosts or CIDR blocks."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._blocks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for text in allowed:
            try:
                self._blocks.append(
                    ipaddress.ip_network(text.strip("[]"), strict=False)
                )
            except ValueError:
                self._hosts.add(_normalised(text))

    def is_allowed(self, host: str, address: str) -> bool:
        """Return whether `address`, which `host` resolved to, may be connected to."""
        ip = _embedded(ipaddress.ip_address(address))
        return (
            is_public(ip)
            or _normalised(host) in self._hosts
            or any(ip in block for block in self._blocks)
        )

    def is_allowed_unresolved(self, host: str) -> bool:
        """Return whether a host may be requested through a proxy, which resolves it.

        Private addresses and names of local networks may not; what a public name
        resolves to, the proxy checks.
        """
        literal = _literal_of(host)
        if literal is not None:
            return self.is_allowed(host, literal)
        name = _normalised(host)
        return name in self._hosts or ("." in name and not _LOCAL_NAMES.fullmatch(name))


def _literal_of(host: str) -> str | None:
    """Return the address that a host is written as, also as `127.1` or `2130706433`;
    None for a name.
    """
    try:
        return str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    except (OSError, UnicodeError):
        return None


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is on the public internet.

    False for private, loopback, link-local, shared, multicast, reserved, documentation
    and cloud metadata addresses, also if wrapped in IPv6 (mapped, NAT64, 6to4; Teredo
    is refused as a whole).
    """
    ip = _embedded(address)
    if not ip.is_global or ip.is_multicast or ip.is_reserved:
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in block for block in _ALSO_REFUSED_V4)
    return ip in _GLOBAL_UNICAST and not any(ip in block for block in _ALSO_REFUSED_V6)


def _embedded(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address wraps, else the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _normalised(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()
