import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.web.addresses import AddressPolicy, is_public


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
    "address", ["8.8.8.8", "161.148.164.31", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
)
def test_an_internet_address_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_an_address_wrapped_in_ipv6_is_judged_like_itself(address: ipaddress.IPv4Address) -> None:
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        wrapped = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(address))
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
def test_a_private_host_is_allowed_by_name_or_block(allowed: tuple[str, ...], is_allowed: bool) -> None:
    assert AddressPolicy(allowed).is_allowed("localhost", "127.0.0.1") is is_allowed


def test_a_block_also_allows_the_mapped_address() -> None:
    assert AddressPolicy(("127.0.0.0/8",)).is_allowed("x", "::ffff:127.0.0.1")
