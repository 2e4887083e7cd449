"""Tables of team parts and change rates. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models

from controlplane.formats.counts import counted
from registry.agent_configs.models import NAME_LENGTH, DataPlane


class AgentConfigPart(models.Model):
    """One team's active documents in a data plane, and its held change.

    documents: source, team, name and generation of each. held: the change's digest, `reasons`, `changes` and
    `since`, the time from which it is held.
    """

    id = models.BigAutoField(primary_key=True)
    data_plane = models.ForeignKey(DataPlane, on_delete=models.CASCADE, related_name="parts")
    team = models.CharField(max_length=NAME_LENGTH)
    documents: Any = models.JSONField(default=list)
    held: Any = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["data_plane", "team"], name="agent_config_part_is_unique")
        ]
        indexes = [models.Index(fields=["team"], name="agent_config_part_by_team")]

    def __str__(self) -> str:
        return f"{self.team} in {self.data_plane_id}"


class AgentConfigPace(models.Model):
    """The changes that a team has left, which refill over time. at: time of the last change."""

    team = models.CharField(primary_key=True, max_length=NAME_LENGTH)
    left = models.FloatField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.team}: {counted(round(self.left), 'change')} left"
