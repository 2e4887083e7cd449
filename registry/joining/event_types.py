"""Events of join tokens."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("join_token", Action.ACCESS_READ)

_JOIN_TOKEN: dict[str, Any] = {"join_token_id": TEXT, "name": TEXT}
JOIN_TOKEN_CREATED = register("join_token.created", "A join token was created.", **_JOIN_TOKEN)
JOIN_TOKEN_REFUSED = register(
    "join_token.refused", "A join with a known join token was refused.", **_JOIN_TOKEN, reason=TEXT
)
JOIN_TOKEN_REVOKED = register("join_token.revoked", "A join token was revoked.", **_JOIN_TOKEN)
