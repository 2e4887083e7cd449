"""Tables of trusted issuers, whose tokens workloads exchange for tokens of the control plane."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7


class TrustedIssuer(models.Model):
    """An issuer of workload tokens: a Kubernetes cluster, GitHub Actions and the like.

    jwks_uri: of its keys; empty if its discovery document names them. jwks: its keys, pinned. audiences: a
    token must have one of them. rules: as `rules.Rule`; the first match decides. max_ttl: in seconds.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    issuer = models.CharField(max_length=255, unique=True)
    jwks_uri = models.CharField(max_length=1000, blank=True, default="")
    jwks: Any = models.JSONField(null=True)
    audiences: Any = models.JSONField()
    rules: Any = models.JSONField()
    max_ttl = models.IntegerField()
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.issuer


class UsedTokenId(models.Model):
    """A token that was exchanged and must not be exchanged again. digest: of its issuer and `jti`."""

    digest = models.BinaryField(max_length=32, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"used until {self.expires_at}"
