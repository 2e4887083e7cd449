"""gRPC server for flytectl and flytekit: AdminService, logins, health and reflection.

Requests go to `calls`, like those of HTTP. Unsupported calls have no handler, so gRPC itself returns
UNIMPLEMENTED.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from overrides.flyte.bindings import AUTH_METADATA, IDENTITY, SERVICE, Binding
from overrides.flyte.errors import FlyteError
from overrides.flyte.grpc_failures import NeverUnknown

# Requests are limited by MAX_BODY_BYTES. Responses can be longer, such as the list of a type.
_MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_PROBE_SECONDS = 3.0
_SERVICES = (SERVICE, AUTH_METADATA, IDENTITY)
_STATUS_BY_NUMBER: dict[int, grpc.StatusCode] = {status.value[0]: status for status in grpc.StatusCode}


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where and how the server listens. certificate, key: PEM files, both or neither."""

    address: str
    port: int
    threads: int
    most_bytes: int
    certificate: str = ""
    key: str = ""


def build(options: ListenOptions) -> tuple[grpc.Server, int]:
    """Return a server that has not started, and its port. Raises RuntimeError if the port is in use."""
    server = grpc.server(
        ThreadPoolExecutor(options.threads, thread_name_prefix="flyte-grpc"),
        interceptors=[NeverUnknown()],
        options=[
            ("grpc.max_receive_message_length", options.most_bytes),
            ("grpc.max_send_message_length", _MAX_RESPONSE_BYTES),
            # A second server on the port would get half of the calls.
            ("grpc.so_reuseport", 0),
        ],
    )
    bindings = (*calls.BINDINGS, *calls.LOGIN_BINDINGS)
    server.add_generic_rpc_handlers(
        tuple(
            grpc.method_handlers_generic_handler(
                service.full_name,
                {each.rpc: _handler(each) for each in bindings if each.service == service.full_name},
            )
            for service in _SERVICES
        )
    )
    _add_health_and_reflection(server)
    return server, _bind(server, options)


def serves(options: ListenOptions) -> bool:
    """Return whether a Flyte server answers at the port of this machine. For container probes."""
    address = f"localhost:{options.port}"
    if options.certificate:
        trusted = grpc.ssl_channel_credentials(Path(options.certificate).read_bytes())
        channel = grpc.secure_channel(address, trusted)
    else:
        channel = grpc.insecure_channel(address)
    with channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=_PROBE_SECONDS, wait_for_ready=True
            )
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _bind(server: grpc.Server, options: ListenOptions) -> int:
    address = f"{options.address}:{options.port}"
    if not options.certificate:
        return int(server.add_insecure_port(address))
    pair = (Path(options.key).read_bytes(), Path(options.certificate).read_bytes())
    return int(server.add_secure_port(address, grpc.ssl_server_credentials([pair])))


def _add_health_and_reflection(server: grpc.Server) -> None:
    servicer = health.HealthServicer()
    for name in ("", "flyteadmin", *(service.full_name for service in _SERVICES)):
        servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    names = (service.full_name for service in _SERVICES)
    reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)


def _handler(binding: Binding) -> grpc.RpcMethodHandler[Any, Any]:
    def answer(request: Message, context: grpc.ServicerContext) -> Message:
        metadata = {name: str(value) for name, value in context.invocation_metadata()}
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=choose(metadata.get("x-request-id")))
        return _answer(binding, request, context, metadata)

    return grpc.unary_unary_rpc_method_handler(
        answer,
        request_deserializer=binding.request.FromString,
        response_serializer=_serialize(binding),
    )


def _answer(
    binding: Binding, request: Message, context: grpc.ServicerContext, metadata: dict[str, str]
) -> Message:
    authorization = authorization_of(metadata, settings.FLYTE_AUTHORIZATION_HEADERS)
    close_old_connections()
    try:
        return calls.answer(binding.rpc, request, authorization=authorization, transport="grpc")
    except FlyteError as error:
        _abort(context, error)
    finally:
        close_old_connections()
    raise AssertionError("abort always raises")


def _abort(context: grpc.ServicerContext, error: FlyteError) -> None:
    if error.details:
        status = error.status().SerializeToString()
        context.set_trailing_metadata((("grpc-status-details-bin", status),))
    context.abort(_STATUS_BY_NUMBER[error.code], error.message)


def _serialize(binding: Binding) -> Callable[[Message], bytes]:
    return binding.response.SerializeToString
