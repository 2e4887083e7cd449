"""Who the caller is, as Flyte's clients read it: IdentityService and GET /me."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from controlplane.access.login.oidc.models import Identity
from controlplane.access.models import Principal
from controlplane.access.team_models import Membership

_CLAIM_HEADER = "X-User-Claim-"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Claims about a caller, by the names of OpenID Connect. All are empty for nobody.

    subject: of the identity at the provider, else the principal's name, which never changes.
    """

    subject: str = ""
    name: str = ""
    preferred_username: str = ""
    given_name: str = ""
    family_name: str = ""
    email: str = ""
    picture: str = ""
    additional_claims: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the message in lowerCamelCase, as Flyte's gateway writes it."""
        return {
            "subject": self.subject,
            "name": self.name,
            "preferredUsername": self.preferred_username,
            "givenName": self.given_name,
            "familyName": self.family_name,
            "email": self.email,
            "picture": self.picture,
            "additionalClaims": self.additional_claims,
        }

    def headers(self) -> dict[str, str]:
        """Return the headers of a response with it, for proxies. Claims are JSON."""
        claims = {
            f"{_CLAIM_HEADER}{name.replace('_', '-')}": json.dumps(value)
            for name, value in self.additional_claims.items()
        }
        return {"X-User-Subject": self.subject, **claims} if self.subject else {}


def user_info(principal: Principal, identity_id: UUID | None = None) -> UserInfo:
    """Return what is known about a principal. identity_id: of the session's login at a provider."""
    teams = Membership.objects.filter(principal=principal).values_list("team__slug", flat=True)
    return UserInfo(
        subject=_subject(principal, identity_id),
        name=principal.display_name or principal.name,
        preferred_username=principal.name,
        email=principal.email,
        additional_claims={"groups": sorted(set(teams)), "kind": principal.kind},
    )


def _subject(principal: Principal, identity_id: UUID | None) -> str:
    identities = Identity.objects.filter(principal=principal)
    if identity_id is not None:
        identities = identities.filter(id=identity_id)
    subjects = list(identities.values_list("subject", flat=True)[:2])
    return subjects[0] if len(subjects) == 1 else principal.name
