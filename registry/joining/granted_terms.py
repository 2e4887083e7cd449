"""The terms that a join token granted to an agent. They limit the credential that the agent got."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet

from controlplane.database.bulk import as_json, copy_rows
from controlplane.errors import PermissionDenied
from controlplane.identity.actors import Actor
from registry.agents.states import State
from registry.joining.models import Admission, JoinToken
from registry.joining.registration import Registration
from registry.joining.terms import JoinTerms

_COLUMNS = ("principal_id", "name", "environment", "service_types", "needs_approval")


def record_admissions(admissions: Iterable[tuple[UUID, Registration, JoinToken]]) -> None:
    """Store the terms granted to each new principal. Call in the transaction of the join."""
    copy_rows(
        Admission,
        _COLUMNS,
        (
            (
                principal_id,
                registration.name,
                token.environment,
                as_json(token.service_types),
                token.needs_approval,
            )
            for principal_id, registration, token in admissions
        ),
    )


def initial_state(actor: Actor, registration: Registration) -> State:
    """Return the initial state of the actor's agent. Raises PermissionDenied, InvalidRequest.

    The terms outlive the agent's record: a removed agent cannot register again under another name.
    """
    terms = _admissions_of(actor.principal_id).first()
    if terms is None:
        return State.READY
    if terms.name != registration.name:
        raise PermissionDenied(
            f"Your token is valid only for the agent {terms.name!r}. To add another agent, let it join."
        )
    JoinTerms("*", terms.environment, frozenset(terms.service_types)).check(registration)
    return State.REGISTERED if terms.needs_approval else State.READY


def record_approval(principal_id: UUID | None) -> None:
    _admissions_of(principal_id).update(needs_approval=False)


def _admissions_of(principal_id: UUID | None) -> QuerySet[Admission]:
    admissions = Admission.objects.all()
    return admissions.none() if principal_id is None else admissions.filter(principal_id=principal_id)
