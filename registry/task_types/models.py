"""Tables of the task types that agents serve, and a view of all task type names."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action


class ServedTaskTypeQuerySet(OwnedQuerySet["ServedTaskType"]):
    team_path = "agent__team_id"
    read_action = Action.AGENT_READ


class ServedTaskType(models.Model):
    """A version of a task type that an agent serves, by its registration."""

    id = models.BigAutoField(primary_key=True)
    agent = models.ForeignKey("registry.Agent", on_delete=models.CASCADE, related_name="served_task_types")
    name = models.CharField(max_length=128)
    version = models.CharField(max_length=63, db_default="")
    since = models.DateTimeField(db_default=Now())

    objects = ServedTaskTypeQuerySet.as_manager()

    class Meta:
        app_label = "registry"
        constraints = [
            models.UniqueConstraint(fields=["agent", "name", "version"], name="task_type_once_of_agent")
        ]
        indexes = [models.Index(fields=["name", "version", "id"], name="task_type_by_name")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class TaskTypeName(models.Model):
    """A database view: names that agents serve (without a team) and names that teams publish."""

    name = models.CharField(primary_key=True, max_length=200)
    team = models.CharField(max_length=63)

    class Meta:
        app_label = "registry"
        managed = False

    def __str__(self) -> str:
        return self.name
