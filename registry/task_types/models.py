"""Which agents serve which task types, and all names of task types that anybody knows."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ServedTaskType(models.Model):
    """An agent said that it serves this version of a task type."""

    id = models.BigAutoField(primary_key=True)
    agent = models.ForeignKey("registry.Agent", on_delete=models.CASCADE, related_name="served_task_types")
    name = models.CharField(max_length=128)
    version = models.CharField(max_length=63, db_default="")
    since = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "registry"
        constraints = [
            models.UniqueConstraint(fields=["agent", "name", "version"], name="task_type_once_of_agent")
        ]
        indexes = [models.Index(fields=["name", "version", "id"], name="task_type_by_name")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class TaskTypeName(models.Model):
    """A view: names that agents serve, without a team, and names that teams publish."""

    name = models.CharField(primary_key=True, max_length=200)
    team = models.CharField(max_length=63)

    class Meta:
        app_label = "registry"
        managed = False

    def __str__(self) -> str:
        return self.name
