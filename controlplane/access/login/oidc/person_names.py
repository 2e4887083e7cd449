"""Names of principals for identities of a provider. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 63
_ILLEGAL = re.compile(r"[^A-Za-z0-9._@-]+")
_EDGES = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$")
# Setup gives the role admin to the principal `admin`: nobody may take that name at a provider.
_RESERVED = frozenset({"admin", "administrator", "anonymous", "root", "system"})
_MOST_COLLISIONS = 10_000


def name_of(issuer: str, subject: str, claims: Mapping[str, Any], is_free: Callable[[str], bool]) -> str:
    """Return a free name from `preferred_username`, else from the e-mail address, else from the subject."""
    base = next(filter(None, map(_legal, _candidates(claims))), "") or _anonymous_name(issuer, subject)
    if base.lower() not in _RESERVED and is_free(base):
        return base
    for number in range(2, _MOST_COLLISIONS):
        suffix = f"-{number}"
        name = base[: MAX_LENGTH - len(suffix)] + suffix
        if is_free(name):
            return name
    return _anonymous_name(issuer, subject)


def _candidates(claims: Mapping[str, Any]) -> tuple[str, ...]:
    username, email = claims.get("preferred_username"), claims.get("email")
    return (
        username if isinstance(username, str) else "",
        email.partition("@")[0] if isinstance(email, str) else "",
    )


def _legal(text: str) -> str:
    return _EDGES.sub("", _EDGES.sub("", _ILLEGAL.sub("-", text))[:MAX_LENGTH])


def _anonymous_name(issuer: str, subject: str) -> str:
    return "u-" + hashlib.sha256(f"{issuer} {subject}".encode()).hexdigest()[:12]
