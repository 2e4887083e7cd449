"""Tables of principals, their tokens, sessions and roles, and the audit log."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.identity.roles import Grant, Role
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

    class Meta:
        indexes = [
            models.Index(fields=["parent"], name="token_by_parent", condition=models.Q(parent__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.hint}… ({self.name})"


class Session(models.Model):
    """A browser that is logged in to the console. Only the SHA-256 digest of its cookie is stored.

    data: signed by Django. address: of its last use. browser: such as "Firefox on Linux".
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

    def __str__(self) -> str:
        return f"{self.browser} at {self.address}"


class RoleBinding(models.Model):
    """A role of a principal at a scope and below it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey(Principal, on_delete=models.CASCADE, related_name="role_bindings")
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["principal", "role", *SEGMENTS], name="role_binding_is_unique"),
            models.CheckConstraint(name="role_binding_has_legal_shape", condition=legal_shape()),
            models.CheckConstraint(
                name="role_binding_role_is_known", condition=models.Q(role__in=[role.value for role in Role])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)

    @property
    def grant(self) -> Grant:
        return Grant(Role(self.role), self.scope)


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
    before: Any = models.JSONField(null=True)
    after: Any = models.JSONField(null=True)
    reason = models.TextField(blank=True, default="")
    request_id = models.CharField(max_length=64)
    # How the actor was authenticated; NULL in records from before these columns, and for the system.
    client = models.CharField(max_length=255, null=True)
    identity = models.CharField(max_length=600, null=True)
    session_hint = models.CharField(max_length=32, null=True)

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
