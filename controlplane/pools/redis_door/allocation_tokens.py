"""Allocation tokens of FlytePropeller: `ex:<project>:<domain>:<execution>-<generated task name>`. Pure.

Flyte v1.16.8, flytepropeller/pkg/controller/nodes/task/resourcemanager. No part but the last has a colon.
"""

from __future__ import annotations

from controlplane.errors import InvalidScope
from controlplane.pools.terms import MAX_TOKEN_LENGTH
from controlplane.scopes import Scope

_PREFIX = "redisresourcemanager:"
_PARTS = 4


def pool_of(key: bytes) -> str | None:
    """Return the name of the pool that a key stands for; None for other keys."""
    text = key.decode(errors="replace")
    return text.removeprefix(_PREFIX) if text.startswith(_PREFIX) else None


def token_of(member: bytes) -> str:
    """Return a member of a set as a token. Raises InvalidScope for one that no token can be."""
    token = member.decode(errors="replace")
    if not token.isprintable() or len(token) > MAX_TOKEN_LENGTH or not token:
        raise InvalidScope(f"A token has 1 to {MAX_TOKEN_LENGTH} printable characters.")
    return token


def scope_of(token: str) -> Scope:
    """Return the project and domain of a token; the global scope for tokens of another form.

    Raises InvalidScope.
    """
    parts = token.split(":", _PARTS - 1)
    if len(parts) != _PARTS or parts[0] != "ex" or not (parts[1] and parts[2]):
        return Scope()
    return Scope(domain=parts[2], project=parts[1])
