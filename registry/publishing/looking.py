"""What happens every few seconds: the folder, changes that wait, who has fallen silent."""

from __future__ import annotations

from django.db import transaction

from controlplane.access.actors import system
from registry.config_maps.storing import mark_silent_watcher
from registry.publishing.acks import tell_silent_planes
from registry.publishing.announcing import announce
from registry.publishing.clock import database_now
from registry.publishing.folder import synchronise
from registry.publishing.publishing import forget_tombstones
from registry.publishing.recomputing import recompute_all

_ACTOR = system("agent_configs")


def look() -> list[str]:
    """Returns the data planes that got a new bundle. Looking twice changes nothing."""
    synchronise()
    mark_silent_watcher()
    with transaction.atomic():
        now = database_now()
        forget_tombstones(now=now)
        tell_silent_planes(now=now)
    given = recompute_all(_ACTOR)
    announce()
    return given
