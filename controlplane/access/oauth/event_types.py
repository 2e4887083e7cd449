"""Event types of OAuth clients and keys, beside those of access.login_event_types. None contains a secret."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("oauth_client", Action.ACCESS_READ)
declare_audience("client_secret", Action.ACCESS_READ)
declare_audience("signing_key", Action.ACCESS_READ)

CLIENT_CREATED = register("oauth_client.created", "An OAuth client was created.", client=TEXT)
CLIENT_CHANGED = register("oauth_client.changed", "An OAuth client was changed.", client=TEXT)
CLIENT_DELETED = register("oauth_client.deleted", "An OAuth client was deleted.", client=TEXT)
SECRET_CREATED = register(
    "client_secret.created", "A secret of an OAuth client was created.", client=TEXT, secret_id=TEXT
)
SECRET_REVOKED = register(
    "client_secret.revoked", "A secret of an OAuth client was revoked.", client=TEXT, secret_id=TEXT
)
# days: 30, 7 or 1.
SECRET_EXPIRING = register(
    "client_secret.expiring",
    "A secret of an OAuth client expires soon.",
    client=TEXT,
    secret_id=TEXT,
    days={"type": "integer"},
)
CODE_REUSED = register(
    "oauth.code_reused",
    "A code was used twice, so that all tokens that it gave were revoked.",
    principal=TEXT,
    client=TEXT,
)
TOKENS_REVOKED = register(
    "oauth.tokens_revoked", "All tokens of a login were revoked.", principal=TEXT, client=TEXT
)
SIGNING_KEY_ROTATED = register("signing_key.rotated", "The key that signs JWTs was replaced.", key=TEXT)
