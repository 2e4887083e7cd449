"""Recompute the bundles of data planes, one recompute at a time across all processes.

A data plane with unchanged inputs is skipped, so a repeated run changes nothing. A failure for one data
plane affects neither the others nor its own last good bundle.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from controlplane.access.organisations import of_all_organisations
from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.events import log as event_log
from controlplane.identity.actors import Actor
from registry.agent_configs import serialization
from registry.agent_configs.bundles.compute import RecomputeResult, recompute
from registry.agent_configs.bundles.differences import summarize_difference
from registry.agent_configs.bundles.rendering import as_yaml, bundle_digest
from registry.agent_configs.event_types import BUNDLE_ACTIVATED, BUNDLE_HELD
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.statuses import store_statuses
from registry.agent_configs.storage.input_digests import common_inputs_digest, plane_inputs_digest
from registry.agent_configs.storage.load_documents import load_documents
from registry.agent_configs.storage.load_inputs import LoadedInputs, load_inputs, load_ownership
from registry.agent_configs.storage.retention import delete_old_bundles, store_history
from registry.agent_configs.storage.team_parts import store_parts

_MAX_REPORTED = 1000
log = structlog.get_logger(__name__)


@transaction.atomic
@of_all_organisations()
def recompute_all(actor: Actor) -> list[str]:
    """Recompute data planes with changed inputs; return those that got a new bundle."""
    lock_publishing()
    now = database_now()
    common = common_inputs_digest(now)
    # Earlier stages get a change first.
    planes = DataPlane.objects.order_by("stage", "name")
    due = [plane for plane in planes if plane_inputs_digest(plane, common) != plane.inputs_digest]
    if not due:
        return []
    documents, ownership = load_documents(now=now), load_ownership()
    changed_planes = []
    for plane in due:
        try:
            with transaction.atomic():
                loaded = load_inputs(plane, documents, ownership, now=now)
                if _recompute_one(plane, loaded, common, actor, now=now):
                    changed_planes.append(plane.name)
        except Exception as error:
            _hold_after_failure(plane, error)
    return changed_planes


def _recompute_one(
    plane: DataPlane, loaded: LoadedInputs, common: str, actor: Actor, *, now: datetime
) -> bool:
    """Recompute one data plane and return whether it got a new bundle."""
    result = recompute(loaded.inputs, now=now)
    before = bundle_digest(loaded.inputs.active) if loaded.inputs.active else ""
    after = bundle_digest(result.bundle)
    is_new = not result.holds and after != before
    if result.holds:
        _hold(plane, result, after)
    else:
        plane.held = None
    if is_new:
        _activate(plane, result, after, actor)
    plane.inputs_digest = plane_inputs_digest(plane, common)
    plane.save()
    store_history(plane, loaded.inputs.history, result.history)
    store_parts(plane, result.division, activated=not result.holds)
    in_force = loaded.inputs.active if result.holds else result.bundle
    store_statuses(plane, loaded, result, in_force, now=now)
    return is_new


def _activate(plane: DataPlane, result: RecomputeResult, sha256: str, actor: Actor) -> None:
    revision = plane.latest_revision + 1
    AgentConfigBundle.objects.create(
        data_plane=plane,
        revision=revision,
        parent=plane.active_revision,
        digest=sha256,
        text=as_yaml(result.bundle),
        body=serialization.bundle_to_json(result.bundle),
        changes=list(summarize_difference(result.difference))[:_MAX_REPORTED],
        created_by=actor.name,
    )
    plane.latest_revision = plane.active_revision = revision
    plane.activated_at = database_now()
    plane.ack_state, plane.acked_at, plane.ack_errors = "", None, []
    delete_old_bundles(plane)
    data = {"data_plane": plane.name, "revision": revision, "digest": sha256}
    event_log.append(
        BUNDLE_ACTIVATED,
        "data_plane",
        plane.name,
        data=data,
        actor=actor.name,
        request_id=actor.request_id,
        team_id=plane.bundle_owner_id,
    )


def _hold(plane: DataPlane, result: RecomputeResult, sha256: str) -> None:
    """Store why the bundle is held, and append an event once."""
    hold = {
        "digest": sha256,
        "reasons": [{"gate": hold.gate.value, "message": hold.message} for hold in result.holds],
        "changes": list(summarize_difference(result.difference))[:_MAX_REPORTED],
    }
    if plane.held != hold:
        plane.held = hold
        _append_held_event(plane, hold)


def _hold_after_failure(plane: DataPlane, error: Exception) -> None:
    """Hold the data plane after an internal error, which must not block publishing; the next run retries."""
    log.error("agent_configs.recompute_failed", data_plane=plane.name, exc_info=error)
    reason = {
        "gate": "failed",
        "message": "The configuration could not be computed. See the server log for the cause.",
    }
    hold = {"digest": "", "reasons": [reason], "changes": []}
    current = DataPlane.objects.get(name=plane.name)
    if current.held != hold:
        DataPlane.objects.filter(name=plane.name).update(held=hold)
        _append_held_event(plane, hold)


def _append_held_event(plane: DataPlane, hold: dict[str, Any]) -> None:
    reason = hold["reasons"][0]
    event_log.append(
        BUNDLE_HELD,
        "data_plane",
        plane.name,
        data={"data_plane": plane.name, "digest": hold["digest"], **reason},
        actor="system:agent_configs",
        team_id=plane.bundle_owner_id,
    )
