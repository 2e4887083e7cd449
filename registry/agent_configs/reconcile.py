"""Reconcile sources, pending changes and data planes every few seconds."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from controlplane.database.clock import database_now
from controlplane.identity.actors import system
from registry.agent_configs.delivery.acknowledgements import alert_silent_planes
from registry.agent_configs.delivery.data_planes import Format, bundle_etag
from registry.agent_configs.models import AgentConfigBundle
from registry.agent_configs.publishing.publish import delete_tombstones
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.sources.cluster.synchronise import mark_silent_watcher
from registry.agent_configs.sources.folder import synchronise
from registry.agent_configs.sources.registered.silence import mark_silent_clusters
from registry.environments.models import Environment

_ACTOR = system("agent_configs")


def reconcile() -> list[str]:
    """Run one pass and return the data planes that got a new bundle. A repeated pass changes nothing."""
    synchronise()
    mark_silent_watcher()
    mark_silent_clusters()
    with transaction.atomic():
        now = database_now()
        delete_tombstones(now=now)
        alert_silent_planes(now=now)
    changed_planes = recompute_all(_ACTOR)
    _update_configuration_etags()
    return changed_planes


def _update_configuration_etags() -> None:
    """Update the ETags of environments whose active configuration changed; agents get them with heartbeats.

    An agent's configuration is that of the data plane with the name of its environment.
    """
    in_force = AgentConfigBundle.objects.select_related("data_plane").defer("text", "body")
    etags = {
        row.data_plane.name: bundle_etag(row.data_plane, row.digest, Format.YAML)
        for row in in_force.filter(revision=F("data_plane__active_revision"))
    }
    for environment in Environment.objects.exclude(name=""):
        etag = etags.get(environment.name, "")
        if environment.configuration_etag != etag:
            Environment.objects.filter(id=environment.id).update(configuration_etag=etag)
