"""Rights that come from a team are as fresh on the fast path as a principal's own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from controlplane.access import principals, role_bindings
from controlplane.access.models import CustomRole, Principal, RoleBinding
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Team
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.access.teams.teams import create_team, delete_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.integration.overrides.api.effective.fast_path.test_handler import Web
from tests.support.api_client import ACTOR, make_principal, make_project
from tests.support.waiting import until


@pytest.fixture
def web(transactional_db, monkeypatch):
    make_project()
    running = Web(monkeypatch)
    yield running
    running.stop()


@pytest.fixture
def team(web):
    return create_team("ml", actor=ACTOR)


@pytest.fixture
def member(team):
    principal = make_principal(name="ada")
    add_member(team, principal, actor=ACTOR)
    return principal


@pytest.fixture
def secret(member):
    _, secret = principals.create_token(member, name="t", expires_at=None, actor=ACTOR)
    return secret


@pytest.fixture(autouse=True)
def _administrator(web):
    make_principal("admin")


def leave(team, member):
    remove_member(team, member, actor=ACTOR)


def unbind(team, member):
    role_bindings.unbind_role(team.role_bindings.get().id, actor=ACTOR)


def delete(team, member):
    delete_team(team, actor=ACTOR)


def narrow(team, member):
    CustomRole.objects.update(actions=["audit.read"])


def move_to_another_team(team, member):
    other = create_team("ads", actor=ACTOR)
    member.memberships.update(team=other)


@pytest.mark.parametrize("change", [leave, unbind, delete, narrow, move_to_another_team])
def test_a_right_that_a_team_gave_ends_at_once(web, team, member, secret, change):
    reader = CustomRole.objects.create(name="reader", actions=["override.read", "project.read"])
    role_bindings.bind_role(team, reader, Scope(), actor=ACTOR)
    assert web.warm(secret).status == 200

    change(team, member)

    assert web.read(secret).status == 403


def test_a_new_member_may_read_at_once(web, team):
    role_bindings.bind_role(team, Role.VIEWER, Scope(), actor=ACTOR)
    joiner = make_principal(name="joe")
    _, secret = principals.create_token(joiner, name="t", expires_at=None, actor=ACTOR)
    assert web.warm(secret).status == 403

    add_member(Team.objects.get(), Principal.objects.get(name="joe"), actor=ACTOR)

    assert web.read(secret).status == 200


def test_a_role_ends_at_its_time_without_any_change(web, team, member, secret):
    ends = timezone.now() + timedelta(seconds=2)
    role_bindings.bind_role(team, Role.VIEWER, Scope(), actor=ACTOR, terms=BindingTerms(expires_at=ends))
    assert web.warm(secret).status == 200

    until(lambda: web.read(secret).status == 403)

    assert RoleBinding.objects.filter(team=team).exists()
