"""gRPC calls to agents: their health, and the task types that they list. Needs the extra `flyte`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import grpc
from flyteidl.admin.agent_pb2 import ListAgentsRequest
from flyteidl.service.agent_pb2_grpc import AgentMetadataServiceStub
from grpc_health.v1 import health_pb2, health_pb2_grpc

from registry.agent_configs.bundles.conditions import Status
from registry.agent_configs.reachability.judge import Outcome

# A health response has a few bytes, and a list of a thousand task types 60 kB.
_MAX_RESPONSE_BYTES = 128 * 1024
_MAX_METADATA_BYTES = 4096
_MOST_TYPES = 1000
# Names that documents can route. Others are not kept: publishers choose the address, and so what is sent.
_TASK_TYPE = re.compile(r"[a-z0-9_.\-]{1,100}")
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
            outcome = _without_health(error.code())
        else:
            outcome = _with_health(answer.status)
        if outcome.status is not Status.TRUE:
            return outcome
        return replace(outcome, reported=_list_task_types(channel, seconds))


def _list_task_types(channel: grpc.Channel, seconds: float) -> frozenset[str] | None:
    """Return the task types of all agents behind the endpoint; None if it does not list them."""
    try:
        answer = AgentMetadataServiceStub(channel).ListAgents(  # type: ignore[no-untyped-call]
            ListAgentsRequest(), timeout=seconds
        )
    except grpc.RpcError:
        return None
    names = {category.name for agent in answer.agents for category in agent.supported_task_categories}
    names |= {name for agent in answer.agents for name in agent.supported_task_types}
    valid = sorted(name.lower() for name in names if _TASK_TYPE.fullmatch(name.lower()))
    return frozenset(valid[:_MOST_TYPES]) or None


def _with_health(status: int) -> Outcome:
    if status == health_pb2.HealthCheckResponse.NOT_SERVING:
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
        ("grpc.max_metadata_size", _MAX_METADATA_BYTES),
        ("grpc.default_authority", host),
    ]
    if insecure:
        return grpc.insecure_channel(target, options)
    certificates = Path(roots).read_bytes() if roots else None
    named = [*options, ("grpc.ssl_target_name_override", host)]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(certificates), named)
