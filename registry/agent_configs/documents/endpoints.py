"""Check endpoints of agents by propeller's gRPC syntax, without resolving names. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Set

from registry.agent_configs.documents.diagnostics import Code, Findings, Place, quote_value

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"(?=[a-z0-9-]{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_METADATA_HOSTS = frozenset({"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"})
# Cloud metadata services outside the link-local range; they return credentials.
_METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(address)
    for address in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")
)
_FORMS = "host:port, dns:///host:port, k8s://service.namespace:port"
_NAT64_PREFIX = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_endpoint(text: str, place: Place, findings: Findings, allowed: Set[str] = frozenset()) -> None:
    """Report all errors of an endpoint. allowed: hosts and networks that are never denied."""
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    name = scheme[1] if scheme else ""
    if name == "k8s":
        _check_service(rest, place, findings)
        return
    if name == "dns":
        if not rest.startswith("/"):
            findings.error(
                place, Code.INVALID_ENDPOINT, "A dns endpoint needs three slashes.", "dns:///host:port"
            )
            return
        rest = rest[1:]
    elif name:
        findings.error(place, Code.INVALID_ENDPOINT, f"Unknown scheme {name[:40]}.", f"Use {_FORMS}.")
        return
    _check_host_and_port(rest, place, findings, allowed)


def _check_host_and_port(text: str, place: Place, findings: Findings, allowed: Set[str]) -> None:
    if odd := _unsupported_part(text):
        findings.error(place, Code.INVALID_ENDPOINT, f"An endpoint cannot have a {odd}.", f"Use {_FORMS}.")
        return
    host, colon, port = text.rpartition(":")
    if not colon:
        findings.error(
            place, Code.INVALID_ENDPOINT, f"{quote_value(text)} has no port.", "Add one, such as :8000."
        )
        return
    if not _is_port(port):
        findings.error(place, Code.INVALID_ENDPOINT, f"The port {quote_value(port)} must be from 1 to 65535.")
    if problem := _find_host_problem(host):
        findings.error(place, Code.INVALID_ENDPOINT, f"The host {quote_value(host)} {problem}.")
    elif not _is_allowed(host, allowed):
        _check_reachable_host(host, place, findings)


def _check_service(text: str, place: Place, findings: Findings) -> None:
    """`service.namespace:port`, `namespace/service:port` or `/service.namespace:port`."""
    host, _, port = text.rpartition(":")
    namespace, _, service = host.rpartition("/")
    names = [*filter(None, [namespace]), *service.split(".")]
    if not (_is_port(port) or _PORT_NAME.fullmatch(port)):
        message = f"The port {quote_value(port)} must be a number from 1 to 65535 or a port name."
        findings.error(place, Code.INVALID_ENDPOINT, message)
    if not service or not all(_LABEL.fullmatch(name) for name in names) or len(names) > 2:
        hint = (
            "Use k8s://service.namespace:port, k8s://namespace/service:port or k8s:///service.namespace:port."
        )
        message = f"{quote_value(host)} does not name a service and its namespace."
        findings.error(place, Code.INVALID_ENDPOINT, message, hint)
    elif len(names) == 1:
        hint = "Add the namespace: k8s://service.namespace:port."
        findings.error(place, Code.INVALID_ENDPOINT, f"{quote_value(host)} has no namespace.", hint)


def _check_reachable_host(host: str, place: Place, findings: Findings) -> None:
    bare = host.rstrip(".").lower()
    address = _parse_address(bare)
    if address is not None:
        if any(_is_denied(variant) for variant in _address_variants(address)):
            message = f"{host} is a loopback or link-local address, or a cloud metadata service."
            findings.error(
                place, Code.ADDRESS_DENIED, message, "Use the address at which clusters reach the agent."
            )
    elif bare == "localhost" or bare.endswith(".localhost") or bare in _METADATA_HOSTS:
        message = f"{host} is the local machine or a cloud metadata service."
        findings.error(place, Code.ADDRESS_DENIED, message, "Use the host at which clusters reach the agent.")
    elif "." not in bare:
        message = f"{host} resolves differently in each namespace."
        findings.warn(place, Code.RELATIVE_HOST, message, f"Write {host}.<namespace> or the full name.")


def _unsupported_part(text: str) -> str:
    odd = {"@": "user", "/": "path", "?": "query", "#": "fragment", "%": "zone or escape"}
    return next((name for mark, name in odd.items() if mark in text), "")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= 65535


def _find_host_problem(host: str) -> str:
    """Return the error in a host's syntax, or an empty string."""
    bare = host.removesuffix(".")
    if host.startswith("["):
        return "" if isinstance(_parse_address(host), ipaddress.IPv6Address) else "is not an IPv6 address"
    labels = bare.split(".")
    if ":" in host:
        return "must be in brackets"
    if not bare or len(bare) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return "is not a host name: use letters, digits, hyphens, and dots between labels"
    # Resolvers read 2130706433 and 0x7f.1 as 127.0.0.1, so only dotted decimal counts as an address.
    if _NUMBER.fullmatch(labels[-1]) and _parse_address(bare) is None:
        return "ends in a number but is not an IP address"
    return ""


def _parse_address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return None


def _address_variants(address: _Address) -> Iterator[_Address]:
    """Yield the address and the IPv4 address embedded in it."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from filter(None, (address.ipv4_mapped, address.sixtofour))
        if address in _NAT64_PREFIX:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _is_denied(address: _Address) -> bool:
    special = address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    return special or address in _METADATA_ADDRESSES


def _is_allowed(host: str, allowed: Set[str]) -> bool:
    bare = host.removesuffix(".").lower()
    if bare in allowed:
        return True
    address = _parse_address(bare)
    return address is not None and any(address in network for network in _networks(allowed))


def _networks(allowed: Set[str]) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    for network in allowed:
        try:
            yield ipaddress.ip_network(network)
        except ValueError:
            continue
