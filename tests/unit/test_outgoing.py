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
]


@pytest.mark.parametrize("text", PRIVATE)
def test_addresses_that_are_not_public_are_refused(text):
    assert not is_allowed(ipaddress.ip_address(text), [])


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_allowed(text):
    assert is_allowed(ipaddress.ip_address(text), [])


def test_an_operator_can_allow_a_network_and_nothing_beside_it():
    allowed = [ipaddress.ip_network("10.1.0.0/16")]

    assert is_allowed(ipaddress.ip_address("10.1.2.3"), allowed)
    assert is_allowed(ipaddress.ip_address("::ffff:10.1.2.3"), allowed)
    assert not is_allowed(ipaddress.ip_address("10.2.2.3"), allowed)


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
    answers = [(0, 0, 0, "", (one, 80)) for one in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: answers)

    with pytest.raises(InvalidRequest, match="our own networks"):
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
