"""Console sessions of people: list and end them."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, event_types
from controlplane.access.audit import Mutation
from controlplane.access.login.session_store import unexpired
from controlplane.access.models import Session
from controlplane.errors import NotFound
from controlplane.identity.actors import Actor


def current_sessions(name: str) -> QuerySet[Session]:
    """Return the unexpired sessions of the principal with this name."""
    rows = Session.objects.select_related("principal").annotate(now=Now())
    return rows.filter(unexpired(), principal__name=name)


def get_session(session_id: UUID, *, of: UUID | None) -> Session:
    """Return a session. of: the principal who must own it; None for any. Raises NotFound."""
    rows = Session.objects.select_related("principal").filter(id=session_id, principal__isnull=False)
    session = (rows.filter(principal_id=of) if of else rows).first()
    if session is None:
        raise NotFound("The session does not exist, or it is not yours.")
    return session


@transaction.atomic
def end_session(session_id: UUID, *, of: UUID | None, actor: Actor) -> None:
    """End a session. Raises NotFound."""
    _end([get_session(session_id, of=of)], actor)


@transaction.atomic
def end_sessions(name: str, *, but: bytes | None, actor: Actor) -> int:
    """End all sessions of a principal but the one with the digest `but`. Return their number."""
    ended = list(current_sessions(name).exclude(digest=but or b"").order_by("id"))
    _end(ended, actor)
    return len(ended)


def _end(sessions: list[Session], actor: Actor) -> None:
    Session.objects.filter(id__in=[session.id for session in sessions]).delete()
    audit.record_many("session", [_ending(session) for session in sessions], actor=actor)


def _ending(session: Session) -> Mutation:
    name = session.principal.name if session.principal else ""
    state = {"principal": name, "address": session.address, "browser": session.browser}
    data = {"principal": name, "session_id": str(session.id)}
    return Mutation(event_types.SESSION_ENDED, str(session.id), state, None, data)
