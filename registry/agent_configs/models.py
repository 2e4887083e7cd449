"""Tables of documents, grants, data planes and bundles. Rows only; the rules are in other modules."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import ClaimKind, DocumentId
from registry.agent_configs.source_models import CLUSTER_NAME_LENGTH

NAME_LENGTH = 63
DOCUMENT_LENGTH = 253
KINDS = [(kind.value, kind.value) for kind in ClaimKind]
DIALECTS = [(dialect.value, dialect.value) for dialect in Dialect]


class DataPlaneQuerySet(OwnedQuerySet["DataPlane"]):
    read_action = Action.AGENT_CONFIG_READ


class AgentConfig(models.Model):
    """A published document. text: the latest; content: of the last generation that was valid."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # `api`, `folder`, `kubernetes`, or the name of a registered cluster.
    source = models.CharField(max_length=CLUSTER_NAME_LENGTH)
    team = models.CharField(max_length=NAME_LENGTH)
    name = models.CharField(max_length=DOCUMENT_LENGTH)
    text = models.TextField()
    digest = models.CharField(max_length=64)
    generation = models.IntegerField(default=1)
    diagnostics: Any = models.JSONField(default=list)
    is_parsed = models.BooleanField(default=True)
    is_valid = models.BooleanField(default=True)
    content: Any = models.JSONField(null=True)
    content_generation = models.IntegerField(default=0)
    # When the content was last the latest.
    content_seen_at = models.DateTimeField(null=True)
    facts: Any = models.JSONField(default=dict)
    canary: Any = models.JSONField(null=True)
    # Times of the last changes, to detect flapping.
    recent_changes: Any = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)
    # A tombstone keeps the generation, so that an old ETag never matches a new document.
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "team", "name"], name="agent_config_is_unique"),
        ]
        indexes = [models.Index(fields=["team", "name", "source"], name="agent_config_by_team")]

    def __str__(self) -> str:
        return str(self.document_id)

    @property
    def document_id(self) -> DocumentId:
        return DocumentId(self.source, self.team, self.name)


class AgentConfigGeneration(models.Model):
    """The content of a valid generation, so that an older one can be served instead of a faulty one."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(AgentConfig, on_delete=models.CASCADE, related_name="generations")
    number = models.IntegerField()
    content: Any = models.JSONField()
    # Of this generation; None in older rows, which use the document's current values.
    facts: Any = models.JSONField(null=True)
    canary: Any = models.JSONField(null=True)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="agent_config_generation_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.document_id} generation {self.number}"


class AgentConfigGrant(models.Model):
    """Permission for a team to claim names that match a pattern."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.CharField(max_length=NAME_LENGTH)
    kind = models.CharField(max_length=16, choices=KINDS)
    pattern = models.CharField(max_length=128)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "pattern", "team"], name="agent_config_grant_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.team} may have {self.kind} {self.pattern}"


class AgentConfigRelease(models.Model):
    """A team's consent to give up a name once another team claims it."""

    id = models.BigAutoField(primary_key=True)
    team = models.CharField(max_length=NAME_LENGTH)
    kind = models.CharField(max_length=16, choices=KINDS)
    name = models.CharField(max_length=128)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "name", "team"], name="agent_config_release_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.team} releases {self.kind} {self.name}"


class DataPlane(models.Model):
    """A Flyte installation that reads one configuration: its spec and its progress."""

    name = models.CharField(primary_key=True, max_length=NAME_LENGTH)
    # The owner; None for the platform.
    team = models.ForeignKey(Team, null=True, on_delete=models.PROTECT, related_name="data_planes")
    version = models.IntegerField(default=1)
    dialect = models.CharField(max_length=16, choices=DIALECTS, default=Dialect.AGENT.value)
    release = models.CharField(max_length=32)
    enabled_plugins: Any = models.JSONField(default=list)
    platform: Any = models.JSONField(default=dict)
    placeholders: Any = models.JSONField(default=list)
    # Patterns of teams whose documents it gets; empty means all.
    teams: Any = models.JSONField(default=list)
    # The principal that reads and acknowledges the configuration; administrators may, too.
    principal = models.CharField(max_length=63, blank=True, default="")
    stage = models.IntegerField(default=0, db_default=0)
    config_map: Any = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())
    # Digest of the last recompute's inputs; equal inputs need no recompute.
    inputs_digest = models.CharField(max_length=64, blank=True, default="")
    # The active revision, which is served, and the highest assigned one.
    active_revision = models.IntegerField(default=0)
    activated_at = models.DateTimeField(null=True)
    latest_revision = models.IntegerField(default=0)
    applied_revision = models.IntegerField(default=0)
    # The held bundle: its digest, reasons and changes.
    held: Any = models.JSONField(null=True)
    approved: Any = models.JSONField(default=list)
    rejected: Any = models.JSONField(default=list)
    # During bisection after a rejection: the suspects, and those being tried.
    trial: Any = models.JSONField(null=True)
    ack_state = models.CharField(max_length=16, blank=True, default="")
    acked_at = models.DateTimeField(null=True)
    ack_errors: Any = models.JSONField(default=list)
    # The revision for whose missing acknowledgement an alert was raised.
    alerted_revision = models.IntegerField(default=0)

    objects = DataPlaneQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def bundle_owner_id(self) -> UUID | None:
        """The team that may read events about bundles: the owner, if it gets documents of no other team."""
        is_own = self.team is not None and self.teams == [self.team.slug]
        return self.team_id if is_own else None


class AgentConfigBundle(models.Model):
    """One revision of a data plane's configuration; a trigger prevents changes."""

    id = models.BigAutoField(primary_key=True)
    data_plane = models.ForeignKey(DataPlane, on_delete=models.CASCADE, related_name="bundles")
    revision = models.IntegerField()
    parent = models.IntegerField()
    digest = models.CharField(max_length=64)
    # The served document; `body` is its content, with the contributing documents.
    text = models.TextField()
    body: Any = models.JSONField()
    changes: Any = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["data_plane", "revision"], name="agent_config_bundle_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.data_plane_id} revision {self.revision}"


class ClaimRecord(models.Model):
    """The history of a team's claim in one data plane."""

    id = models.BigAutoField(primary_key=True)
    data_plane = models.ForeignKey(DataPlane, on_delete=models.CASCADE, related_name="claims")
    team = models.CharField(max_length=NAME_LENGTH)
    kind = models.CharField(max_length=16, choices=KINDS)
    name = models.CharField(max_length=200)
    version = models.IntegerField(default=0)
    pin = models.CharField(max_length=200, blank=True, default="")
    source = models.CharField(max_length=CLUSTER_NAME_LENGTH)
    document = models.CharField(max_length=DOCUMENT_LENGTH)
    first_accepted_at = models.DateTimeField()
    established = models.BooleanField(default=False)
    gone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["data_plane", "kind", "name", "version", "pin", "team"],
                name="agent_config_claim_is_unique",
            )
        ]
        indexes = [models.Index(fields=["name", "kind"], name="agent_config_claim_by_name")]

    def __str__(self) -> str:
        return f"{self.team} has {self.kind} {self.name} in {self.data_plane_id}"


class AgentConfigStatus(models.Model):
    """A document's status in one data plane after the last recompute."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(AgentConfig, on_delete=models.CASCADE, related_name="statuses")
    data_plane = models.ForeignKey(DataPlane, on_delete=models.CASCADE, related_name="statuses")
    conditions: Any = models.JSONField(default=list)
    # Rejected claims, with the winners.
    conflicts: Any = models.JSONField(default=list)
    observations: Any = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "data_plane"], name="agent_config_status_is_unique")
        ]
        indexes = [
            models.Index(fields=["id"], name="agent_config_conflicts", condition=~models.Q(conflicts=[]))
        ]

    def __str__(self) -> str:
        return f"{self.document_id} in {self.data_plane_id}"


class AgentConfigQuarantine(models.Model):
    """A quarantined document, in one data plane or (without one) in all.

    generation: the faulty one, if known. fallback: the generation served instead; 0 is none.
    """

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(AgentConfig, on_delete=models.CASCADE, related_name="quarantines")
    data_plane = models.ForeignKey(DataPlane, null=True, on_delete=models.CASCADE)
    reason = models.CharField(max_length=16)
    message = models.CharField(max_length=1000, blank=True, default="")
    generation = models.IntegerField(default=0)
    fallback = models.IntegerField(default=0)
    until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["document", "data_plane"], name="agent_config_quarantine_is_unique"
            ),
            models.UniqueConstraint(
                fields=["document"],
                condition=models.Q(data_plane=None),
                name="agent_config_quarantine_everywhere_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}: {self.reason}"
