"""Answer calls of Flyte's services, over HTTP or gRPC: authenticate, authorise, and convert errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.db import DataError, transaction
from google.protobuf.message import Message
from prometheus_client import Counter, Histogram

from controlplane.access.authentication import caller_by_header
from controlplane.api.problems import database_detail, database_problem, retry_after
from controlplane.api.throttles import count_token
from controlplane.errors import ControlplaneError, NotAuthenticated, PermissionDenied
from controlplane.identity.callers import ANONYMOUS_READER, Caller
from controlplane.identity.ceilings import cut
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from overrides.flyte import attributes, logins, projects
from overrides.flyte.bindings import bindings_of
from overrides.flyte.errors import Code, FlyteError, from_ours, invalid
from overrides.flyte.events import create as create_event
from overrides.flyte.events.flyteadmin import Original
from overrides.flyte.overrides_service.calls import get_all_overrides, get_overrides
from overrides.flyte.pool_service import calls as pool_calls
from overrides.flyte.storable import check_storable

CALLS = Counter("cp_flyte_calls_total", "Calls of Flyte's API.", ["call", "transport", "code"])
DURATION = Histogram(
    "cp_flyte_call_duration_seconds",
    "Time to answer a call of Flyte's API.",
    ["call", "transport"],
    # Those of HTTP requests.
    buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 1, 5),
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """One supported call. reads: open to anonymous readers with ANONYMOUS_READ. open: open to anybody.

    takes_original: `answer` gets the request as it came, too, and requests can have FLYTE_EVENT_BYTES.
    """

    answer: Callable[..., Message]
    reads: bool = False
    open: bool = False
    takes_original: bool = False


_CALLS = {
    "UpdateProjectAttributes": Call(attributes.update),
    "UpdateProjectDomainAttributes": Call(attributes.update),
    "UpdateWorkflowAttributes": Call(attributes.update),
    "GetProjectAttributes": Call(attributes.get, reads=True),
    "GetProjectDomainAttributes": Call(attributes.get, reads=True),
    "GetWorkflowAttributes": Call(attributes.get, reads=True),
    "DeleteProjectAttributes": Call(attributes.delete),
    "DeleteProjectDomainAttributes": Call(attributes.delete),
    "DeleteWorkflowAttributes": Call(attributes.delete),
    "ListMatchableAttributes": Call(attributes.list_all, reads=True),
    "RegisterProject": Call(projects.register),
    "UpdateProject": Call(projects.update),
    "GetProject": Call(projects.get, reads=True),
    "ListProjects": Call(projects.list_all, reads=True),
    "GetDomains": Call(projects.list_domains, reads=True),
    "GetVersion": Call(projects.version, open=True),
}
_LOGIN_CALLS = {
    "GetOAuth2Metadata": Call(logins.oauth2_metadata, open=True),
    "GetPublicClientConfig": Call(logins.client_config, open=True),
    "UserInfo": Call(logins.user_info, reads=True),
}
# Of OverridesService, which has no HTTP bindings.
_OVERRIDES_CALLS = {
    "GetOverrides": Call(get_overrides, reads=True),
    "GetAllOverrides": Call(get_all_overrides, reads=True),
}
# Of PoolService, which has no HTTP bindings either.
_POOL_CALLS = {
    "Acquire": Call(pool_calls.acquire),
    "Renew": Call(pool_calls.renew),
    "Release": Call(pool_calls.release),
}
# Only with FLYTE_EVENTS.
_EVENT_CALLS = {rpc: Call(create_event.create, takes_original=True) for rpc in create_event.CALLS}
_EVERY_CALL = {**_CALLS, **_LOGIN_CALLS, **_OVERRIDES_CALLS, **_POOL_CALLS, **_EVENT_CALLS}
BINDINGS = bindings_of(_CALLS)
LOGIN_BINDINGS = bindings_of(_LOGIN_CALLS)
EVENT_BINDINGS = bindings_of(_EVENT_CALLS)
# Upstream's text.
_NO_SCOPE = "authenticated user doesn't have required scope"


def is_answered(rpc: str) -> bool:
    """Return whether AdminService's call is supported here."""
    return rpc in _CALLS or (rpc in _EVENT_CALLS and create_event.is_on())


def most_bytes(rpc: str) -> int:
    """Return how long a request may be."""
    is_event = _EVERY_CALL[rpc].takes_original
    return max(settings.MAX_BODY_BYTES, settings.FLYTE_EVENT_BYTES if is_event else 0)


def answer(
    rpc: str, request: Message, *, authorization: str, transport: str, original: Original | None = None
) -> Message:
    """Answer a call. Raises FlyteError for every failure. authorization: "Bearer ...", or empty.

    original: the request as it came; needed by calls that pass it on.
    """
    began = time.perf_counter()
    code = "OK"
    try:
        return _answer(rpc, request, authorization, original)
    except FlyteError as error:
        code = error.code.name
        raise
    finally:
        CALLS.labels(rpc, transport, code).inc()
        DURATION.labels(rpc, transport).observe(time.perf_counter() - began)


def _answer(rpc: str, request: Message, authorization: str, original: Original | None) -> Message:
    call = _EVERY_CALL[rpc]
    caller: Caller | None = None
    try:
        with _transaction():
            caller = _caller(call, authorization)
            return _answer_caller(call, request, caller, original)
    except FlyteError:
        raise
    except PermissionDenied as error:
        if caller is not None and _lacks_scope(caller, error):
            raise FlyteError(Code.PERMISSION_DENIED, _NO_SCOPE) from error
        raise from_ours(error) from error
    except ControlplaneError as error:
        raise from_ours(error) from error
    except DataError as error:  # such as a time beyond what Postgres has
        raise invalid("A text has a character that cannot be stored, or a number is too large.") from error
    except Exception as error:
        if (code := database_problem(error)) is not None:
            log.warning("flyte.database", problem=code, error=str(error).strip())
            wait = int(retry_after(error))
            raise FlyteError(Code.UNAVAILABLE, database_detail(error, code), retry_after=wait) from error
        # The cause is in the log under the request's id, never in the answer.
        log.exception("flyte.call_failed", call=rpc)
        raise FlyteError(Code.INTERNAL, "Something broke on our side. The log has the cause.") from error


def answer_read(rpc: str, request: Message, caller: Caller) -> Message:
    """Answer a read of a caller who is authenticated. Raises FlyteError, and any other error as it is."""
    return _answer_caller(_CALLS[rpc], request, caller)


def _answer_caller(
    call: Call, request: Message, caller: Caller | None, original: Original | None = None
) -> Message:
    check_storable(request)
    _check_organisation(request, caller)
    return call.answer(request, caller, original) if call.takes_original else call.answer(request, caller)


def _transaction() -> AbstractContextManager[None]:
    """Return one transaction for the call if row-level security limits it; otherwise none is needed."""
    return transaction.atomic() if settings.ORGANISATIONS else nullcontext()


def _check_organisation(request: Message, caller: Caller | None) -> None:
    """Raise NOT_FOUND if the message, or a message in it, names another organisation than the caller's."""
    if caller is None or caller.tenant is None:
        return
    for field, value in request.ListFields():
        if field.name == "org" and value != caller.tenant.slug:
            raise FlyteError(Code.NOT_FOUND, f"organization [{value}] not found")
        if isinstance(value, Message):
            _check_organisation(value, caller)


def _caller(call: Call, authorization: str) -> Caller | None:
    if call.open:
        return None
    if authorization:
        caller, token = caller_by_header(authorization, id_tokens=True)
        count_token(token)
        return caller
    if call.reads and settings.ANONYMOUS_READ:
        return ANONYMOUS_READER
    raise NotAuthenticated("Send your token as metadata or header: authorization: Bearer cp_pat_…")


def _lacks_scope(caller: Caller, error: PermissionDenied) -> bool:
    """Return whether no role could allow the action: the token's scopes do not."""
    if caller.scopes is None:
        return False
    most = cut((Grant(Role.ADMIN),), caller.scopes)
    return not any(error.members.get("action") in grant.actions for grant in most)
