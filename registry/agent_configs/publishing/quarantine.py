"""Leave documents out, or keep them as they were, until somebody or time lets them in again."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from controlplane.access import audit
from controlplane.database.locks import lock_publishing
from controlplane.errors import UnknownAgentConfig
from controlplane.identity.actors import Actor, system
from registry.agent_configs.event_types import CONFIG_QUARANTINED, CONFIG_READMITTED
from registry.agent_configs.models import AgentConfig, AgentConfigQuarantine, DataPlane
from registry.agent_configs.publishing.recompute import recompute_all

REJECTED, FLAPPING, MANUAL = REASONS = ("rejected", "flapping", "manual")
_SYSTEM = system("agent_configs")


@transaction.atomic
def quarantine(row: AgentConfig, message: str, *, actor: Actor) -> None:
    """Leave a document out of every data plane until somebody readmits it."""
    lock_publishing()
    _store_quarantine(
        AgentConfigQuarantine(document=row, reason=MANUAL, message=message, created_by=actor.name), actor
    )
    recompute_all(actor)


@transaction.atomic
def readmit(row: AgentConfig, *, actor: Actor) -> None:
    """Let a document in again, wherever it was left out. Raises UnknownAgentConfig if it was not."""
    lock_publishing()
    if not _delete_quarantines(row, actor, REASONS):
        raise UnknownAgentConfig(f"{row} is left out nowhere.")
    AgentConfig.objects.filter(id=row.id).update(recent_changes=[])
    recompute_all(actor)


def quarantine_culprit(row: AgentConfig, plane: DataPlane, *, fallback: int, message: str) -> None:
    """The data plane cannot take this generation: it is given an older one, or none."""
    _store_quarantine(
        AgentConfigQuarantine(
            document=row,
            data_plane=plane,
            reason=REJECTED,
            message=message[:1000],
            generation=row.generation,
            fallback=fallback,
            created_by=_SYSTEM.name,
        ),
        _SYSTEM,
    )


def readmit_fixed(row: AgentConfig, actor: Actor) -> None:
    """A new generation deserves another try."""
    _delete_quarantines(row, actor, (REJECTED,))


def quarantine_flapping(row: AgentConfig, last_good: int, *, now: datetime) -> None:
    """The document changes too often: what it said before stays for a while."""
    if AgentConfigQuarantine.objects.filter(document=row, data_plane=None, until__gt=now).exists():
        return
    AgentConfigQuarantine.objects.filter(document=row, data_plane=None, reason=FLAPPING).delete()
    if AgentConfigQuarantine.objects.filter(document=row, data_plane=None).exists():
        return
    _store_quarantine(
        AgentConfigQuarantine(
            document=row,
            reason=FLAPPING,
            message="It changed too often within a short time.",
            generation=row.generation,
            fallback=last_good,
            until=now + timedelta(seconds=settings.AGENT_CONFIGS_QUARANTINE_SECONDS),
            created_by=_SYSTEM.name,
        ),
        _SYSTEM,
    )


def _store_quarantine(record: AgentConfigQuarantine, actor: Actor) -> None:
    """Replaces what stands for the same data plane."""
    AgentConfigQuarantine.objects.filter(document=record.document, data_plane=record.data_plane).delete()
    record.save(force_insert=True)
    row, plane = record.document, record.data_plane_id or ""
    name = {"source": row.source, "team": row.team, "name": row.name, "data_plane": plane}
    data = {**name, "reason": record.reason, "message": record.message}
    audit.record(
        CONFIG_QUARANTINED,
        "agent_config",
        str(row.document_id),
        actor=actor,
        before=None,
        after={**data, "generation": record.generation, "fallback": record.fallback},
        data=data,
    )


def _delete_quarantines(row: AgentConfig, actor: Actor, reasons: tuple[str, ...]) -> int:
    records = list(AgentConfigQuarantine.objects.filter(document=row, reason__in=reasons))
    for record in records:
        name = {"source": row.source, "team": row.team, "name": row.name}
        data = {**name, "data_plane": record.data_plane_id or "", "reason": record.reason}
        audit.record(
            CONFIG_READMITTED,
            "agent_config",
            str(row.document_id),
            actor=actor,
            before={**data, "message": record.message},
            after=None,
            data=data,
        )
        record.delete()
    return len(records)
