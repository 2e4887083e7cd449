"""Enrol many agents at once: each gets a principal, the role of an agent and a token of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.auth.hashers import make_password

from controlplane.access import event_types, tokens
from controlplane.access.audit import Deed, Mutation
from controlplane.access.models import Principal, PrincipalKind, RoleBinding, Token
from controlplane.access.principals import shown_binding, shown_principal
from controlplane.database.bulk import copy_rows
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, Scope

_TOKEN_NAME = "agent"  # noqa: S105  (what lists call it)


def _new_secret() -> str:
    return tokens.new_token(tokens.Prefix.AGENT)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """name: of the new principal. actor: who lets it in. secret: told once, and stored as a digest."""

    name: str
    actor: Actor
    id: UUID = field(default_factory=uuid7)
    token_id: UUID = field(default_factory=uuid7)
    binding_id: UUID = field(default_factory=uuid7)
    secret: str = field(default_factory=_new_secret, repr=False)

    @property
    def digest(self) -> bytes:
        return tokens.digest(self.secret)


def enrol(enrolments: Sequence[Enrolment]) -> None:
    """Write principals and tokens. Needs a transaction that goes on with `bind` and records `deeds_of`."""
    copy_rows(
        Principal,
        ("id", "name", "kind", "is_active", "password"),
        ((one.id, one.name, PrincipalKind.AGENT.value, True, make_password(None)) for one in enrolments),
    )
    copy_rows(
        Token,
        ("id", "principal_id", "name", "hint", "digest"),
        (
            (one.token_id, one.id, _TOKEN_NAME, tokens.hint(one.secret), tokens.digest(one.secret))
            for one in enrolments
        ),
    )


def bind(enrolments: Sequence[Enrolment]) -> None:
    """Give the roles. The last statement of its transaction: it takes the one row of the access epoch."""
    copy_rows(
        RoleBinding,
        ("id", "principal_id", "role", *SEGMENTS),
        ((one.binding_id, one.id, Role.AGENT.value, *Scope().path) for one in enrolments),
    )


def deeds_of(one: Enrolment) -> Iterable[Deed]:
    """What the audit log and followers are told of an enrolment."""
    principal = Principal(id=one.id, name=one.name, kind=PrincipalKind.AGENT.value)
    binding = RoleBinding(id=one.binding_id, principal=principal, role=Role.AGENT.value)
    hint = tokens.hint(one.secret)
    yield Deed(
        "principal",
        Mutation(
            event_types.PRINCIPAL_CREATED,
            one.name,
            None,
            shown_principal(principal),
            {"principal": one.name, "kind": principal.kind},
        ),
        one.actor,
    )
    yield Deed(
        "role_binding",
        Mutation(
            event_types.ROLE_BOUND,
            str(one.binding_id),
            None,
            shown_binding(binding),
            {"principal": one.name, "role": binding.role, "scope": str(binding.scope)},
        ),
        one.actor,
    )
    yield Deed(
        "token",
        Mutation(
            event_types.TOKEN_CREATED,
            str(one.token_id),
            None,
            {"principal": one.name, "name": _TOKEN_NAME, "hint": hint},
            {"principal": one.name, "token_id": str(one.token_id)},
        ),
        one.actor,
    )
