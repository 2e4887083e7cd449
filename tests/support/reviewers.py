"""People with tokens of their own, who request changes and approve them."""

from __future__ import annotations

from controlplane.access import tokens
from controlplane.access.models import Principal, PrincipalKind, RoleBinding, Token
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import Api


def person(name: str, role: str = "admin", scope: Scope = Scope()) -> Api:
    """A person with a role and a token that nobody else created."""
    principal = Principal(name=name, kind=PrincipalKind.PERSON)
    principal.set_unusable_password()
    principal.save(force_insert=True)
    RoleBinding.objects.create(principal=principal, role=Role(role).value, **scope.segments)
    return another_token(name)


def another_token(name: str) -> Api:
    secret = tokens.new_token(tokens.Prefix.PERSONAL)
    Token.objects.create(
        principal=Principal.objects.get(name=name),
        name="test",
        hint=tokens.hint(secret),
        digest=tokens.digest(secret),
    )
    return Api(secret)
