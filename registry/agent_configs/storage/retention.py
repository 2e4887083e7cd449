"""Store the history of claims between recomputes, and delete old bundles."""

from __future__ import annotations

from django.conf import settings

from registry.agent_configs.claims.history import History, RememberedClaim
from registry.agent_configs.documents.published import ClaimKey
from registry.agent_configs.models import AgentConfigBundle, ClaimRecord, DataPlane

_UNIQUE_FIELDS = ("data_plane", "kind", "name", "version", "pin", "team")
_UPDATE_FIELDS = ("source", "document", "first_accepted_at", "established", "gone_at")


def store_history(plane: DataPlane, before: History, after: History) -> None:
    """Write only the changed claims."""
    changed = [
        _build_row(plane, name, record) for name, record in after.items() if before.get(name) != record
    ]
    ClaimRecord.objects.bulk_create(
        changed,
        batch_size=1000,
        update_conflicts=True,
        unique_fields=_UNIQUE_FIELDS,
        update_fields=_UPDATE_FIELDS,
    )
    for team, key in before.keys() - after.keys():
        ClaimRecord.objects.filter(
            data_plane=plane, team=team, kind=key.kind.value, name=key.name, version=key.version, pin=key.pin
        ).delete()


def delete_old_bundles(plane: DataPlane) -> None:
    """Delete old bundles, except the active and the applied one."""
    oldest = plane.latest_revision - settings.AGENT_CONFIGS_BUNDLES_KEPT
    old = AgentConfigBundle.objects.filter(data_plane=plane, revision__lte=oldest)
    old.exclude(revision__in=(plane.active_revision, plane.applied_revision)).delete()


def _build_row(plane: DataPlane, name: tuple[str, ClaimKey], record: RememberedClaim) -> ClaimRecord:
    team, key = name
    return ClaimRecord(
        data_plane=plane,
        team=team,
        kind=key.kind.value,
        name=key.name,
        version=key.version,
        pin=key.pin,
        source=record.document.source,
        document=record.document.name,
        first_accepted_at=record.first_accepted_at,
        established=record.established,
        gone_at=record.gone_at,
    )
