"""Data planes of earlier stages."""

from __future__ import annotations

from django.conf import settings

from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.bundles.rollout import StageProgress, find_unsettled_planes
from registry.agent_configs.models import DataPlane


def find_unsettled_earlier_planes(plane: DataPlane) -> tuple[str, ...]:
    """Return the data planes that this one waits for: no team's rollout delays another's."""
    if not plane.stage:
        return ()
    planes = DataPlane.objects.filter(stage__lt=plane.stage, team=plane.team_id)
    progress = [StageProgress(plane.name, plane.stage, _is_settled(plane)) for plane in planes]
    return find_unsettled_planes(plane.stage, progress, percent=settings.AGENT_CONFIGS_STAGE_PERCENT)


def _is_settled(plane: DataPlane) -> bool:
    waits = plane.held is not None or plane.trial is not None
    works = plane.applied_revision == plane.active_revision and plane.ack_state != AckState.DEGRADED
    return works and not waits
