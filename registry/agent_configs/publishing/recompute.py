"""Bring each data plane its next bundle: one recompute at a time, over all processes.

A data plane whose inputs are what they were is passed over, so doing it again changes nothing. What goes
wrong for one data plane leaves the others, and its own last good bundle, as they are.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.events import log as event_log
from controlplane.identity.actors import Actor
from registry.agent_configs import serialization
from registry.agent_configs.bundles.compute import Recomputed, recompute
from registry.agent_configs.bundles.differences import summary
from registry.agent_configs.bundles.rendering import as_yaml, digest
from registry.agent_configs.event_types import BUNDLE_ACTIVATED, BUNDLE_HELD
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.statuses import store_statuses
from registry.agent_configs.storage.input_digests import inputs_of_all, inputs_of_plane
from registry.agent_configs.storage.load_documents import load_documents
from registry.agent_configs.storage.load_inputs import Loaded, load_ownership, load_world
from registry.agent_configs.storage.retention import forget_old_bundles, store_history
from registry.agent_configs.storage.team_parts import store_parts

_TOLD = 1000
log = structlog.get_logger(__name__)


@transaction.atomic
def recompute_all(actor: Actor) -> list[str]:
    """Recompute what has other inputs than last time; return the data planes that got a new bundle."""
    lock_publishing()
    now = database_now()
    common = inputs_of_all(now)
    # A change comes to earlier stages first.
    planes = DataPlane.objects.order_by("stage", "name")
    due = [plane for plane in planes if inputs_of_plane(plane, common) != plane.inputs_digest]
    if not due:
        return []
    documents, ownership = load_documents(now=now), load_ownership()
    given = []
    for plane in due:
        try:
            with transaction.atomic():
                loaded = load_world(plane, documents, ownership, now=now)
                if _recompute_one(plane, loaded, common, actor, now=now):
                    given.append(plane.name)
        except Exception as error:
            _tell_failure(plane, error)
    return given


def _recompute_one(plane: DataPlane, loaded: Loaded, common: str, actor: Actor, *, now: datetime) -> bool:
    """Returns whether the data plane is given another bundle than before."""
    found = recompute(loaded.world, now=now)
    before = digest(loaded.world.active) if loaded.world.active else ""
    after = digest(found.bundle)
    is_new = not found.held and after != before
    if found.held:
        _hold(plane, found, after)
    else:
        plane.held = None
    if is_new:
        _activate(plane, found, after, actor)
    plane.inputs_digest = inputs_of_plane(plane, common)
    plane.save()
    store_history(plane, loaded.world.history, found.history)
    store_parts(plane, found.division, activated=not found.held)
    in_force = loaded.world.active if found.held else found.bundle
    store_statuses(plane, loaded, found, in_force, now=now)
    return is_new


def _activate(plane: DataPlane, found: Recomputed, sha256: str, actor: Actor) -> None:
    revision = plane.latest_revision + 1
    AgentConfigBundle.objects.create(
        data_plane=plane,
        revision=revision,
        parent=plane.active_revision,
        digest=sha256,
        text=as_yaml(found.bundle),
        body=serialization.write_bundle(found.bundle),
        changes=list(summary(found.difference))[:_TOLD],
        created_by=actor.name,
    )
    plane.latest_revision = plane.active_revision = revision
    plane.activated_at = database_now()
    plane.ack_state, plane.acked_at, plane.ack_errors = "", None, []
    forget_old_bundles(plane)
    data = {"data_plane": plane.name, "revision": revision, "digest": sha256}
    event_log.append(
        BUNDLE_ACTIVATED,
        "data_plane",
        plane.name,
        data=data,
        actor=actor.name,
        request_id=actor.request_id,
    )


def _hold(plane: DataPlane, found: Recomputed, sha256: str) -> None:
    """Note why the bundle waits, and tell it once."""
    held = {
        "digest": sha256,
        "reasons": [{"gate": one.gate.value, "message": one.message} for one in found.held],
        "changes": list(summary(found.difference))[:_TOLD],
    }
    if plane.held != held:
        plane.held = held
        _tell_held(plane, held)


def _tell_failure(plane: DataPlane, error: Exception) -> None:
    """A fault of ours must not stop anybody's publication: the next look tries again."""
    log.error("agent_configs.recompute_failed", data_plane=plane.name, exc_info=error)
    reason = {"gate": "failed", "message": "The configuration could not be computed. The log has the cause."}
    held = {"digest": "", "reasons": [reason], "changes": []}
    current = DataPlane.objects.get(name=plane.name)
    if current.held != held:
        DataPlane.objects.filter(name=plane.name).update(held=held)
        _tell_held(plane, held)


def _tell_held(plane: DataPlane, held: dict[str, Any]) -> None:
    reason = held["reasons"][0]
    event_log.append(
        BUNDLE_HELD,
        "data_plane",
        plane.name,
        data={"data_plane": plane.name, "digest": held["digest"], **reason},
        actor="system:agent_configs",
    )
