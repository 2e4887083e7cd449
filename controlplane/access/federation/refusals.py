"""Record tokens of trusted issuers that were signed well and refused nevertheless."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.access.login_event_types import FEDERATION_REFUSED
from controlplane.access.models import AuditRecord
from controlplane.access.occurrences import record_occurrence
from controlplane.identity.actors import Actor

_REPEAT_INTERVAL = timedelta(minutes=1)
_ACTOR = "workload"


@transaction.atomic
def record_refusal(issuer: str, reason: str, *, request_id: str) -> None:
    """Write an audit record, at most one per minute for an issuer and reason.

    Call it only for tokens whose signature was valid. Otherwise anybody could fill the log.
    """
    recent = AuditRecord.objects.filter(
        object_type="federation",
        object_id=issuer,
        action=FEDERATION_REFUSED.name,
        reason=reason,
        at__gt=Now() - _REPEAT_INTERVAL,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext(%s))", [f"federation.refused {issuer} {reason}"]
        )
    if recent.exists():
        return
    actor = Actor(None, _ACTOR, request_id, reason)
    record_occurrence(FEDERATION_REFUSED, issuer, actor=actor, data={"issuer": issuer, "reason": reason})
