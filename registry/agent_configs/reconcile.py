"""Reconcile sources, pending changes and data planes every few seconds."""

from __future__ import annotations

from django.db import transaction

from controlplane.database.clock import database_now
from controlplane.identity.actors import system
from registry.agent_configs.delivery.acknowledgements import alert_silent_planes
from registry.agent_configs.delivery.announce import update_configuration_etags
from registry.agent_configs.publishing.publish import delete_tombstones
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.sources.cluster.synchronise import mark_silent_watcher
from registry.agent_configs.sources.folder import synchronise

_ACTOR = system("agent_configs")


def reconcile() -> list[str]:
    """Run one pass and return the data planes that got a new bundle. A repeated pass changes nothing."""
    synchronise()
    mark_silent_watcher()
    with transaction.atomic():
        now = database_now()
        delete_tombstones(now=now)
        alert_silent_planes(now=now)
    changed_planes = recompute_all(_ACTOR)
    update_configuration_etags()
    return changed_planes
