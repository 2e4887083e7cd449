"""The facts that access announces. Never a secret among them."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("principal", Action.ACCESS_READ)
declare_audience("session", Action.ACCESS_READ)
declare_audience("token", Action.ACCESS_READ)
declare_audience("role", Action.ACCESS_READ)

PRINCIPAL_CREATED = register(
    "principal.created",
    "Somebody or something can be given roles now.",
    principal=TEXT,
    kind=TEXT,
)
PRINCIPAL_CHANGED = register(
    "principal.changed",
    "A principal was switched on or off.",
    principal=TEXT,
    is_active={"type": "boolean"},
)
TOKEN_CREATED = register("token.created", "A token was made.", principal=TEXT, token_id=TEXT)
TOKEN_REVOKED = register("token.revoked", "A token stopped working.", principal=TEXT, token_id=TEXT)
PASSWORD_CHANGED = register("principal.password_changed", "A person has a new password.", principal=TEXT)
SESSION_ENDED = register(
    "session.ended",
    "A session of the console was ended before its time.",
    principal=TEXT,
    session_id=TEXT,
)
ROLE_BOUND = register(
    "role.bound", "A principal got a role at a scope.", principal=TEXT, role=TEXT, scope=TEXT
)
ROLE_UNBOUND = register(
    "role.unbound", "A principal lost a role at a scope.", principal=TEXT, role=TEXT, scope=TEXT
)
