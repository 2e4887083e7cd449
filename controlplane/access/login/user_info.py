"""Information about the caller for Flyte's clients (`IdentityService.UserInfo`)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from controlplane.access.login.oidc.models import Identity
from controlplane.access.models import Principal


def user_info(principal: Principal, identity_id: UUID | None = None) -> dict[str, Any]:
    """Return the caller as Flyte's JSON. identity_id: of the session's login at a provider."""
    identity = Identity.objects.filter(id=identity_id).first() if identity_id else None
    return {
        "subject": identity.subject if identity else principal.name,
        "name": principal.display_name or principal.name,
        "preferredUsername": principal.name,
        "givenName": "",
        "familyName": "",
        "email": principal.email,
        "picture": "",
        "additionalClaims": {},
    }
