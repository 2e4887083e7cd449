"""Tables of followed sources, with the result of the last read: the folder, and clusters."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

# With a namespace and a name it must fit wherever a document is named.
CLUSTER_NAME_LENGTH = 40


class SourceRow(models.Model):
    is_synced = models.BooleanField(default=True)
    digest = models.CharField(max_length=64, blank=True, default="")
    confirmed_digest = models.CharField(max_length=64, blank=True, default="")
    problems: Any = models.JSONField(default=list)
    pending: Any = models.JSONField(null=True)
    checked_at = models.DateTimeField(null=True)
    loaded_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class OnlySourceRow(SourceRow):
    """A source of which there is one."""

    id = models.SmallIntegerField(primary_key=True, default=1)

    class Meta:
        abstract = True


class AgentConfigFolder(OnlySourceRow):
    class Meta:
        constraints = [
            models.CheckConstraint(name="agent_config_folder_is_one_row", condition=models.Q(id=1))
        ]

    def __str__(self) -> str:
        return f"folder of agent configurations, checked at {self.checked_at}"


class AgentConfigCluster(OnlySourceRow):
    """The cluster that the watcher follows. watcher: name of the active one; counts: since it started."""

    watcher = models.CharField(max_length=255, blank=True, default="")
    counts: Any = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.CheckConstraint(name="agent_config_cluster_is_one_row", condition=models.Q(id=1))
        ]

    def __str__(self) -> str:
        return f"ConfigMaps of a cluster, checked at {self.checked_at}"


class RegisteredCluster(SourceRow):
    """A cluster whose collector reports to us.

    namespaces: those it may report; `*` is all. principal: whose reports are accepted. collector: the active
    one, with its id, version and counts. gone_digest, gone_since: missing documents, until they settle.
    """

    name = models.CharField(primary_key=True, max_length=CLUSTER_NAME_LENGTH)
    version = models.IntegerField(default=1)
    namespaces: Any = models.JSONField(default=list)
    principal = models.CharField(max_length=63, unique=True)
    collector = models.CharField(max_length=255, blank=True, default="")
    collector_id = models.UUIDField(null=True)
    collector_version = models.CharField(max_length=63, blank=True, default="")
    counts: Any = models.JSONField(default=dict)
    gone_digest = models.CharField(max_length=64, blank=True, default="")
    gone_since = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"cluster {self.name}, checked at {self.checked_at}"
