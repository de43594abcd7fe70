"""Connections to private hosts, and proxies of the environment."""

import ipaddress
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.web.transport import BAD_PORTS, AddressPolicy, is_public
from news_assets.errors import ForbiddenAddressError
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    Site,
    answer,
    failure_of,
    request,
)


@pytest.mark.parametrize("allowed", [("127.0.0.1",), ("127.0.0.0/8",), ("localhost",)])
def test_a_private_host_is_fetched_if_it_is_allowed(
    site: Site, open_fetcher: OpenFetcher, allowed: tuple[str, ...]
) -> None:
    url = site.put("/a", answer(b"in")).replace("127.0.0.1", "localhost")
    assert open_fetcher(allow_private_hosts=allowed).fetch(request(url)).body == b"in"


def test_a_private_host_that_is_not_allowed_gets_no_request(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    url = site.put("/a", answer(b"in")).replace("127.0.0.1", "localhost")
    with pytest.raises(ForbiddenAddressError):
        open_fetcher(allow_private_hosts=("127.0.1.0/24", "other")).fetch(request(url))
    assert site.requests == []


def test_proxies_of_the_environment_are_not_used(
    site: Site, open_fetcher: OpenFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert open_fetcher().fetch(request(site.put("/a", answer(b"in")))).body == b"in"


_CORPUS = Path(__file__).parents[4] / "shared/corpus/hostile/dev/ssrf_urls.jsonl"


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.192",
        "192.168.1.1",
        "198.18.0.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_an_internal_address_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "161.148.164.31",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::",
    ],
)
def test_an_internet_address_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_an_address_wrapped_in_ipv6_is_judged_like_itself(
    address: ipaddress.IPv4Address,
) -> None:
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        wrapped = ipaddress.IPv6Address(
            int(ipaddress.IPv6Address(prefix)) | int(address)
        )
        assert is_public(wrapped) == is_public(address)


@pytest.mark.parametrize(
    ("allowed", "is_allowed"),
    [
        ((), False),
        (("localhost",), True),
        (("LOCALHOST.",), True),
        (("127.0.0.1",), True),
        (("127.0.0.0/8",), True),
        (("::1", "10.0.0.0/8", "local"), False),
    ],
)
def test_a_private_host_is_allowed_by_name_or_block(
    allowed: tuple[str, ...], is_allowed: bool
) -> None:
    assert AddressPolicy(allowed).is_allowed("localhost", "127.0.0.1") is is_allowed


def test_a_block_also_allows_the_mapped_address() -> None:
    assert AddressPolicy(("127.0.0.0/8",)).is_allowed("x", "::ffff:127.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0/",
        "http://127.0.0.1./",
        "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",  # digits in circles
        "http://127\u30020\u30020\u30021/",  # ideographic full stops
        "http://public.example@127.0.0.1/",
        "http://127.0.0.1#@public.example/",
        "http://[::]/",
        "http://[::ffff:7f00:1]/",
        "http://[::ffff:0:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:7f00:1::]/",
        "http://[fe80::1%25lo]/",
        "http://[fd00:ec2::254]/",
        "http://169.254.169.254/",
        "http://metadata.localhost:22/",
    ],
)
def test_no_spelling_of_an_internal_address_is_fetched(
    open_fetcher: OpenFetcher, url: str
) -> None:
    error = failure_of(open_fetcher(allow_private_hosts=()), request(url))
    assert error.reason.startswith(
        ("refused: ", "host not found: ", "not a valid address: ")
    ), error.reason


def _numeric_addresses(url: str) -> Iterator[tuple[str, str]]:
    """Yield a URL's host with its addresses; none for a name, which is not resolved
    here.
    """
    try:
        host = httpx.URL(url).host
        for *_, address in socket.getaddrinfo(
            host, 80, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        ):
            yield host, str(address[0])
    except (httpx.InvalidURL, OSError, UnicodeError):
        return


@pytest.mark.skipif(
    not _CORPUS.exists(), reason="the corpus is not part of the project"
)
def test_the_numeric_addresses_of_the_corpus_are_judged_as_expected() -> None:
    cases = [json.loads(line) for line in _CORPUS.read_text().splitlines()]
    judged = [
        (case["url"], AddressPolicy().is_allowed(*found), case["expect"] == "allow")
        for case in cases
        if case["url"].startswith("http")
        for found in _numeric_addresses(case["url"])
    ]
    assert len(judged) > 20
    assert [url for url, is_allowed, expected in judged if is_allowed != expected] == []


def test_ports_of_the_web_are_not_refused() -> None:
    assert BAD_PORTS.isdisjoint(
        {
            80,
            81,
            443,
            591,
            3000,
            4443,
            5000,
            8000,
            8008,
            8080,
            8081,
            8088,
            8443,
            8888,
            9000,
            9443,
        }
    )
    assert max(BAD_PORTS) < 32_768, (
        "the system gives higher ports to clients, and to servers of tests"
    )


@pytest.mark.parametrize("port", [22, 25, 6379, 27017])
def test_ports_of_other_protocols_are_refused_for_private_hosts_too(
    open_fetcher: OpenFetcher, port: int
) -> None:
    error = failure_of(open_fetcher(), request(f"http://127.0.0.1:{port}/"))
    assert (
        error.reason == f"refused: port {port} of 127.0.0.1 belongs to another protocol"
    )
