"""Who the caller is, as Flyte's clients read it: IdentityService and GET /me."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from controlplane.access.models import Principal
from controlplane.access.team_models import Membership
from controlplane.identity.callers import Caller

_CLAIM_HEADER = "X-User-Claim-"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Claims about a caller, by the names of OpenID Connect. All are empty for an anonymous caller.

    subject: the principal's id, which never changes. additional_claims: other claims by name.
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
            "additionalClaims": self.additional_claims or None,
        }

    def headers(self) -> dict[str, str]:
        """Return the response headers of GET /me, for proxies. Claims are JSON."""
        if not self.subject:
            return {}
        claims = {
            f"{_CLAIM_HEADER}{name.replace('_', '-')}": json.dumps(value)
            for name, value in self.additional_claims.items()
        }
        return {"X-User-Subject": self.subject, **claims}


def user_info(caller: Caller | None) -> UserInfo:
    """Return what is known about the caller; None and anonymous readers have empty claims."""
    if caller is None or caller.principal_id is None:
        return UserInfo()
    principal = Principal.objects.get(id=caller.principal_id)
    teams = Membership.objects.filter(principal=principal).values_list("team__slug", flat=True)
    return UserInfo(
        subject=str(principal.id),
        name=principal.display_name or principal.name,
        preferred_username=principal.name,
        email=principal.email,
        additional_claims={"groups": sorted(set(teams)), "kind": principal.kind},
    )
