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
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from controlplane.errors import RemoteFailed
from controlplane.outgoing import Network, is_allowed, resolve
from registry.agent_configs.bundles.conditions import Status
from registry.agent_configs.reachability.judge import Outcome

# A health response has a few bytes.
_MAX_RESPONSE_BYTES = 4096
# The agent responded, which is enough.
_ANSWER_CODES = (
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
)


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
    return _check_health(peer, insecure, rules)


def _check_tls(plain: socket.socket, host: str, rules: ProbeRules) -> None:
    context = ssl.create_default_context(cafile=rules.roots or None)
    context.set_alpn_protocols(["h2"])
    context.wrap_socket(plain, server_hostname=host).close()


def _check_health(peer: _Peer, insecure: bool, rules: ProbeRules) -> Outcome:
    with _channel(peer, insecure, rules) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=rules.seconds
            )
        except grpc.RpcError as error:
            return _without_health(error.code())
    if answer.status == health_pb2.HealthCheckResponse.NOT_SERVING:
        return Outcome(Status.FALSE, "NotServing", "The agent reports that it is not serving.")
    return Outcome(Status.TRUE, "Reachable", "The agent reports that it is serving.")


def _without_health(code: grpc.StatusCode) -> Outcome:
    if code in _ANSWER_CODES:
        return Outcome(Status.TRUE, "Reachable", "The agent responds but has no health service.")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Outcome(
            Status.FALSE, "TimedOut", "The agent accepts connections but does not respond to calls."
        )
    return Outcome(Status.FALSE, "NotGRPC", "The agent accepts connections but does not speak gRPC.")


def _channel(peer: _Peer, insecure: bool, rules: ProbeRules) -> grpc.Channel:
    options = [
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES),
        ("grpc.max_metadata_size", _MAX_RESPONSE_BYTES),
        ("grpc.default_authority", peer.host),
    ]
    if insecure:
        return grpc.insecure_channel(peer.target, options)
    roots = Path(rules.roots).read_bytes() if rules.roots else None
    named = [*options, ("grpc.ssl_target_name_override", peer.host)]
    return grpc.secure_channel(peer.target, grpc.ssl_channel_credentials(roots), named)
