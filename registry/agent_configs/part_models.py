"""What single teams have in force, and how often they change it. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models

from registry.agent_configs.models import NAME_LENGTH, DataPlane


class AgentConfigPart(models.Model):
    """What one team has in force in a data plane, and its change that waits.

    documents: source, team, name and generation of each. held: the digest of the change, its `reasons` and
    `changes`, and `since` when it waits.
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
    """How many changes a team may still make: it grows with time, up to a limit. at: of the last change."""

    team = models.CharField(primary_key=True, max_length=NAME_LENGTH)
    left = models.FloatField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.team}: {self.left:.0f} changes left"
