"""Every operation for every kind of credential that must not get in, or must get in less far.

The operations are those of openapi.yaml, and visibility_table.py says how each is asked: a new operation
without a row fails test_visibility.py.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from controlplane.access import principals, role_bindings
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.access.principals import create_token, set_active
from controlplane.access.team_models import Organisation
from controlplane.access.tokens import Prefix, new_token
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.api.access.test_visibility import METHODS, kind_of, problems, send
from tests.api.access.visibility_table import TABLE
from tests.api.access.visibility_world import KINDS, TEAM_A, Reader, World, make_world
from tests.support.api_client import ACTOR, Api, make_principal

# A body without a credential of its own needs none of the caller's.
_JOINS = {"agents_join"}


@pytest.fixture
def world(api: Api) -> World:
    return make_world(api)


def limited_token(principal: Principal, *scopes: str) -> str:
    _, secret = create_token(principal, name="oauth", expires_at=None, actor=ACTOR, scopes=scopes)
    return secret


def dead_tokens() -> dict[str, str]:
    """Tokens of administrators that must open nothing, by why."""
    secrets = {}
    for why in ("expired", "revoked"):
        token, secrets[why] = create_token(make_principal("admin"), name="t", expires_at=None, actor=ACTOR)
        past = Now() - timedelta(minutes=10)
        column = "expires_at" if why == "expired" else "revoked_at"
        Token.objects.filter(id=token.id).update(**{column: past})
    disabled = make_principal("admin")
    _, secrets["disabled"] = create_token(disabled, name="t", expires_at=None, actor=ACTOR)
    set_active(disabled.name, is_active=False, actor=ACTOR)
    return {
        **secrets,
        "of another installation": new_token(Prefix.OAUTH),
        "for refreshing": new_token(Prefix.REFRESH),
        "forged": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
    }


def test_a_dead_token_opens_no_operation(world, settings):
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 1_000_000
    let_in = [
        f"{operation} with a token that is {why}: {answer.status_code}"
        for why, secret in dead_tokens().items()
        for operation, asks in TABLE.items()
        for answer in [send(reader(why, secret), METHODS[operation], asks[0], world.present)]
        if answer.status_code != 401
    ]

    assert let_in == []


def reader(name: str, secret: str, *sees: str) -> Reader:
    return Reader(name, Api(secret), frozenset(KINDS) - set(sees))


def test_a_token_to_read_writes_nothing_though_its_principal_administers(world):
    readonly = reader("read", limited_token(make_principal("admin"), "read"))
    written = [
        f"{operation} {ask.path}: {answer.status_code}"
        for operation, asks in TABLE.items()
        if kind_of(operation) == "writes" and operation not in _JOINS
        for ask in asks
        for answer in [send(readonly, METHODS[operation], ask, world.present)]
        if answer.status_code != 403
    ]

    assert written == []


def test_a_token_for_a_team_or_for_identity_alone_reaches_nothing_else(world):
    administrator = make_principal("admin")
    readers = (
        reader("publish", limited_token(administrator, f"publish:{TEAM_A}"), TEAM_A),
        reader("openid", limited_token(administrator, "openid", "profile")),
    )

    assert leaks(world, readers) == []


def test_an_administrator_of_another_organisation_sees_nothing_of_this_one(world, settings):
    settings.ORGANISATIONS = True
    organisation = Organisation.objects.create(slug="elsewhere")
    stranger = principals.create_principal(
        "stranger", kind=PrincipalKind.SERVICE, actor=ACTOR, organisation=organisation
    )
    role_bindings.bind_role(stranger, Role.ADMIN, Scope(), actor=ACTOR)
    _, secret = create_token(stranger, name="t", expires_at=None, actor=ACTOR)

    leaked = leaks(world, (reader("stranger", secret),))
    # Names of projects are unique in the installation (docs/adr/0050).
    assert [leak for leak in leaked if not leak.startswith("projects_create ")] == []


def leaks(world: World, readers: Any) -> list[str]:
    """What the readers learn, and what they change, of what is not theirs."""
    lines: list[str] = []
    for limited_reader in readers:
        for operation, asks in TABLE.items():
            for ask in asks:
                with connection.cursor() as cursor:
                    # Each request is a transaction of its own outside of tests.
                    cursor.execute("SELECT set_config('app.organisation', '', true)")
                seen = problems(world, limited_reader, METHODS[operation], ask)
                lines += [f"{operation} {ask.path} to {limited_reader.name}: {problem}" for problem in seen]
    return lines
