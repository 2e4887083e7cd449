"""Event types of OAuth, federation, refused access and emergency access. None contains a secret.

Names that a client supplies are cut to 63 characters. A field without a value is an empty string.
"""

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

_TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}

declare_audience("oauth", Action.ACCESS_READ)
declare_audience("federation", Action.ACCESS_READ)
declare_audience("access", Action.ACCESS_READ)

# hint: the first characters of the token, as lists show it.
OAUTH_TOKEN_ISSUED = register(
    "oauth.token_issued",
    "An access token was issued to a client.",
    principal=TEXT,
    client=TEXT,
    grant=TEXT,
    scopes=_TEXTS,
    hint=TEXT,
)
OAUTH_CONSENT_GIVEN = register(
    "oauth.consent_given",
    "A person allowed a client to act on their behalf.",
    principal=TEXT,
    client=TEXT,
    scopes=_TEXTS,
)
OAUTH_REFRESH_REUSED = register(
    "oauth.refresh_reused",
    "A refresh token was used twice, so that all tokens of its login were revoked.",
    principal=TEXT,
    client=TEXT,
)
OAUTH_CLIENT_DENIED = register(
    "oauth.client_denied", "A client was refused at the token endpoint.", client=TEXT, reason=TEXT
)
FEDERATION_EXCHANGED = register(
    "federation.exchanged",
    "A workload exchanged a token of a trusted issuer.",
    principal=TEXT,
    issuer=TEXT,
    rule=TEXT,
)
FEDERATION_REFUSED = register(
    "federation.refused", "A token of another issuer was refused.", issuer=TEXT, reason=TEXT
)
# At most one per minute, principal and action.
ACCESS_DENIED = register(
    "access.denied", "A principal lacked the permission for an action.", principal=TEXT, action=TEXT
)
ACCESS_STEP_UP = register(
    "access.step_up", "A person logged in again to perform a sensitive action.", principal=TEXT, provider=TEXT
)
BREAK_GLASS_OPENED = register(
    "access.break_glass_opened",
    "Emergency access as administrator was opened for a limited time.",
    principal=TEXT,
    reason=TEXT,
    ends_at=TEXT,
)
BREAK_GLASS_CLOSED = register(
    "access.break_glass_closed",
    "Emergency access was ended before its time.",
    principal=TEXT,
    opened_at=TEXT,
)
# The principal's kind of event, since it is a principal that changes.
USER_PROVISIONED = register(
    "principal.provisioned",
    "The identity provider created, changed or removed a user by SCIM.",
    principal=TEXT,
    is_active={"type": "boolean"},
)
