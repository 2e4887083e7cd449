"""Events of join tokens."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("join_token", Action.ACCESS_READ)

_JOIN_TOKEN: dict[str, Any] = {"join_token_id": TEXT, "name": TEXT}
JOIN_TOKEN_MADE = register("join_token.created", "A join token was made.", **_JOIN_TOKEN)
JOIN_TOKEN_REFUSED = register(
    "join_token.refused", "Somebody who knows a join token was not let in.", **_JOIN_TOKEN, reason=TEXT
)
JOIN_TOKEN_REVOKED = register("join_token.revoked", "A join token lets nobody in any more.", **_JOIN_TOKEN)
