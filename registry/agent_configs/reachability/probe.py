"""Ask one endpoint whether it answers: TCP, then TLS if it has any, then gRPC health where it is offered.

A name is resolved once, and every connection goes to the address that was checked. Nothing of what the
other side says is told to anybody.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.errors import RemoteFailed
from controlplane.outgoing import Network, is_allowed, resolve
from registry.agent_configs.bundles.conditions import Status
from registry.agent_configs.reachability.judge import Outcome


@dataclass(frozen=True, slots=True)
class Rules:
    """Where probes may go, and how long they take. ports: ranges, both ends included. roots: a PEM file."""

    networks: Sequence[Network] = ()
    ports: Sequence[tuple[int, int]] = ((1, 65535),)
    seconds: float = 2.0
    roots: str = ""

    def allow_port(self, port: int) -> bool:
        return any(first <= port <= last for first, last in self.ports)


@dataclass(frozen=True, slots=True)
class _Place:
    host: str
    port: int
    address: str = ""

    @property
    def target(self) -> str:
        is_v6 = ":" in self.address
        return f"ipv6:[{self.address}]:{self.port}" if is_v6 else f"ipv4:{self.address}:{self.port}"


def probe(endpoint: str, *, insecure: bool, rules: Rules) -> Outcome:
    """Never raises: what goes wrong is the answer."""
    if endpoint.startswith("k8s://"):
        return Outcome(Status.UNKNOWN, "OnlyInCluster", "Only within its cluster can this address be found.")
    host, _, port = endpoint.removeprefix("dns:///").rpartition(":")
    place = _Place(host.strip("[]"), int(port))
    if not rules.allow_port(place.port):
        message = f"Port {place.port} is not probed. An operator can allow it: AGENT_PROBE_PORTS."
        return Outcome(Status.UNKNOWN, "PortNotAllowed", message)
    try:
        addresses = resolve(place.host, place.port)
    except RemoteFailed:
        return Outcome(Status.UNKNOWN, "NotResolved", f"{place.host} has no address here.")
    if not all(is_allowed(ipaddress.ip_address(one), rules.networks) for one in addresses):
        message = (
            f"{place.host} is within our own networks. An operator can allow it: OUTGOING_ALLOWED_NETWORKS."
        )
        return Outcome(Status.UNKNOWN, "AddressNotAllowed", message)
    return _ask(_Place(place.host, place.port, addresses[0]), insecure, rules)


def _ask(place: _Place, insecure: bool, rules: Rules) -> Outcome:
    try:
        with socket.create_connection((place.address, place.port), rules.seconds) as plain:
            if not insecure:
                _shake_hands(plain, place.host, rules)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        return Outcome(Status.FALSE, "TLSFailed", f"The TLS handshake failed: {reason}.")
    except TimeoutError:
        return Outcome(Status.FALSE, "TimedOut", f"No answer within {rules.seconds:g} s.")
    except OSError as error:
        return Outcome(Status.FALSE, "ConnectFailed", f"No connection: {error.strerror or 'refused'}.")
    # gRPC is an extra, and slow to import.
    from registry.agent_configs.reachability.grpc_health import ask_health

    return ask_health(place.target, place.host, rules.seconds, insecure=insecure, roots=rules.roots)


def _shake_hands(plain: socket.socket, host: str, rules: Rules) -> None:
    context = ssl.create_default_context(cafile=rules.roots or None)
    context.set_alpn_protocols(["h2"])
    context.wrap_socket(plain, server_hostname=host).close()
