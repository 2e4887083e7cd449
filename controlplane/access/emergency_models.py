"""Table of emergency accesses."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7


class EmergencyAccess(models.Model):
    """One opened emergency access. It ends at `ends_at`, or before at `closed_at`.

    binding: of the role admin; None if the principal is an administrator anyway.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey(
        "access.Principal", on_delete=models.CASCADE, related_name="emergency_accesses"
    )
    token = models.ForeignKey("access.Token", on_delete=models.CASCADE, related_name="+")
    binding = models.ForeignKey("access.RoleBinding", null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField()
    opened_at = models.DateTimeField(db_default=Now(), editable=False)
    ends_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "emergency accesses"

    def __str__(self) -> str:
        return f"{self.principal_id} until {self.ends_at}"
