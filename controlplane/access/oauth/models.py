"""Tables of OAuth clients, what they were granted, and keys. Codes and secrets are stored as digests only."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from oauth2_provider.models import AbstractApplication, AbstractGrant

from controlplane.ids import uuid7


class ClientSource(models.TextChoices):
    SETTING = "setting"
    API = "api"


class OAuthClient(AbstractApplication):
    """An application that requests tokens.

    principal: the service whose tokens it gets with its own secret; None for public clients. audiences:
    other resource servers for which it may request tokens. skip_authorization: people are not asked.
    """

    id: Any = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client_id = models.CharField(max_length=100, unique=True)
    principal: Any = models.ForeignKey(
        "access.Principal", null=True, on_delete=models.PROTECT, related_name="oauth_clients"
    )
    team: Any = models.ForeignKey(
        "access.Team", null=True, on_delete=models.PROTECT, related_name="oauth_clients"
    )
    allowed_grants: Any = ArrayField(models.CharField(max_length=100))
    allowed_scopes: Any = ArrayField(models.CharField(max_length=100))
    default_scopes: Any = ArrayField(models.CharField(max_length=100))
    audiences: Any = ArrayField(models.CharField(max_length=255), default=list)
    may_introspect = models.BooleanField(default=False)
    source = models.CharField(max_length=16, choices=ClientSource.choices, default=ClientSource.API)
    is_active = models.BooleanField(default=True)
    version = models.BigIntegerField(default=1)

    # Columns of other registrations, owners and secrets: ClientSecret holds digests, and keys sign for all.
    user: Any = None
    client_secret: Any = None
    hash_client_secret: Any = None
    authorization_grant_type: Any = None
    algorithm: Any = None
    allowed_origins: Any = None
    post_logout_redirect_uris: Any = None
    registration_source: Any = None
    cimd_expires_at: Any = None

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="oauth_client_type_is_known",
                condition=models.Q(client_type__in=["public", "confidential"]),
            ),
            models.CheckConstraint(
                name="public_oauth_client_has_no_principal",
                condition=models.Q(client_type="confidential") | models.Q(principal__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.client_id

    @property
    def is_public(self) -> bool:
        return bool(self.client_type == AbstractApplication.CLIENT_PUBLIC)

    def allows_grant_type(self, *grant_types: str) -> bool:
        names = {name.rpartition(":")[2].replace("-", "_") for name in grant_types}
        return not names.isdisjoint(self.allowed_grants)

    def is_usable(self, request: Any) -> bool:
        return self.is_active


class ClientSecret(models.Model):
    """A secret of a client. digest: SHA-256. slow_hash: bcrypt, of a secret from a file of static clients.

    warned_days: days before its expiry at which an event last warned of it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="secrets")
    hint = models.CharField(max_length=16)
    digest = models.BinaryField(max_length=32, null=True, unique=True)
    slow_hash = models.CharField(max_length=128, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    warned_days = models.SmallIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="client_secret_is_hashed",
                condition=models.Q(digest__isnull=False) ^ ~models.Q(slow_hash=""),
            )
        ]

    def __str__(self) -> str:
        return f"{self.hint}…"


class Consent(models.Model):
    """Scopes that a person allowed a client."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    principal = models.ForeignKey("access.Principal", on_delete=models.CASCADE, related_name="consents")
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="consents")
    scopes: Any = ArrayField(models.CharField(max_length=100))
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["principal", "client"], name="consent_is_unique")]

    def __str__(self) -> str:
        return f"{self.principal_id} {self.client_id}"


class TokenFamily(models.Model):
    """All tokens that follow from one login or one device code. Revoked as a whole.

    generation: of the newest refresh token. ends_at: when its refresh tokens expire at the latest.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="families")
    principal = models.ForeignKey("access.Principal", on_delete=models.CASCADE, related_name="token_families")
    scopes: Any = ArrayField(models.CharField(max_length=100))
    grant = models.CharField(max_length=100)
    audience = models.CharField(max_length=255, blank=True, default="")
    auth_time = models.DateTimeField(null=True)
    generation = models.IntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ends_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)


class OAuthAccessToken(models.Model):
    """An issued access token: which client got it, and how. Its digest is in the table of all tokens."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    token = models.OneToOneField("access.Token", on_delete=models.CASCADE, related_name="oauth")
    client = models.ForeignKey(OAuthClient, null=True, on_delete=models.CASCADE, related_name="access_tokens")
    family = models.ForeignKey(TokenFamily, null=True, on_delete=models.CASCADE, related_name="access_tokens")
    grant = models.CharField(max_length=100)
    audience = models.CharField(max_length=255, blank=True, default="")
    scopes: Any = ArrayField(models.CharField(max_length=100))

    def __str__(self) -> str:
        return str(self.id)


class RefreshToken(models.Model):
    """A refresh token. replaced_at: when it was used, and a successor took its place."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    family = models.ForeignKey(TokenFamily, on_delete=models.CASCADE, related_name="refresh_tokens")
    digest = models.BinaryField(max_length=32, unique=True)
    generation = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.family_id} generation {self.generation}"


class AccessGrant(AbstractGrant):
    """An authorization code. code: its SHA-256 digest in hexadecimal. family: the tokens that it gave."""

    id: Any = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    used_at = models.DateTimeField(null=True)
    family = models.OneToOneField(TokenFamily, null=True, on_delete=models.CASCADE, related_name="code")
    audience = models.CharField(max_length=255, blank=True, default="")
    auth_time = models.DateTimeField(null=True)
    resource: Any = models.JSONField(null=True)

    class Meta:
        indexes = [models.Index(fields=["expires"], name="access_grant_by_expiry")]


class DeviceCode(models.Model):
    """A device that waits until a person approves it in a browser.

    user_code_digest: keyed, since a user code is short. auth_time: of the approving person's login.
    address, device: where the request came from.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        USED = "used"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    digest = models.BinaryField(max_length=32, unique=True)
    user_code_digest = models.BinaryField(max_length=32, unique=True)
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="device_codes")
    principal = models.ForeignKey("access.Principal", null=True, on_delete=models.CASCADE)
    scopes: Any = ArrayField(models.CharField(max_length=100))
    audience = models.CharField(max_length=255, blank=True, default="")
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    auth_time = models.DateTimeField(null=True)
    interval = models.IntegerField()
    address = models.CharField(max_length=45, blank=True)
    device = models.CharField(max_length=100, blank=True)
    family = models.OneToOneField(
        TokenFamily, null=True, on_delete=models.CASCADE, related_name="device_code"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(db_index=True)
    polled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)


class SigningKey(models.Model):
    """A key that signs JWTs. private_key: PEM, sealed with SECRETS_KEY_FILE."""

    class State(models.TextChoices):
        NEXT = "next"
        ACTIVE = "active"
        RETIRED = "retired"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kid = models.CharField(max_length=64, unique=True)
    alg = models.CharField(max_length=8)
    private_key = models.TextField()
    public_key: Any = models.JSONField()
    state = models.CharField(max_length=16, choices=State.choices)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    activated_at = models.DateTimeField(null=True)
    not_after = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state="active"), name="one_signing_key_is_active"
            )
        ]

    def __str__(self) -> str:
        return self.kid
