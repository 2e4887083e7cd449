"""Reads that may be a little old: on a replica if it is near enough, otherwise on the primary.

Nobody gets an error because of a replica: whatever fails there is read once more on the primary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from django.db import Error, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from psycopg.errors import QueryCanceled, SerializationFailure
from rest_framework.request import Request

from controlplane.identity.callers import Caller
from controlplane.replicas.asking import choose_database, note_failure
from controlplane.replicas.choice import Choice, Outcome, Wish, accepted_staleness, staleness_headers
from controlplane.replicas.metrics import count_read
from controlplane.replicas.reading import REPLICA, on_replica
from controlplane.replicas.signed_positions import COOKIE, HEADER, UnreadablePosition, read_signed

Answer = TypeVar("Answer", bound=HttpResponseBase)
_log = structlog.get_logger(__name__)
# "conflict with recovery" ends a statement with the first of them, or the connection with the second's code.
_CONFLICTS = ("40001", "57P04")


def read_with_staleness(
    read: Callable[[], Answer], bound: float, request: Request | HttpRequest, caller: Any
) -> Answer:
    """Run the read of an authenticated caller. bound: seconds, unless the request says else."""
    choice = _choice(request, caller, bound)
    if choice.outcome is Outcome.REPLICA:
        try:
            with on_replica():
                response = read()
        except Exception as error:
            # Also a 404: that something does not exist may be no longer true.
            choice = Choice(_note(error))
        else:
            count_read(Outcome.REPLICA)
            for name, value in staleness_headers(choice.staleness).items():
                response.headers[name] = value
            return response
    count_read(choice.outcome)
    return read()


def _choice(request: Request | HttpRequest, caller: Any, bound: float) -> Choice:
    if isinstance(caller, Caller) and caller.tenant is not None:
        return Choice(Outcome.TENANT)
    try:
        return choose_database(wish_of(request, bound))
    except UnreadablePosition:
        # Whatever the client has seen, the primary has it.
        return Choice(Outcome.NEWEST)


def wish_of(request: Request | HttpRequest, bound: float) -> Wish:
    """Return what a request accepts. Raises UnreadablePosition."""
    text = request.headers.get(HEADER) or request.COOKIES.get(COOKIE)
    accepted = accepted_staleness(request.headers.get("Cache-Control", ""), bound)
    return Wish(accepted, read_signed(text) if text else None)


def _note(error: Exception) -> Outcome:
    """Log an error of a replica; return why the read goes on at the primary."""
    if not isinstance(error, Error):
        return Outcome.REFUSED
    cause = error.__cause__
    is_conflict = isinstance(cause, SerializationFailure) or getattr(cause, "sqlstate", "") in _CONFLICTS
    outcome = Outcome.CONFLICT if is_conflict else Outcome.FAILED
    _log.warning("replicas.read_again", outcome=outcome.value, error=str(error).strip())
    if is_conflict or isinstance(cause, QueryCanceled):
        connections[REPLICA].close()
    else:
        note_failure(error)
    return outcome
