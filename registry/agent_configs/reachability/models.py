"""The table of endpoints, with one row per endpoint for all documents."""

from __future__ import annotations

from typing import Any

from django.db import models

from registry.agent_configs.bundles.conditions import Status
from registry.agent_configs.reachability.judge import Finding, Outcome

_STATUSES = [(status.value, status.value) for status in Status]


class AgentEndpoint(models.Model):
    """An agent endpoint. due_at: time of the next probe; checked_at: None before the first one.

    reported: task types that the agent lists.
    """

    id = models.BigAutoField(primary_key=True)
    endpoint = models.CharField(max_length=1000)
    insecure = models.BooleanField()
    status = models.CharField(max_length=8, choices=_STATUSES, db_default=Status.UNKNOWN.value)
    reason = models.CharField(max_length=32, db_default="NotProbed")
    message = models.CharField(max_length=500, db_default="")
    reported: Any = models.JSONField(null=True)
    leaning = models.CharField(max_length=8, choices=_STATUSES, db_default=Status.UNKNOWN.value)
    streak = models.IntegerField(db_default=0)
    due_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "registry"
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "insecure"], name="agent_endpoint_is_unique")
        ]
        indexes = [models.Index(fields=["due_at"], name="agent_endpoint_by_due_at")]

    def __str__(self) -> str:
        return self.endpoint

    @property
    def outcome(self) -> Outcome:
        reported = None if self.reported is None else frozenset(self.reported)
        return Outcome(Status(self.status), self.reason, self.message, reported)

    @property
    def finding(self) -> Finding:
        return Finding(self.outcome, Status(self.leaning), self.streak)
