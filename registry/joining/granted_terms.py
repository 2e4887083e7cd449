"""What a join token let an agent in for: its own credential serves for that, and for no more."""

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
from registry.joining.terms import Invitation

_COLUMNS = ("principal_id", "name", "environment", "service_types", "needs_approval")


def note_admissions(admitted: Iterable[tuple[UUID, Registration, JoinToken]]) -> None:
    """Remember the terms of each new principal. Needs the transaction of the join."""
    copy_rows(
        Admission,
        _COLUMNS,
        (
            (principal_id, said.name, token.environment, as_json(token.service_types), token.needs_approval)
            for principal_id, said, token in admitted
        ),
    )


def state_for(actor: Actor, registration: Registration) -> State:
    """In which state the actor's agent begins. Raises PermissionDenied, InvalidRequest.

    The terms outlive the agent's record: who was removed does not come back as somebody else.
    """
    terms = _terms_of(actor.principal_id).first()
    if terms is None:
        return State.READY
    if terms.name != registration.name:
        raise PermissionDenied(f"Your token is of the agent {terms.name!r} alone. Join to add another one.")
    Invitation("*", terms.environment, frozenset(terms.service_types)).check(registration)
    return State.REGISTERED if terms.needs_approval else State.READY


def note_approval(principal_id: UUID | None) -> None:
    _terms_of(principal_id).update(needs_approval=False)


def _terms_of(principal_id: UUID | None) -> QuerySet[Admission]:
    everybody = Admission.objects.all()
    return everybody.none() if principal_id is None else everybody.filter(principal_id=principal_id)
