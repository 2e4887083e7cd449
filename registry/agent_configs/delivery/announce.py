"""Set the active configuration of each environment; agents get its ETag with every heartbeat.

An agent's configuration is that of the data plane with the name of its environment.
"""

from __future__ import annotations

from django.db.models import F

from registry.agent_configs.delivery.data_planes import Format, bundle_etag
from registry.agent_configs.models import AgentConfigBundle
from registry.environments.models import Environment


def update_configuration_etags() -> None:
    """Update the ETags of environments whose active configuration changed."""
    in_force = AgentConfigBundle.objects.select_related("data_plane").defer("text", "body")
    etags = {
        row.data_plane.name: bundle_etag(row.data_plane, row.digest, Format.YAML)
        for row in in_force.filter(revision=F("data_plane__active_revision"))
    }
    for environment in Environment.objects.exclude(name=""):
        etag = etags.get(environment.name, "")
        if environment.configuration_etag != etag:
            Environment.objects.filter(id=environment.id).update(configuration_etag=etag)
