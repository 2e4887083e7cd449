"""gRPC health checks of agents. Needs the extra `flyte`."""

from __future__ import annotations

from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

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


def check_health(target: str, host: str, seconds: float, *, insecure: bool, roots: str) -> Outcome:
    """Ask for the health. target: a verified address. host: the name in certificates. roots: a PEM file."""
    with _channel(target, host, insecure=insecure, roots=roots) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=seconds
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


def _channel(target: str, host: str, *, insecure: bool, roots: str) -> grpc.Channel:
    options = [
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES),
        ("grpc.max_metadata_size", _MAX_RESPONSE_BYTES),
        ("grpc.default_authority", host),
    ]
    if insecure:
        return grpc.insecure_channel(target, options)
    certificates = Path(roots).read_bytes() if roots else None
    named = [*options, ("grpc.ssl_target_name_override", host)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(certificates), named)
