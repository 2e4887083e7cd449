"""Tables of users and groups as the identity provider sent them."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Lower, Now


class ScimUser(models.Model):
    """A user of the identity provider, and the person here. document: as sent, without a password.

    Its SCIM id is that of the person.
    """

    principal = models.OneToOneField(
        "access.Principal", primary_key=True, on_delete=models.CASCADE, related_name="scim_user"
    )
    user_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True, default="", db_index=True)
    document: Any = models.JSONField(default=dict)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(Lower("user_name"), name="scim_user_name_is_unique")]

    def __str__(self) -> str:
        return self.user_name


class ScimGroup(models.Model):
    """A group of the identity provider, and the team here. Its SCIM id is that of the team."""

    team = models.OneToOneField(
        "access.Team", primary_key=True, on_delete=models.CASCADE, related_name="scim_group"
    )
    display_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True, default="", db_index=True)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(Lower("display_name"), name="scim_group_name_is_unique")]

    def __str__(self) -> str:
        return self.display_name
