"""Say for each environment which configuration is in force: its agents are told with every heartbeat.

An agent's configuration is that of the data plane which has the name of its environment.
"""

from __future__ import annotations

from django.db.models import F

from registry.agent_configs.delivery.data_planes import Format, bundle_etag
from registry.agent_configs.models import AgentConfigBundle
from registry.environments.models import Environment


def update_configuration_etags() -> None:
    """Follow what came into force, and what went, since the last look."""
    in_force = AgentConfigBundle.objects.select_related("data_plane").defer("text", "body")
    etags = {
        row.data_plane.name: bundle_etag(row.data_plane, row.digest, Format.YAML)
        for row in in_force.filter(revision=F("data_plane__active_revision"))
    }
    for environment in Environment.objects.exclude(name=""):
        etag = etags.get(environment.name, "")
        if environment.configuration_etag != etag:
            Environment.objects.filter(id=environment.id).update(configuration_etag=etag)
