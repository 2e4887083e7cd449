"""Event types of access. None contains a secret."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, EventType as EventType, register
from controlplane.identity.roles import Action

declare_audience("principal", Action.ACCESS_READ)
declare_audience("session", Action.ACCESS_READ)
declare_audience("token", Action.ACCESS_READ)
declare_audience("role", Action.ACCESS_READ)
declare_audience("oauth", Action.ACCESS_READ)
declare_audience("oauth_client", Action.ACCESS_READ)
declare_audience("client_secret", Action.ACCESS_READ)
declare_audience("signing_key", Action.ACCESS_READ)

PRINCIPAL_CREATED = register(
    "principal.created",
    "A principal was created.",
    principal=TEXT,
    kind=TEXT,
)
PRINCIPAL_CHANGED = register(
    "principal.changed",
    "A principal was enabled or disabled.",
    principal=TEXT,
    is_active={"type": "boolean"},
)
TOKEN_CREATED = register("token.created", "A token was created.", principal=TEXT, token_id=TEXT)
TOKEN_REVOKED = register("token.revoked", "A token was revoked.", principal=TEXT, token_id=TEXT)
PASSWORD_CHANGED = register("principal.password_changed", "A person's password was changed.", principal=TEXT)
SESSION_ENDED = register(
    "session.ended",
    "A console session was ended before it expired.",
    principal=TEXT,
    session_id=TEXT,
)
ROLE_BOUND = register(
    "role.bound", "A principal was granted a role at a scope.", principal=TEXT, role=TEXT, scope=TEXT
)
ROLE_UNBOUND = register(
    "role.unbound", "A principal's role at a scope was removed.", principal=TEXT, role=TEXT, scope=TEXT
)
OAUTH_CLIENT_CREATED = register("oauth_client.created", "An OAuth client was created.", client=TEXT)
OAUTH_CLIENT_CHANGED = register("oauth_client.changed", "An OAuth client was changed.", client=TEXT)
OAUTH_CLIENT_DELETED = register("oauth_client.deleted", "An OAuth client was deleted.", client=TEXT)
CLIENT_SECRET_CREATED = register(
    "client_secret.created", "A secret of an OAuth client was created.", client=TEXT, secret_id=TEXT
)
CLIENT_SECRET_REVOKED = register(
    "client_secret.revoked", "A secret of an OAuth client was revoked.", client=TEXT, secret_id=TEXT
)
CLIENT_SECRET_EXPIRING = register(
    "client_secret.expiring",
    "A secret of an OAuth client expires soon.",
    client=TEXT,
    secret_id=TEXT,
    days={"type": "integer"},
)
OAUTH_TOKEN_ISSUED = register(
    "oauth.token_issued",
    "An OAuth client got an access token.",
    client=TEXT,
    principal=TEXT,
    grant=TEXT,
    scope=TEXT,
    hint=TEXT,
)
OAUTH_CONSENT_GIVEN = register(
    "oauth.consent_given", "A person allowed an OAuth client to act.", client=TEXT, principal=TEXT, scope=TEXT
)
OAUTH_REFRESH_REUSED = register(
    "oauth.refresh_reused",
    "A refresh token was used twice, so all tokens of the login were revoked.",
    client=TEXT,
    principal=TEXT,
)
OAUTH_CODE_REUSED = register(
    "oauth.code_reused",
    "A code was used twice, so all tokens that it gave were revoked.",
    client=TEXT,
    principal=TEXT,
)
OAUTH_TOKENS_REVOKED = register(
    "oauth.tokens_revoked", "The tokens of a login were revoked.", client=TEXT, principal=TEXT
)
OAUTH_CLIENT_DENIED = register(
    "oauth.client_denied", "An OAuth client failed to authenticate.", client=TEXT, address=TEXT
)
SIGNING_KEY_ROTATED = register(
    "signing_key.rotated", "The key that signs tokens was replaced.", key=TEXT, next_key=TEXT
)
