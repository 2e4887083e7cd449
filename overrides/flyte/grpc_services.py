"""Methods of the gRPC server: Flyte's services, OverridesService, health and reflection."""

from __future__ import annotations

from collections.abc import Mapping

import grpc
import structlog
from django.conf import settings
from django.db import close_old_connections
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from controlplane.observability.request_ids import choose
from overrides.flyte import calls
from overrides.flyte.authorization import authorization_of
from overrides.flyte.bindings import AUTH_METADATA, IDENTITY, SERVICE
from overrides.flyte.errors import Code, FlyteError
from overrides.flyte.events.create import CALLS, is_on
from overrides.flyte.events.flyteadmin import PROTOBUF, Original
from overrides.flyte.grpc_calls import Method, path_of
from overrides.flyte.overrides_service import wire as overrides_wire
from overrides.flyte.pool_service import wire as pool_wire

_WIRES = (overrides_wire, pool_wire)
_OWN = tuple(
    each.full_name for each in (SERVICE, AUTH_METADATA, IDENTITY, *(wire.SERVICE for wire in _WIRES))
)


def methods() -> dict[str, Method]:
    """Return the unary calls by path."""
    events = calls.EVENT_BINDINGS if is_on() else ()
    bindings = (*calls.BINDINGS, *calls.LOGIN_BINDINGS, *events)
    flyte = {path_of(each.service, each.rpc): _method(each.rpc, each.request, each.path) for each in bindings}
    own = {
        path_of(wire.SERVICE.full_name, rpc): _method(rpc, request, "")
        for wire in _WIRES
        for rpc, request in wire.REQUESTS.items()
    }
    return {**flyte, **own}


def most_bytes() -> int:
    """Return how long the longest request may be."""
    return max(map(calls.most_bytes, CALLS)) if is_on() else int(settings.MAX_BODY_BYTES)


def _method(rpc: str, request_kind: type[Message], path: str) -> Method:
    """path: the same call's over HTTP."""
    limit = calls.most_bytes(rpc)

    def answer(message: bytes, metadata: Mapping[str, str]) -> bytes:
        if len(message) > limit:
            text = f"Received message larger than max ({len(message)} vs. {limit})"
            raise FlyteError(Code.RESOURCE_EXHAUSTED, text)
        request = request_kind.FromString(message)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=choose(metadata.get("x-request-id")))
        authorization = authorization_of(metadata, settings.FLYTE_AUTHORIZATION_HEADERS)
        close_old_connections()
        try:
            original = Original(path, message, PROTOBUF, authorization)
            response = calls.answer(
                rpc, request, authorization=authorization, transport="grpc", original=original
            )
            return response.SerializeToString()
        finally:
            close_old_connections()

    return answer


async def add_health_and_reflection(server: grpc.aio.Server) -> health.aio.HealthServicer:
    """Return the servicer of health, which tells watchers when the server stops."""
    servicer = health.aio.HealthServicer()
    for name in ("", "flyteadmin", *_OWN):
        await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    reflection.enable_server_reflection((*_OWN, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return servicer
