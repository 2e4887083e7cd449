"""Audit records and events of logins and logouts."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from controlplane.access import audit, event_types
from controlplane.access.auth_metrics import Method, count_authentication
from controlplane.access.models import Principal
from controlplane.identity.actors import Actor

_MAX_NAME = 63
_MAX_REASON = 300


@transaction.atomic
def record_login(person: Principal, *, provider: str, request_id: str) -> None:
    """Record a login. provider: empty for a password."""
    _count(provider, accepted=True)
    audit.record(
        event_types.LOGIN_SUCCEEDED,
        "principal",
        person.name,
        actor=Actor(person.id, person.name, request_id),
        before=None,
        after=None,
        data={"principal": person.name, "provider": provider},
    )


@transaction.atomic
def record_failure(name: str, *, provider: str, reason: str, request_id: str) -> str:
    """Record a failed login, and return the name; "" if nobody has it: it may be a mistyped password."""
    known_name = name[:_MAX_NAME] if Principal.objects.filter(name=name).exists() else ""
    _count(provider, accepted=False)
    audit.record(
        event_types.LOGIN_FAILED,
        "login",
        known_name or provider or "unknown",
        actor=Actor(None, "anonymous", request_id),
        before=None,
        after=None,
        data={"name": known_name, "provider": provider, "reason": reason[:_MAX_REASON]},
    )
    return known_name


@transaction.atomic
def record_logout(person: Principal, *, provider: str, request_id: str) -> None:
    """Record that a person logged out, here and, if they logged in at a provider, there."""
    audit.record(
        event_types.LOGGED_OUT,
        "principal",
        person.name,
        actor=Actor(person.id, person.name, request_id),
        before=None,
        after=None,
        data={"principal": person.name, "provider": provider},
    )


def _count(provider: str, *, accepted: bool) -> None:
    method = Method.IDENTITY_PROVIDER if provider else Method.PASSWORD
    transaction.on_commit(partial(count_authentication, method, accepted=accepted))
