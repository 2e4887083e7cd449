"""Tables of principals, teams, their tokens, sessions and roles, and the audit log."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from controlplane.access.emergency_models import EmergencyAccess  # noqa: F401  (a table of this app)
from controlplane.access.team_models import Team, Via, organisation_field
from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Action, Role
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, Scope


class PrincipalKind(models.TextChoices):
    PERSON = "person"
    SERVICE = "service"
    AGENT = "agent"


class PrincipalManager(BaseUserManager["Principal"]):
    def get_by_natural_key(self, username: str | None) -> Principal:
        # Only people log in with a password.
        return self.get(name=username, kind=PrincipalKind.PERSON)


class Principal(AbstractBaseUser):
    """A person, service or agent that can be granted roles."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63, unique=True)
    kind = models.CharField(max_length=16, choices=PrincipalKind.choices)
    is_active = models.BooleanField(default=True)
    # Shown only; from the identity provider. The name never changes.
    display_name = models.CharField(max_length=255, blank=True, default="", db_default="")
    email = models.CharField(max_length=254, blank=True, default="", db_default="")
    organisation = organisation_field()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    USERNAME_FIELD = "name"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = PrincipalManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="principal_kind_is_known", condition=models.Q(kind__in=PrincipalKind.values)
            )
        ]

    def __str__(self) -> str:
        return self.name


class Token(models.Model):
    """A secret that authenticates a principal. Only its SHA-256 digest is stored.

    parent: the token with which it was created. It expires no later than its parent and is revoked with it.
    scopes: ceilings of an OAuth token (controlplane.identity.ceilings); NULL for no ceiling.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=63)
    hint = models.CharField(max_length=16)
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    # Of an interactive OAuth login: when the person entered credentials. NULL for machine tokens.
    auth_time = models.DateTimeField(null=True)
    # Few tokens have a parent: the partial index below omits the rest.
    parent = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="children", db_index=False
    )
    scopes: Any = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["parent"], name="token_by_parent", condition=models.Q(parent__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.hint}… ({self.name})"


class Session(models.Model):
    """A browser that is logged in to the console. Only the SHA-256 digest of its cookie is stored.

    data: signed by Django. address: of its last use. browser: such as "Firefox on Linux". provider, identity,
    provider_sid, id_token (sealed): of a login at an identity provider. auth_time, acr, amr: when and how the
    person authenticated.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey(Principal, null=True, on_delete=models.CASCADE, related_name="sessions")
    digest = models.BinaryField(max_length=32, unique=True)
    data = models.TextField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(db_index=True)
    address = models.CharField(max_length=45, blank=True)
    browser = models.CharField(max_length=63, blank=True)
    identity = models.ForeignKey(
        "access.Identity", null=True, on_delete=models.CASCADE, related_name="sessions"
    )
    provider = models.CharField(max_length=63, blank=True, default="", db_default="")
    provider_sid = models.CharField(max_length=255, blank=True, default="", db_default="")
    id_token = models.TextField(blank=True, default="", db_default="")
    auth_time = models.DateTimeField(null=True)
    acr = models.CharField(max_length=255, blank=True, default="", db_default="")
    amr: Any = models.JSONField(default=list, db_default=[])

    class Meta:
        indexes = [
            models.Index(
                fields=["provider_sid"],
                name="session_by_provider_sid",
                condition=~models.Q(provider_sid=""),
            )
        ]

    def __str__(self) -> str:
        return f"{self.browser} at {self.address}"


class CustomRole(models.Model):
    """A role of the operators' own: a name and its actions."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63, unique=True)
    title = models.CharField(max_length=255, blank=True, default="")
    actions: Any = models.JSONField()
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.name

    @property
    def known_actions(self) -> frozenset[Action]:
        """Its actions. One that no longer exists allows nothing."""
        return frozenset(Action(name) for name in self.actions if name in set(Action))


class RoleBinding(models.Model):
    """A role at a scope and below it, held by a principal or by all members of a team.

    owned_by: limits the role to objects of this team. expires_at: it has no effect from then on.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey(
        Principal, null=True, on_delete=models.CASCADE, related_name="role_bindings"
    )
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="role_bindings")
    role = models.CharField(max_length=63)
    custom_role = models.ForeignKey(CustomRole, null=True, on_delete=models.PROTECT, related_name="bindings")
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    owned_by = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="limited_bindings")
    via = models.CharField(max_length=8, choices=Via.choices, default=Via.MANUAL, db_default=Via.MANUAL.value)
    expires_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["principal", "team", "role", *SEGMENTS, "owned_by", "via"],
                name="role_binding_is_unique_for_holder",
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="role_binding_has_legal_shape", condition=legal_shape()),
            models.CheckConstraint(
                name="role_binding_role_exists",
                condition=models.Q(role__in=[role.value for role in Role], custom_role=None)
                | models.Q(custom_role__isnull=False),
            ),
            models.CheckConstraint(
                name="role_binding_has_one_holder",
                condition=models.Q(principal=None, team__isnull=False)
                | models.Q(principal__isnull=False, team=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)

    @property
    def grant(self) -> Grant:
        actions = self.custom_role.known_actions if self.custom_role else None
        return Grant(self.role, self.scope, self.owned_by.ref if self.owned_by else None, actions)

    @property
    def holder(self) -> str:
        """Return the name of the principal, or `team:<name>`."""
        return f"team:{self.team.slug}" if self.team else str(self.principal)


class AuditRecord(models.Model):
    """One mutation: its actor, its object before and after. Written with it, never changed."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now(), editable=False)
    actor_id: UUID | None = models.UUIDField(null=True)  # type: ignore[assignment]  # no foreign key: it outlives the principal
    actor = models.CharField(max_length=63)
    action = models.CharField(max_length=63)
    object_type = models.CharField(max_length=63)
    object_id = models.CharField(max_length=1200)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    # The team that owned the object; NULL: the platform. No foreign key: the record outlives the team.
    team_id = models.UUIDField(null=True)
    before: Any = models.JSONField(null=True)
    after: Any = models.JSONField(null=True)
    reason = models.TextField(blank=True, default="")
    request_id = models.CharField(max_length=64)
    # How the actor was authenticated; NULL in records from before these columns, and for the system.
    client = models.CharField(max_length=255, null=True)
    identity = models.CharField(max_length=600, null=True)
    session_hint = models.CharField(max_length=63, null=True)
    # Of the event that reports the mutation; NULL in records from before this column.
    event_id = models.UUIDField(null=True)

    objects = ScopedQuerySet["AuditRecord"].as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["object_type", "object_id", "id"], name="audit_by_object"),
            models.Index(fields=["actor", "id"], name="audit_by_actor"),
            models.Index(fields=["request_id"], name="audit_by_request"),
            # Rows are inserted in the order of their times, so that this index is small and cheap to update.
            BrinIndex(fields=["at"], name="audit_by_time", autosummarize=True),
        ]

    def __str__(self) -> str:
        return f"{self.at}: {self.actor} {self.action} {self.object_type} {self.object_id}"
