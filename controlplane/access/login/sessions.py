"""Console sessions of people: which there are, and how they are ended."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, event_types
from controlplane.access.audit import Mutation
from controlplane.access.models import Session
from controlplane.errors import NotFound
from controlplane.identity.actors import Actor


def current_sessions(name: str) -> QuerySet[Session]:
    """The sessions of the principal with this name that have not expired."""
    rows = Session.objects.select_related("principal").annotate(now=Now())
    return rows.filter(principal__name=name, expires_at__gt=Now())


def get_session(session_id: UUID, *, of: UUID | None) -> Session:
    """of: limits it to the sessions of one principal. Raises NotFound."""
    rows = Session.objects.select_related("principal").filter(id=session_id, principal__isnull=False)
    session = (rows.filter(principal_id=of) if of else rows).first()
    if session is None:
        raise NotFound("There is no such session, or it is not yours.")
    return session


@transaction.atomic
def end_session(session_id: UUID, *, of: UUID | None, actor: Actor) -> None:
    """Log one browser out. Raises NotFound."""
    _end([get_session(session_id, of=of)], actor)


@transaction.atomic
def end_sessions(name: str, *, but: bytes | None, actor: Actor) -> int:
    """Log a principal out everywhere, except in the session with the digest `but`; return how many ended."""
    ended = list(current_sessions(name).exclude(digest=but or b"").order_by("id"))
    _end(ended, actor)
    return len(ended)


def _end(sessions: list[Session], actor: Actor) -> None:
    Session.objects.filter(id__in=[session.id for session in sessions]).delete()
    audit.record_many("session", [_ending(session) for session in sessions], actor=actor)


def _ending(session: Session) -> Mutation:
    name = session.principal.name if session.principal else ""
    shown = {"principal": name, "address": session.address, "browser": session.browser}
    data = {"principal": name, "session_id": str(session.id)}
    return Mutation(event_types.SESSION_ENDED, str(session.id), shown, None, data)
