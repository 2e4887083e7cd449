"""Errors in FlyteAdmin's format: gRPC codes, messages and details, also for our own errors. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

from controlplane import errors

# FlyteAdmin cuts messages here: a gRPC trailer must fit the client's header limit.
_LONGEST_MESSAGE = 32_000
_MAX_REPORTED = 10


class Code(IntEnum):
    """gRPC's status codes."""

    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


# grpc-gateway's runtime.HTTPStatusFromCode.
HTTP_STATUS = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}


class FlyteError(Exception):
    """An error for a Flyte client. `message` is upstream's text where upstream has one.

    retry_after: seconds after which the same call may succeed; 0 if waiting does not help.
    """

    def __init__(
        self, code: Code, message: str, details: Iterable[Message] = (), *, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
        self.message = message.encode()[:_LONGEST_MESSAGE].decode(errors="ignore")
        self.details = tuple(details)
        # Details of another server, as they came.
        self.packed: list[AnyMessage] = []

    def status(self) -> Status:
        """As google.rpc.Status."""
        status = Status(code=self.code, message=self.message)
        for detail in self.details:
            status.details.add().Pack(detail)
        status.details.extend(self.packed)
        return status


def invalid(message: str, details: Iterable[Message] = ()) -> FlyteError:
    return FlyteError(Code.INVALID_ARGUMENT, message, details)


# The first that fits. All else is something wrong with the request.
_CODES: tuple[tuple[type[errors.ControlplaneError], Code], ...] = (
    (errors.NotAuthenticated, Code.UNAUTHENTICATED),
    (errors.PermissionDenied, Code.PERMISSION_DENIED),
    (errors.NotFound, Code.NOT_FOUND),
    (errors.NameTaken, Code.ALREADY_EXISTS),
    (errors.QuotaExceeded, Code.RESOURCE_EXHAUSTED),
    (errors.Conflict, Code.FAILED_PRECONDITION),
    (errors.VersionMismatch, Code.ABORTED),
    (errors.TooManyAttempts, Code.RESOURCE_EXHAUSTED),
    (errors.IssuerUnavailable, Code.UNAVAILABLE),
    (errors.SecretsUnavailable, Code.UNAVAILABLE),
    (errors.RemoteFailed, Code.UNAVAILABLE),
)


def from_ours(error: errors.ControlplaneError) -> FlyteError:
    """Convert one of our errors. Flyte's clients show only the message, so it includes the field errors."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), Code.INVALID_ARGUMENT)
    lines = [_line(field_error) for field_error in error.errors[:_MAX_REPORTED]]
    wait = int(error.members.get("retry_after", 0))
    return FlyteError(code, "\n".join([error.detail, *lines]), retry_after=wait)


def _line(field_error: errors.FieldError) -> str:
    pointer = f"{field_error.pointer}: " if field_error.pointer else ""
    hint = f" {field_error.hint}" if field_error.hint else ""
    return f"- {pointer}{field_error.message}{hint}"
