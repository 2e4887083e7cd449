"""Tables of followed sources, one row each, with the result of the last read."""

from __future__ import annotations

from typing import Any

from django.db import models


class SourceRow(models.Model):
    id = models.SmallIntegerField(primary_key=True, default=1)
    is_synced = models.BooleanField(default=True)
    digest = models.CharField(max_length=64, blank=True, default="")
    confirmed_digest = models.CharField(max_length=64, blank=True, default="")
    problems: Any = models.JSONField(default=list)
    pending: Any = models.JSONField(null=True)
    checked_at = models.DateTimeField(null=True)
    loaded_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class AgentConfigFolder(SourceRow):
    class Meta:
        constraints = [
            models.CheckConstraint(name="agent_config_folder_is_one_row", condition=models.Q(id=1))
        ]

    def __str__(self) -> str:
        return f"folder of agent configurations, checked at {self.checked_at}"


class AgentConfigCluster(SourceRow):
    """The followed cluster. watcher: name of the active watcher; counts: its counts since it started."""

    watcher = models.CharField(max_length=255, blank=True, default="")
    counts: Any = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.CheckConstraint(name="agent_config_cluster_is_one_row", condition=models.Q(id=1))
        ]

    def __str__(self) -> str:
        return f"ConfigMaps of a cluster, checked at {self.checked_at}"
