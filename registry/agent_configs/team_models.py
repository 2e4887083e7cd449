"""The table of publishing teams."""

from __future__ import annotations

from django.db import models

from controlplane.access.team_models import Team
from registry.agent_configs.models import NAME_LENGTH


class PublishingTeam(models.Model):
    """What the registry holds of a team that publishes; its publishers are role bindings.

    organisation: readers without a role for one of its teams do not see the team's documents; empty: all do.
    version: of the organisation and the publishers; a trigger counts changes of the role bindings.
    """

    team = models.OneToOneField(Team, on_delete=models.CASCADE, primary_key=True, related_name="publishing")
    organisation = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    version = models.IntegerField(default=1, db_default=1)

    class Meta:
        db_table = "registry_teampublishing"

    def __str__(self) -> str:
        return str(self.team)
