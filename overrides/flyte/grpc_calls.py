"""Unary calls over gRPC: ready answers in the event loop, all others in a thread of a pool.

Messages are bytes here, so that a ready answer is sent as it was stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Never, Protocol

import grpc
import structlog
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status

from controlplane.observability.trace_context import is_sampled
from controlplane.observability.traces import spans
from controlplane.observability.traces.statements import traced_statements
from overrides.flyte.errors import Code, FlyteError

_STATUS_BY_NUMBER: dict[int, grpc.StatusCode] = {status.value[0]: status for status in grpc.StatusCode}
_NOT_READABLE = "The request is not a message of this call."
# Never UNKNOWN, on which flytekit opens the browser for a new login.
_BROKEN = "Something broke on our side. The log has the cause."
log = structlog.get_logger(__name__)


class Method(Protocol):
    """Answers a unary call in a thread. Raises FlyteError, DecodeError."""

    def __call__(self, message: bytes, metadata: Mapping[str, str]) -> bytes: ...


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that waits. path: "/package.Service/Method". outcome: None leaves it to its method.

    When the client cancels, the outcome is cancelled too, and later answers are dropped.
    """

    path: str
    metadata: Mapping[str, str]
    outcome: asyncio.Future[bytes | Status | None]

    def end(self, outcome: bytes | Status | None) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class ReadyAnswers(Protocol):
    """Takes calls that need no thread."""

    def takes(self, call: Call, message: bytes) -> bool:
        """Return whether it will end the call."""


class CallHandler(grpc.GenericRpcHandler):
    """methods: by path. Calls without a method are UNIMPLEMENTED. ready: asked first."""

    def __init__(self, methods: Mapping[str, Method], pool: Executor, ready: ReadyAnswers | None) -> None:
        self._pool = pool
        self._ready = ready
        self._handlers = {path: self._handler(path, method) for path, method in methods.items()}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        return self._handlers.get(handler_call_details.method)

    def _handler(self, path: str, method: Method) -> grpc.RpcMethodHandler[Any, Any]:
        async def answer(message: bytes, context: Any) -> bytes:
            metadata = {name: str(value) for name, value in context.invocation_metadata() or ()}
            outcome = await self._outcome(path, method, message, metadata)
            if isinstance(outcome, Status):
                await _abort(context, outcome)
            return outcome

        return grpc.unary_unary_rpc_method_handler(answer)

    async def _outcome(
        self, path: str, method: Method, message: bytes, metadata: Mapping[str, str]
    ) -> bytes | Status:
        """Return the response or the failure."""
        loop = asyncio.get_running_loop()
        try:
            if self._ready is not None:
                call = Call(path, metadata, loop.create_future())
                began_at = time.time_ns() if is_sampled(metadata.get("traceparent")) else None
                if self._ready.takes(call, message) and (ready := await call.outcome) is not None:
                    if began_at:
                        _span(path, metadata, began_at).end()
                    return ready
            return await loop.run_in_executor(self._pool, _traced, path, method, message, metadata)
        except FlyteError as error:
            return error.status()
        except DecodeError:
            return Status(code=Code.INTERNAL, message=_NOT_READABLE)
        except Exception:
            log.exception("flyte.call_failed", call=path)
            return Status(code=Code.INTERNAL, message=_BROKEN)


def _traced(path: str, method: Method, message: bytes, metadata: Mapping[str, str]) -> bytes:
    """Answer a call in this thread, within a span if traces are on."""
    if not spans.is_on():
        return method(message, metadata)
    with _span(path, metadata) as span, traced_statements(span):
        return method(message, metadata)


def _span(path: str, metadata: Mapping[str, str], began_at: int | None = None) -> spans.Span:
    name = path.removeprefix("/")
    attributes = {"rpc.system.name": "grpc", "rpc.method": name}
    parent = metadata.get("traceparent", "")
    return spans.span(name, "server", parent=parent, attributes=attributes, began_at=began_at)


async def _abort(context: Any, status: Status) -> Never:
    trailers = (("grpc-status-details-bin", status.SerializeToString()),) if status.details else ()
    await context.abort(_STATUS_BY_NUMBER[status.code], status.message, trailers)
    raise AssertionError("abort always raises")


def path_of(service: str, rpc: str) -> str:
    return f"/{service}/{rpc}"
