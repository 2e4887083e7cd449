"""Quarantine documents, or serve an older generation, until they are readmitted or the time is over."""

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
from registry.agent_configs.owners import owner_of, reader_of
from registry.agent_configs.publishing.recompute import recompute_all

REJECTED, FLAPPING, MANUAL = REASONS = ("rejected", "flapping", "manual")
_SYSTEM = system("agent_configs")


@transaction.atomic
def quarantine(row: AgentConfig, message: str, *, actor: Actor) -> None:
    """Exclude a document from every data plane until an administrator readmits it."""
    lock_publishing()
    _store_quarantine(
        AgentConfigQuarantine(document=row, reason=MANUAL, message=message, created_by=actor.name), actor
    )
    recompute_all(actor)


@transaction.atomic
def readmit(row: AgentConfig, *, actor: Actor) -> None:
    """End all quarantines of a document. Raises UnknownAgentConfig if there is none."""
    lock_publishing()
    if not _delete_quarantines(row, actor, REASONS):
        raise UnknownAgentConfig(f"{row} is not quarantined.")
    AgentConfig.objects.filter(id=row.id).update(recent_changes=[])
    recompute_all(actor)


def quarantine_culprit(row: AgentConfig, plane: DataPlane, *, fallback: int, message: str) -> None:
    """Quarantine the generation that a data plane rejected; it gets an older one, or none."""
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
    """Readmit a document rejected by data planes after a new generation."""
    _delete_quarantines(row, actor, (REJECTED,))


def quarantine_flapping(row: AgentConfig, last_good: int, *, now: datetime) -> None:
    """Quarantine a document that changes too often: its last good generation is served for a while."""
    if AgentConfigQuarantine.objects.filter(document=row, data_plane=None, until__gt=now).exists():
        return
    AgentConfigQuarantine.objects.filter(document=row, data_plane=None, reason=FLAPPING).delete()
    if AgentConfigQuarantine.objects.filter(document=row, data_plane=None).exists():
        return
    _store_quarantine(
        AgentConfigQuarantine(
            document=row,
            reason=FLAPPING,
            message="The document changed too often in a short time.",
            generation=row.generation,
            fallback=last_good,
            until=now + timedelta(seconds=settings.AGENT_CONFIGS_QUARANTINE_SECONDS),
            created_by=_SYSTEM.name,
        ),
        _SYSTEM,
    )


def _store_quarantine(record: AgentConfigQuarantine, actor: Actor) -> None:
    """Store a quarantine, which replaces the one for the same data plane."""
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
        team_id=reader_of(owner_of(row.team), record.data_plane),
    )


def _delete_quarantines(row: AgentConfig, actor: Actor, reasons: tuple[str, ...]) -> int:
    records = list(
        AgentConfigQuarantine.objects.filter(document=row, reason__in=reasons).select_related("data_plane")
    )
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
            team_id=reader_of(owner_of(row.team), record.data_plane),
        )
        record.delete()
    return len(records)
