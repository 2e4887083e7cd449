"""Event types of access. None contains a secret."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("principal", Action.ACCESS_READ)
declare_audience("session", Action.ACCESS_READ)
declare_audience("token", Action.ACCESS_READ)
declare_audience("role", Action.ACCESS_READ)
declare_audience("team", Action.ACCESS_READ)
declare_audience("membership", Action.ACCESS_READ)
declare_audience("organisation", Action.ACCESS_READ)
declare_audience("login", Action.ACCESS_READ)
declare_audience("identity", Action.ACCESS_READ)
declare_audience("identity_provider", Action.ACCESS_READ)

_TEXTS = {"type": "array", "items": TEXT}

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
ROLE_CREATED = register("role.created", "A custom role was created.", role=TEXT)
ROLE_CHANGED = register("role.changed", "A custom role was changed.", role=TEXT)
ROLE_DELETED = register("role.deleted", "A custom role was deleted.", role=TEXT)
ORGANISATION_CREATED = register("organisation.created", "An organisation was created.", organisation=TEXT)
ROLE_UNBOUND = register(
    "role.unbound", "A principal's role at a scope was removed.", principal=TEXT, role=TEXT, scope=TEXT
)
TEAM_CREATED = register("team.created", "A team was created.", team=TEXT)
TEAM_CHANGED = register("team.changed", "A team was changed.", team=TEXT)
TEAM_DELETED = register("team.deleted", "A team was deleted.", team=TEXT)
MEMBER_ADDED = register(
    "membership.added", "A principal was added to a team.", team=TEXT, principal=TEXT, via=TEXT
)
MEMBER_REMOVED = register(
    "membership.removed", "A principal was removed from a team.", team=TEXT, principal=TEXT, via=TEXT
)
LOGIN_SUCCEEDED = register(
    "login.succeeded",
    "A person logged in to the console. `provider` is empty for a password.",
    principal=TEXT,
    provider=TEXT,
)
LOGIN_FAILED = register(
    "login.failed",
    "A login to the console failed. `name` is empty unless a principal has it.",
    name=TEXT,
    provider=TEXT,
    reason=TEXT,
)
LOGGED_OUT = register("session.logged_out", "A person logged out.", principal=TEXT, provider=TEXT)
ROLE_CLAIMED = register(
    "role.claimed",
    "A login gave a person teams or roles by claims of the identity provider.",
    principal=TEXT,
    provider=TEXT,
    items=_TEXTS,
)
ROLE_UNCLAIMED = register(
    "role.unclaimed",
    "A login removed teams or roles that claims of the identity provider no longer give.",
    principal=TEXT,
    provider=TEXT,
    items=_TEXTS,
)
IDENTITY_LINKED = register(
    "identity.linked",
    "An account at an identity provider was linked to a person.",
    principal=TEXT,
    issuer=TEXT,
)
IDENTITY_UNLINKED = register(
    "identity.unlinked",
    "An account at an identity provider was removed from a person.",
    principal=TEXT,
    issuer=TEXT,
)
PROVIDER_CREATED = register(
    "identity_provider.created", "An identity provider was created.", identity_provider=TEXT
)
PROVIDER_CHANGED = register(
    "identity_provider.changed", "An identity provider was changed.", identity_provider=TEXT
)
PROVIDER_DELETED = register(
    "identity_provider.deleted", "An identity provider was deleted.", identity_provider=TEXT
)
