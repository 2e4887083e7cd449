"""Enrol many agents at once: each gets its own principal, agent role and token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.auth.hashers import make_password

from controlplane.access import event_types, tokens
from controlplane.access.audit import AuditEntry, Mutation
from controlplane.access.models import Principal, PrincipalKind, RoleBinding, Token
from controlplane.access.principals import principal_state
from controlplane.access.role_bindings import binding_state
from controlplane.access.team_models import Team
from controlplane.database.bulk import copy_rows
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, Scope

_TOKEN_NAME = "agent"  # noqa: S105  (a name, not a secret)


def _new_secret() -> str:
    return tokens.new_token(tokens.Prefix.AGENT)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A new principal. actor: who enrols it. secret: returned once, stored as a digest.

    team: its role is limited to the objects of this team; None: to nothing.
    """

    name: str
    actor: Actor
    team: Team | None = None
    id: UUID = field(default_factory=uuid7)
    token_id: UUID = field(default_factory=uuid7)
    binding_id: UUID = field(default_factory=uuid7)
    secret: str = field(default_factory=_new_secret, repr=False)

    @property
    def digest(self) -> bytes:
        return tokens.digest(self.secret)

    @property
    def team_id(self) -> UUID | None:
        return self.team.id if self.team else None


def enrol(enrolments: Sequence[Enrolment]) -> None:
    """Insert principals and tokens. The transaction must also call `bind_roles` and record the entries."""
    copy_rows(
        Principal,
        ("id", "name", "kind", "is_active", "password"),
        (
            (enrolment.id, enrolment.name, PrincipalKind.AGENT.value, True, make_password(None))
            for enrolment in enrolments
        ),
    )
    copy_rows(
        Token,
        ("id", "principal_id", "name", "hint", "digest"),
        (
            (
                enrolment.token_id,
                enrolment.id,
                _TOKEN_NAME,
                tokens.hint(enrolment.secret),
                tokens.digest(enrolment.secret),
            )
            for enrolment in enrolments
        ),
    )


def bind_roles(enrolments: Sequence[Enrolment]) -> None:
    """Insert the role bindings, last in the transaction: the statement locks the row of the access epoch."""
    copy_rows(
        RoleBinding,
        ("id", "principal_id", "role", "owned_by_id", *SEGMENTS),
        (
            (enrolment.binding_id, enrolment.id, Role.AGENT.value, enrolment.team_id, *Scope().path)
            for enrolment in enrolments
        ),
    )


def audit_entries(enrolment: Enrolment) -> Iterable[AuditEntry]:
    """Return the audit entries of an enrolment."""
    principal = Principal(id=enrolment.id, name=enrolment.name, kind=PrincipalKind.AGENT.value)
    binding = RoleBinding(
        id=enrolment.binding_id, principal=principal, role=Role.AGENT.value, owned_by=enrolment.team
    )
    hint = tokens.hint(enrolment.secret)
    yield AuditEntry(
        "principal",
        Mutation(
            event_types.PRINCIPAL_CREATED,
            enrolment.name,
            None,
            principal_state(principal),
            {"principal": enrolment.name, "kind": principal.kind},
            team_id=enrolment.team_id,
        ),
        enrolment.actor,
    )
    yield AuditEntry(
        "role_binding",
        Mutation(
            event_types.ROLE_BOUND,
            str(enrolment.binding_id),
            None,
            binding_state(binding),
            {"principal": enrolment.name, "role": binding.role, "scope": str(binding.scope)},
            team_id=enrolment.team_id,
        ),
        enrolment.actor,
    )
    yield AuditEntry(
        "token",
        Mutation(
            event_types.TOKEN_CREATED,
            str(enrolment.token_id),
            None,
            {"principal": enrolment.name, "name": _TOKEN_NAME, "hint": hint},
            {"principal": enrolment.name, "token_id": str(enrolment.token_id)},
            team_id=enrolment.team_id,
        ),
        enrolment.actor,
    )
