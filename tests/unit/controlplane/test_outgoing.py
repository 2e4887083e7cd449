"""Which addresses a user's URL may lead to."""

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.outgoing import check_target, is_allowed

PRIVATE = [
    "127.0.0.1",
    "127.9.9.9",
    "10.0.0.1",
    "172.16.5.4",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "168.63.129.16",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "2002:7f00:1::",
    "64:ff9b::7f00:1",
    "2001:db8::1",
    # What hides an IPv4 address, public or not.
    "::10.0.0.1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:0:127.0.0.1",
    "::ffff:0:8.8.8.8",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1:808:8:800::",
    "64:ff9b:1:ffff::1",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:101::",
    "2002:6440:1::",
    "2001:0:53aa:64c:0:fbff:80ff:fffe",
    "2001::1",
    "2607:f8b0::5efe:10.0.0.1",
    "2607:f8b0::200:5efe:169.254.169.254",
    # Site-local, deprecated, and still routed inside some sites.
    "fec0::1",
    "feff:ffff::1",
    "fe80::5efe:10.0.0.1",
    "100::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "0.1.2.3",
    "100.127.255.255",
    "192.0.0.8",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "239.255.255.255",
    "240.0.0.1",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_addresses_that_are_not_public_are_refused(text):
    assert not is_allowed(ipaddress.ip_address(text), [])


PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_allowed(text):
    assert is_allowed(ipaddress.ip_address(text), [])


def test_an_operator_can_allow_a_network_and_nothing_beside_it():
    allowed = [ipaddress.ip_network("10.1.0.0/16")]

    assert is_allowed(ipaddress.ip_address("10.1.2.3"), allowed)
    assert is_allowed(ipaddress.ip_address("::ffff:10.1.2.3"), allowed)
    assert not is_allowed(ipaddress.ip_address("10.2.2.3"), allowed)


def test_an_operator_can_allow_a_local_nat64_prefix():
    allowed = [ipaddress.ip_network("64:ff9b:1:2::/96")]

    assert is_allowed(ipaddress.ip_address("64:ff9b:1:2::808:808"), allowed)
    assert not is_allowed(ipaddress.ip_address("64:ff9b:1:3::808:808"), allowed)


@given(st.ip_addresses(v=4))
@pytest.mark.parametrize("prefix", ["::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::", "fec0::"])
def test_no_form_of_a_private_address_is_allowed(prefix, address):
    form = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) + int(address))

    assert not is_allowed(form, []) or is_allowed(address, [])
    if prefix in ("::", "::ffff:0:0:0", "64:ff9b:1::", "fec0::"):
        assert not is_allowed(form, [])


@given(st.ip_addresses(v=4))
def test_an_address_and_its_mapped_form_are_judged_alike(address):
    mapped = ipaddress.IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)

    assert is_allowed(mapped, []) == is_allowed(address, [])


@given(st.ip_addresses())
def test_whatever_python_calls_private_is_refused(address):
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not is_allowed(address, [])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com",
        "file:///etc/passwd",
        "gopher://x",
        "http://",
        "//example.com",
        "example.com",
        "http://user:secret@8.8.8.8/",
        "http://8.8.8.8/a b",
        "http://8.8.8.8/\r\nX: y",
        "http://8.8.8.8:99999/",
        "http://[::1",
        "http://127.0.0.1/",
        "http://localhost/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_a_url_that_leads_somewhere_else_is_refused(url):
    with pytest.raises((InvalidRequest, RemoteFailed)):
        check_target(url, [])


def test_a_name_with_one_private_address_is_refused_whole(monkeypatch):
    """Else it would be a matter of luck which one is asked."""
    answers = [(0, 0, 0, "", (name, 80)) for name in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: answers)

    with pytest.raises(InvalidRequest, match="to a private address"):
        check_target("http://example.com/", [])


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **o: [(0, 0, 0, "", ("8.8.8.8", 443))])

    target = check_target("https://example.com/x?y=1", [])

    assert (target.address, target.host, target.port, target.path) == (
        "8.8.8.8",
        "example.com",
        443,
        "/x?y=1",
    )
