"""Probe one endpoint: TCP, then TLS if enabled, then gRPC health if available.

A name is resolved once, and every connection goes to the checked address. Data sent by the endpoint is
never shown to users.
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
class ProbeRules:
    """Allowed networks and ports of probes, and their timeout. ports: inclusive ranges. roots: a PEM file."""

    networks: Sequence[Network] = ()
    ports: Sequence[tuple[int, int]] = ((1, 65535),)
    seconds: float = 2.0
    roots: str = ""

    def allow_port(self, port: int) -> bool:
        return any(first <= port <= last for first, last in self.ports)


@dataclass(frozen=True, slots=True)
class _Peer:
    host: str
    port: int
    address: str = ""

    @property
    def target(self) -> str:
        is_v6 = ":" in self.address
        return f"ipv6:[{self.address}]:{self.port}" if is_v6 else f"ipv4:{self.address}:{self.port}"


def probe(endpoint: str, *, insecure: bool, rules: ProbeRules) -> Outcome:
    """Probe an endpoint and return the outcome; never raises."""
    if endpoint.startswith("k8s://"):
        return Outcome(Status.UNKNOWN, "OnlyInCluster", "This address resolves only within its cluster.")
    host, _, port = endpoint.removeprefix("dns:///").rpartition(":")
    peer = _Peer(host.strip("[]"), int(port))
    if not rules.allow_port(peer.port):
        message = f"Port {peer.port} is not probed. An operator can allow it with AGENT_PROBE_PORTS."
        return Outcome(Status.UNKNOWN, "PortNotAllowed", message)
    try:
        addresses = resolve(peer.host, peer.port)
    except RemoteFailed:
        return Outcome(
            Status.UNKNOWN, "NotResolved", f"{peer.host} cannot be resolved from the control plane."
        )
    if not all(is_allowed(ipaddress.ip_address(address), rules.networks) for address in addresses):
        message = (
            f"{peer.host} is in an internal network. An operator can allow it with OUTGOING_ALLOWED_NETWORKS."
        )
        return Outcome(Status.UNKNOWN, "AddressNotAllowed", message)
    return _connect(_Peer(peer.host, peer.port, addresses[0]), insecure, rules)


def _connect(peer: _Peer, insecure: bool, rules: ProbeRules) -> Outcome:
    try:
        with socket.create_connection((peer.address, peer.port), rules.seconds) as plain:
            if not insecure:
                _check_tls(plain, peer.host, rules)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        return Outcome(Status.FALSE, "TLSFailed", f"The TLS handshake failed: {reason}.")
    except TimeoutError:
        return Outcome(Status.FALSE, "TimedOut", f"No response within {rules.seconds:g} s.")
    except OSError as error:
        return Outcome(
            Status.FALSE, "ConnectFailed", f"The connection failed: {error.strerror or 'refused'}."
        )
    # gRPC is an extra, and slow to import.
    from registry.agent_configs.reachability.grpc_health import check_health

    return check_health(peer.target, peer.host, rules.seconds, insecure=insecure, roots=rules.roots)


def _check_tls(plain: socket.socket, host: str, rules: ProbeRules) -> None:
    context = ssl.create_default_context(cafile=rules.roots or None)
    context.set_alpn_protocols(["h2"])
    context.wrap_socket(plain, server_hostname=host).close()
