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
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from controlplane.errors import RemoteFailed
from controlplane.outgoing import Network, is_allowed, resolve
from registry.agent_configs.bundles.conditions import Status
from registry.agent_configs.reachability.judge import Outcome

# A health answer has a few bytes.
_MAX_RESPONSE_BYTES = 4096
# The agent answered, and that is all we want to know.
_ANSWER_CODES = (
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
)


@dataclass(frozen=True, slots=True)
class ProbeRules:
    """Where probes may go, and how long they take. ports: ranges, both ends included. roots: a PEM file."""

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
    """Never raises: what goes wrong is the answer."""
    if endpoint.startswith("k8s://"):
        return Outcome(Status.UNKNOWN, "OnlyInCluster", "Only within its cluster can this address be found.")
    host, _, port = endpoint.removeprefix("dns:///").rpartition(":")
    place = _Peer(host.strip("[]"), int(port))
    if not rules.allow_port(place.port):
        message = f"Port {place.port} is not probed. An operator can allow it: AGENT_PROBE_PORTS."
        return Outcome(Status.UNKNOWN, "PortNotAllowed", message)
    try:
        addresses = resolve(place.host, place.port)
    except RemoteFailed:
        return Outcome(Status.UNKNOWN, "NotResolved", f"{place.host} has no address here.")
    if not all(is_allowed(ipaddress.ip_address(address), rules.networks) for address in addresses):
        message = (
            f"{place.host} is within our own networks. An operator can allow it: OUTGOING_ALLOWED_NETWORKS."
        )
        return Outcome(Status.UNKNOWN, "AddressNotAllowed", message)
    return _connect(_Peer(place.host, place.port, addresses[0]), insecure, rules)


def _connect(place: _Peer, insecure: bool, rules: ProbeRules) -> Outcome:
    try:
        with socket.create_connection((place.address, place.port), rules.seconds) as plain:
            if not insecure:
                _check_tls(plain, place.host, rules)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        return Outcome(Status.FALSE, "TLSFailed", f"The TLS handshake failed: {reason}.")
    except TimeoutError:
        return Outcome(Status.FALSE, "TimedOut", f"No answer within {rules.seconds:g} s.")
    except OSError as error:
        return Outcome(Status.FALSE, "ConnectFailed", f"No connection: {error.strerror or 'refused'}.")
    return _check_health(place, insecure, rules)


def _check_tls(plain: socket.socket, host: str, rules: ProbeRules) -> None:
    context = ssl.create_default_context(cafile=rules.roots or None)
    context.set_alpn_protocols(["h2"])
    context.wrap_socket(plain, server_hostname=host).close()


def _check_health(place: _Peer, insecure: bool, rules: ProbeRules) -> Outcome:
    with _channel(place, insecure, rules) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=rules.seconds
            )
        except grpc.RpcError as error:
            return _without_health(error.code())
    if answer.status == health_pb2.HealthCheckResponse.NOT_SERVING:
        return Outcome(Status.FALSE, "NotServing", "The agent says that it does not serve.")
    return Outcome(Status.TRUE, "Reachable", "The agent says that it serves.")


def _without_health(code: grpc.StatusCode) -> Outcome:
    if code in _ANSWER_CODES:
        return Outcome(Status.TRUE, "Reachable", "The agent answers, and offers no health.")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Outcome(Status.FALSE, "TimedOut", "It takes connections, and answers no call.")
    return Outcome(Status.FALSE, "NotGRPC", "It takes connections, and does not speak gRPC.")


def _channel(place: _Peer, insecure: bool, rules: ProbeRules) -> grpc.Channel:
    options = [
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES),
        ("grpc.max_metadata_size", _MAX_RESPONSE_BYTES),
        ("grpc.default_authority", place.host),
    ]
    if insecure:
        return grpc.insecure_channel(place.target, options)
    roots = Path(rules.roots).read_bytes() if rules.roots else None
    named = [*options, ("grpc.ssl_target_name_override", place.host)]
    return grpc.secure_channel(place.target, grpc.ssl_channel_credentials(roots), named)
