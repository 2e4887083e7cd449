"""Tables of identity providers, of identities at them, and of logins that have begun."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.access.login.oidc.provider import ProviderKind
from controlplane.access.secrets.sealed_columns import register_sealed_column
from controlplane.access.team_models import organisation_field
from controlplane.ids import uuid7


class IdentityProvider(models.Model):
    """An OpenID provider that was configured with the API. secret: sealed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slug = models.CharField(max_length=63, unique=True)
    issuer = models.CharField(max_length=512)
    client_id = models.CharField(max_length=255)
    secret = models.TextField(blank=True, default="")
    title = models.CharField(max_length=255, blank=True, default="")
    kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in ProviderKind])
    scopes: Any = models.JSONField(default=list)
    group_claim = models.CharField(max_length=255)
    rules: Any = models.JSONField(default=list)
    authoritative = models.BooleanField(default=False)
    allowed_domains: Any = models.JSONField(default=list)
    tenants: Any = models.JSONField(default=list)
    is_active = models.BooleanField(default=True)
    organisation = organisation_field()
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.slug

    @property
    def secret_context(self) -> str:
        return f"identity_provider/{self.id}/secret"


class Identity(models.Model):
    """An account at an issuer, and the person to whom it belongs. It is known by issuer and subject alone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey("access.Principal", on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=512)
    subject = models.CharField(max_length=255)
    email = models.CharField(max_length=254, blank=True, default="")
    email_verified = models.BooleanField(default=False)
    last_login_at = models.DateTimeField(null=True)
    # SHA-256 of the claims that rules read at the last login, to show when they changed.
    claims_hash = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_is_unique")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class LoginAttempt(models.Model):
    """A login that has begun, by the SHA-256 digest of its browser's cookie. It is deleted by its first use.

    State, nonce and code verifier are derived from the cookie, so that the row has no secret. person: to whom
    the identity is to be linked; None for a login.
    """

    digest = models.BinaryField(max_length=32, primary_key=True)
    provider = models.CharField(max_length=63)
    redirect_url = models.CharField(max_length=2048)
    person = models.ForeignKey("access.Principal", null=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"at {self.provider}"


class UsedLogoutToken(models.Model):
    """A logout token that was used, by the SHA-256 digest of issuer and `jti`: it cannot be used again."""

    digest = models.BinaryField(max_length=32, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"until {self.expires_at}"


register_sealed_column("access.IdentityProvider", "secret", lambda row: row.secret_context)
# Not bound to the row: a session gets a new row whenever its key changes.
register_sealed_column("access.Session", "id_token", lambda row: f"session/{row.principal_id}/id_token")
