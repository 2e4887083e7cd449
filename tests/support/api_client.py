"""A small client of the API for tests: JSON in and out, one token."""

from __future__ import annotations

import itertools
import json
from typing import Any

from django.test import Client

from controlplane.access import principals, role_bindings, tokens
from controlplane.access.models import Principal, PrincipalKind, RoleBinding, Token
from controlplane.identity.actors import system
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.projects import create_project
from tests.support.described_etags import check_described_etag

ACTOR = system("tests")
ADMINISTRATOR = Caller(None, "tests", "service", (Grant(Role.ADMIN, Scope()),))
_number = itertools.count()

# A registration with nothing remarkable in it.
AGENT = {
    "name": "a1",
    "environment": "prod",
    "service_types": ["vm"],
    "cost": "low",
    "topic_name": "dcm.agent.a1",
}


class Api:
    """Requests with a bearer token, in-process, through every middleware."""

    def __init__(self, token: str = "") -> None:
        self.token = token
        self._client = Client(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        content_type = all_headers.pop("Content-Type", "application/json")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        path = path if path.startswith("/") else f"/api/v1/{path}"
        response = self._client.generic(
            method, path, data, content_type=content_type, headers={**self._headers, **all_headers}
        )
        check_described_etag(method, response)
        return response

    def get(self, path: str, **headers: str) -> Any:
        return self("GET", path, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Any:
        return self("PUT", path, body, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self("POST", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Any:
        return self("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self("DELETE", path, **headers)


def make_principal(*roles: str, scope: Scope = Scope(), name: str = "") -> Principal:
    """A principal with these roles at the scope, without audit records and events.

    Almost every test needs one. Creating it as the product does would take a tenth of the suite's time.
    """
    principal = Principal(
        name=name or f"{roles[0] if roles else 'nobody'}-{next(_number)}", kind=PrincipalKind.SERVICE
    )
    principal.set_unusable_password()
    principal.save(force_insert=True)
    RoleBinding.objects.bulk_create(
        [RoleBinding(principal=principal, role=Role(role).value, **scope.segments) for role in roles]
    )
    return principal


def token_for(*roles: str, scope: Scope = Scope()) -> str:
    """The token of a new principal with these roles."""
    secret = tokens.new_token(tokens.Prefix.PERSONAL)
    Token.objects.create(
        principal=make_principal(*roles, scope=scope),
        name="test",
        hint=tokens.hint(secret),
        digest=tokens.digest(secret),
    )
    return secret


def make_project(name: str = "flytesnacks") -> str:
    create_project(name, actor=ACTOR)
    return name


def single_answers(batch: Any) -> Any:
    """The items of a batch of effective values as single questions are answered: with whole sources."""

    def whole(value: Any) -> Any:
        if isinstance(value, list):
            return [whole(below) for below in value]
        if not isinstance(value, dict):
            return value
        return {
            name: batch["sources"][below] if name == "source" else whole(below)
            for name, below in value.items()
        }

    return whole(batch["items"])


def logged_in(name: str, role: Role, scope: Scope = Scope()) -> Client:
    """A browser of a new person with this role."""
    person = principals.create_principal(name, kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, role, scope, actor=ACTOR)
    client = Client()
    client.force_login(person)
    return client
