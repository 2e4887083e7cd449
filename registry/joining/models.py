"""Tables of join tokens and of the joins made with them."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action
from controlplane.ids import uuid7


class Admission(models.Model):
    """The terms that a join token granted to an agent. They limit the credential that the agent got."""

    # No foreign key: the row outlives the agent's record, as the credential does.
    principal_id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=255)
    # Empty means any.
    environment = models.CharField(max_length=255, blank=True)
    service_types: Any = models.JSONField()
    # Until an operator approves the agent.
    needs_approval = models.BooleanField()

    def __str__(self) -> str:
        return self.name


class JoinTokenQuerySet(OwnedQuerySet["JoinToken"]):
    read_action = Action.ACCESS_READ


class JoinToken(models.Model):
    """A token with which agents without a credential can join, on its terms.

    issuer_rule: whose tokens are accepted in its place (issuer_rules.IssuerRule); it then has no secret.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63)
    hint = models.CharField(max_length=16)
    digest = models.BinaryField(max_length=32, unique=True)
    # "*" matches any characters.
    name_pattern = models.CharField(max_length=255)
    environment = models.CharField(max_length=255, blank=True, default="")
    service_types: Any = models.JSONField(default=list)
    needs_approval = models.BooleanField(default=False)
    may_take_over = models.BooleanField(default=False)
    uses_left = models.IntegerField()
    created_by = models.CharField(max_length=63)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    # The access token that created this token, if any. Revoking it revokes this token too.
    issuer_id = models.UUIDField(null=True, db_index=True)
    issuer_rule: Any = models.JSONField(null=True)
    # The team that owns the token and the agents that join with it; NULL: the platform.
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="+")

    objects = JoinTokenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="join_token_uses", condition=models.Q(uses_left__gte=0)),
        ]
        indexes = [
            # Few have a rule.
            models.Index(
                fields=["id"], name="join_token_with_rule", condition=models.Q(issuer_rule__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return self.name


class SubjectAgent(models.Model):
    """An agent that joined with its issuer's token, and joins again before its credential expires.

    digest: of the issuer, the subject and the agent's name.
    """

    digest = models.BinaryField(max_length=32, primary_key=True)
    # No foreign key: the row outlives the agent's record, as the credential does.
    principal_id = models.UUIDField(db_index=True)

    def __str__(self) -> str:
        return f"agent of {self.principal_id}"


class RepeatableJoin(models.Model):
    """A join with an Idempotency-Key. Repeating it issues a new credential to the same agent."""

    join_token_id = models.UUIDField()
    key_digest = models.BinaryField(max_length=32)
    body_digest = models.BinaryField(max_length=32)
    # No foreign key: rows are deleted by age, as the keys of all other calls.
    principal_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["join_token_id", "key_digest"], name="repeatable_join_key")
        ]
        indexes = [models.Index(fields=["created_at"], name="repeatable_join_by_age")]

    def __str__(self) -> str:
        return f"join of {self.principal_id}"
