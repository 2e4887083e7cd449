"""gRPC's answer to a failure that nobody caught: INTERNAL.

By default it is UNKNOWN, on which flytekit opens the browser for a new login.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import structlog

log = structlog.get_logger(__name__)


class NeverUnknown(grpc.ServerInterceptor):
    """Answers INTERNAL instead of UNKNOWN."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            _guarded(handler.unary_unary, handler_call_details.method),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def _guarded(behaviour: Callable[[Any, Any], Any], method: str) -> Callable[[Any, Any], Any]:
    # Any: the stubs lack `code`.
    def answer(request: Any, context: Any) -> Any:
        try:
            return behaviour(request, context)
        except Exception:
            # `abort` has set the code, and raises an exception itself.
            if context.code() is None:
                log.exception("flyte.call_failed", call=method)
                context.abort(grpc.StatusCode.INTERNAL, "Something broke on our side. The log has the cause.")
            raise

    return answer
