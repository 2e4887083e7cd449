"""The people and programs of the demo, and the token of each while the story runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from controlplane.access import issue_tokens, principals, role_bindings
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.demo.calls import Caller, Refused
from controlplane.demo.seed import DEMO_ACTOR
from controlplane.errors import NameTaken
from controlplane.identity.roles import Role
from controlplane.scopes import Scope

PLATFORM, COMMERCE, RISK, JOBS = "ana", "ben", "chloe", "demo-jobs"
# What an earlier start has made already: a name that is taken, a version that exists.
_DONE_BEFORE = (409, 412, 428)


@dataclass(frozen=True, slots=True)
class _Part:
    kind: PrincipalKind
    role: Role
    scopes: tuple[Scope, ...] = (Scope(),)
    display_name: str = ""


_PARTS: Mapping[str, _Part] = {
    PLATFORM: _Part(PrincipalKind.PERSON, Role.ADMIN, display_name="Ana Ruiz"),
    COMMERCE: _Part(
        PrincipalKind.PERSON, Role.EDITOR, (Scope(project="storefront"),), display_name="Ben Okafor"
    ),
    RISK: _Part(
        PrincipalKind.PERSON,
        Role.EDITOR,
        (Scope(project="fraud-detection"), Scope(project="forecasting")),
        display_name="Chloe Martin",
    ),
    JOBS: _Part(PrincipalKind.SERVICE, Role.EDITOR),
}


@dataclass(slots=True)
class Cast:
    """Who acts, and what the story needs to know. folder: of the demo's files. receiver: URL of webhooks."""

    url: str
    folder: Path
    receiver: str
    tokens: Mapping[str, str]
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    _callers: dict[str, Caller] = field(default_factory=dict)

    def act(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Make a request as somebody; None if an earlier start has made it. Raises Refused, OSError."""
        caller = self._callers.setdefault(who, Caller(self.url, self.tokens[who]))
        try:
            return caller(method, path, body, **headers)
        except Refused as error:
            if error.status in _DONE_BEFORE:
                return None
            raise


@contextmanager
def cast(url: str, folder: Path, receiver: str) -> Iterator[Cast]:
    """Give each part a token, and revoke it at the end."""
    for name, part in _PARTS.items():
        _establish(name, part)
    try:
        yield Cast(url, folder, receiver, {name: new_token(name) for name in _PARTS})
    finally:
        for name in _PARTS:
            revoke_tokens(name)


def _establish(name: str, part: _Part) -> None:
    try:
        principal = principals.create_principal(name, kind=part.kind, actor=DEMO_ACTOR)
    except NameTaken:
        return
    if part.display_name:
        Principal.objects.filter(id=principal.id).update(display_name=part.display_name)
    for scope in part.scopes:
        role_bindings.bind_role(principal, part.role, scope, actor=DEMO_ACTOR)


def new_token(name: str) -> str:
    """Return a new token of somebody in the demo, and revoke the earlier ones. Raises UnknownPrincipal."""
    principal = principals.get_principal(name)
    revoke_tokens(name)
    _, secret = principals.create_token(principal, name="demo", expires_at=None, actor=DEMO_ACTOR)
    return secret


def revoke_tokens(name: str) -> None:
    for token in Token.objects.filter(principal__name=name, revoked_at=None):
        issue_tokens.revoke_token(token.id, of=None, actor=DEMO_ACTOR)
