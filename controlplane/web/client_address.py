"""The address of the client that sent a request, also behind trusted proxies.

Anybody can write `X-Forwarded-For`. Only the part that trusted proxies appended counts: it is read from the
right, and reading stops at the first address that is not a trusted proxy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# An IPv6 subscriber has at least a /64, and can send from each of its addresses.
_IPV6_PREFIX = 64


def client_address(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """Return the client's address as text; `peer` as it is where it is no IP address."""
    client = parse_address(peer)
    if client is None:
        return peer
    for text in reversed(forwarded_for.split(",")):
        if not any(client in network for network in trusted):
            break
        earlier = parse_address(text)
        if earlier is None:
            break
        client = earlier
    return str(client)


# The same few clients send many requests.
@lru_cache(maxsize=4096)
def parse_address(text: str) -> Address | None:
    """Return an IP address written alone, in brackets or with a port; None for anything else."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def source_of(address: str) -> str:
    """Return the address range of one client: an IPv4 address, or the /64 network of an IPv6 address."""
    parsed = parse_address(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, _IPV6_PREFIX), strict=False))
    return str(parsed) if parsed else address


def address_of(request: HttpRequest) -> str:
    """Return the address of the client, by the setting TRUSTED_PROXIES."""
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return client_address(request.META.get("REMOTE_ADDR", ""), forwarded_for, settings.TRUSTED_PROXIES)
