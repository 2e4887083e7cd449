"""The facts that access announces. Never a secret among them."""

from typing import Any

from controlplane.access.roles import Action
from controlplane.events.audiences import declare_audience
from controlplane.events.types import register

_TEXT: dict[str, Any] = {"type": "string"}

declare_audience("principal", Action.ACCESS_READ)
declare_audience("session", Action.ACCESS_READ)
declare_audience("token", Action.ACCESS_READ)
declare_audience("role", Action.ACCESS_READ)

PRINCIPAL_CREATED = register(
    "principal.created",
    "Somebody or something can be given roles now.",
    principal=_TEXT,
    kind=_TEXT,
)
PRINCIPAL_CHANGED = register(
    "principal.changed",
    "A principal was switched on or off.",
    principal=_TEXT,
    is_active={"type": "boolean"},
)
TOKEN_CREATED = register("token.created", "A token was made.", principal=_TEXT, token_id=_TEXT)
TOKEN_REVOKED = register("token.revoked", "A token stopped working.", principal=_TEXT, token_id=_TEXT)
PASSWORD_CHANGED = register("principal.password_changed", "A person has a new password.", principal=_TEXT)
SESSION_ENDED = register(
    "session.ended",
    "A session of the console was ended before its time.",
    principal=_TEXT,
    session_id=_TEXT,
)
ROLE_BOUND = register(
    "role.bound", "A principal got a role at a scope.", principal=_TEXT, role=_TEXT, scope=_TEXT
)
ROLE_UNBOUND = register(
    "role.unbound", "A principal lost a role at a scope.", principal=_TEXT, role=_TEXT, scope=_TEXT
)
