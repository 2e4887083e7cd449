"""Tables of organisations, teams and memberships."""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.db.models import Value
from django.db.models.functions import Now

from controlplane.identity.grants import TeamRef
from controlplane.ids import uuid7

# The organisation of all rows unless ORGANISATIONS=on. A constant, so that COPY needs no look-up.
DEFAULT_ORGANISATION = UUID("00000000-0000-7000-8000-000000000001")


class Via(models.TextChoices):
    """The origin of a membership or role. Each origin replaces only its own rows."""

    MANUAL = "manual"
    CLAIM = "claim"
    SCIM = "scim"


class Organisation(models.Model):
    """A tenant of the installation. There is one, `default`, unless ORGANISATIONS=on."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slug = models.CharField(max_length=63, unique=True)
    title = models.CharField(max_length=255, blank=True, default="")
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.slug


class OrganisationProject(models.Model):
    """A project of an organisation. Projects without a row belong to the installation."""

    project = models.CharField(primary_key=True, max_length=63)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="projects")

    def __str__(self) -> str:
        return self.project


def organisation_field() -> models.ForeignKey[Organisation, Organisation]:
    """Return a column for the organisation of a row."""
    return models.ForeignKey(
        Organisation,
        on_delete=models.PROTECT,
        default=DEFAULT_ORGANISATION,
        db_default=Value(DEFAULT_ORGANISATION, models.UUIDField()),
        related_name="+",
        db_index=False,
    )


class Team(models.Model):
    """A team: people and services that own agents, documents and data planes together."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organisation = organisation_field()
    slug = models.CharField(max_length=63)
    title = models.CharField(max_length=255, blank=True, default="")
    # The group of an identity provider that it mirrors (SCIM).
    external_group = models.CharField(max_length=255, null=True)  # NULL is "none", and unique
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "slug"], name="team_slug_is_unique"),
            models.UniqueConstraint(fields=["organisation", "external_group"], name="team_group_is_unique"),
        ]

    @property
    def ref(self) -> TeamRef:
        return TeamRef(self.id, self.slug)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """A principal in a team. via: who keeps the row."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    principal = models.ForeignKey("access.Principal", on_delete=models.CASCADE, related_name="memberships")
    via = models.CharField(max_length=8, choices=Via.choices, default=Via.MANUAL)
    seen_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "principal", "via"], name="membership_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.principal} in {self.team}"
