"""Outgoing requests to URLs that users supply, with protection against SSRF.

The host is resolved once, all its addresses are checked, and the connection uses a checked address, so that
DNS rebinding has no effect. Redirects are not followed.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from controlplane.errors import FieldError, InvalidRequest, RemoteFailed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
            # Shared address space of providers (RFC 6598).
            "100.64.0.0/10",
            # Protocol assignments, 6to4 relays, benchmarks, documentation.
            *("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
            *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
            # Multicast; reserved, including broadcast.
            *("224.0.0.0/4", "240.0.0.0/4"),
            # Azure's machine agent, at a public address that is internal to Azure.
            "168.63.129.16/32",
            # Protocol assignments, with Teredo; documentation.
            *("2001::/23", "2001:db8::/32", "3fff::/20"),
        ),
    )
)
# All addresses assigned to hosts. Outside are loopback, local and site-local addresses (fec0::/10),
# multicast, and forms that embed an IPv4 address: ::a.b.c.d, ::ffff:0:a.b.c.d, local NAT64 (64:ff9b:1::/48).
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Start of the interface id of addresses that tunnel IPv4 within a site (RFC 5214), for both values of one
# bit.
_ISATAP = (0x00005EFE, 0x02005EFE)
EVERYWHERE = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
_SECONDS = 10.0
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """The checked target of a request. address: the checked address of the host."""

    scheme: str
    host: str
    port: int
    path: str
    address: str


@dataclass(frozen=True, slots=True)
class _Limits:
    """max_bytes: of the response. seconds: for each step."""

    max_bytes: int
    seconds: float


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    """True for public addresses, and for those that the operator allows. Pure."""
    if _is_in(address, allowed):
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return not _is_in(address, _NOT_PUBLIC)
    inner = _embedded(address)
    if inner is not None and not is_allowed(inner, allowed):
        return False
    if address.ipv4_mapped or address in _NAT64:
        return True
    return address in _GLOBAL_UNICAST and not _is_in(address, _NOT_PUBLIC)


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the embedded IPv4 address, to which a gateway or the kernel would send."""
    last = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64 or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return last
    return address.ipv4_mapped or address.sixtofour


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def check_target(url: str, allowed: Sequence[Network]) -> Target:
    """Return the target of a URL. Raises InvalidRequest if it is not allowed, RemoteFailed if unknown."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError as error:
        raise _rejection(f"The URL is malformed: {error}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _rejection("The URL must begin with https:// or http:// and contain a host.")
    if parts.username or parts.password:
        raise _rejection("The URL must not contain a user name or password. Send a token instead.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if any(ord(character) <= 32 or ord(character) > 126 for character in path + parts.hostname):
        raise _rejection("The URL must be ASCII without spaces.")
    if is_demo_receiver(url):
        return Target(parts.scheme, parts.hostname, port, path, parts.hostname)
    addresses = resolve(parts.hostname, port)
    if not all(is_allowed(ipaddress.ip_address(address), allowed) for address in addresses):
        raise _rejection(
            f"{parts.hostname} resolves to a private address, to which the server sends no requests."
            " The operator can allow it with OUTGOING_ALLOWED_NETWORKS."
        )
    return Target(parts.scheme, parts.hostname, port, path, addresses[0])


def is_demo_receiver(url: str) -> bool:
    """True for the demo's receiver of webhooks: one address and port that `make up` gives to its demo."""
    return bool(settings.DEMO_RECEIVER) and url.startswith(f"http://{settings.DEMO_RECEIVER}/")


def fetch(
    url: str,
    *,
    headers: Mapping[str, str],
    max_bytes: int = _MAX_BYTES,
    seconds: float = _SECONDS,
    any_address: bool = False,
) -> bytes:
    """GET the URL and return the body. Raises InvalidRequest, RemoteFailed, neither with any header.

    any_address: the operator configured the host, so it may have a private address. seconds: for each step.
    """
    target = check_target(url, EVERYWHERE if any_address else allowed_networks())
    status, body = _exchange(target, "GET", None, headers, _Limits(max_bytes, seconds))
    if status != http.client.OK:
        message = f"{target.host} responded with {status} for {target.path[:200]}."
        raise RemoteFailed(message, status_there=status)
    return body


def post(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    max_bytes: int = _MAX_BYTES,
    seconds: float = _SECONDS,
    any_address: bool = False,
) -> tuple[int, bytes]:
    """POST to the URL and return status and body. Raises InvalidRequest, RemoteFailed, as `fetch` does."""
    target = check_target(url, EVERYWHERE if any_address else allowed_networks())
    return _exchange(target, "POST", body, headers, _Limits(max_bytes, seconds))


def _exchange(
    target: Target, method: str, body: bytes | None, headers: Mapping[str, str], limits: _Limits
) -> tuple[int, bytes]:
    connection = pinned_connection(target, limits.seconds)
    until = time.monotonic() + 3 * limits.seconds
    try:
        connection.request(method, target.path, body, {**headers, "Host": host_header(target)})
        response = connection.getresponse()
        return response.status, _read(response, until, limits.max_bytes)
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise RemoteFailed(f"{target.host} did not send a valid HTTP response: {reason}.") from error
    finally:
        connection.close()


def allowed_networks() -> list[Network]:
    return [ipaddress.ip_network(network, strict=False) for network in settings.OUTGOING_ALLOWED_NETWORKS]


class _Pinned(http.client.HTTPConnection):
    """Connects to the checked address, without resolving the name again."""

    target: Target
    tls: ssl.SSLContext | None

    def connect(self) -> None:
        self.sock = socket.create_connection((self.target.address, self.target.port), self.timeout)
        if self.target.scheme == "https":
            tls = self.tls or ssl.create_default_context()
            self.sock = tls.wrap_socket(self.sock, server_hostname=self.target.host)


def pinned_connection(
    target: Target, seconds: float, tls: ssl.SSLContext | None = None
) -> http.client.HTTPConnection:
    """Return a connection to the checked address. seconds: for each step."""
    connection = _Pinned(target.host, target.port, timeout=seconds)
    connection.target, connection.tls = target, tls
    return connection


def host_header(target: Target) -> str:
    """Return the host as the header `Host` names it."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port in (80, 443) else f"{host}:{target.port}"


def _read(response: http.client.HTTPResponse, until: float, max_bytes: int) -> bytes:
    """Return the whole body. Raises OSError if it is too large or takes too long."""
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read1(64 * 1024):
        size += len(chunk)
        if size > max_bytes:
            raise OSError(f"the response has more than {max_bytes} bytes")
        if time.monotonic() > until:
            raise OSError("the response took too long")
        chunks.append(chunk)
    return b"".join(chunks)


def resolve(host: str, port: int) -> list[str]:
    """Return all addresses of a host. Raises RemoteFailed."""
    try:
        entries: Sequence[Any] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RemoteFailed(f"The host name {host[:200]} cannot be resolved. Check its spelling.") from error
    # Only link-local addresses have a zone (`%eth0`).
    return [str(entry[4][0]).partition("%")[0] for entry in entries]


def _rejection(message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError("/flyteadmin/url", "address_refused", message)])
