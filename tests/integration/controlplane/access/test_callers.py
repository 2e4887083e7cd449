"""What a caller may do: its own roles and those of its teams, while they last, below the token's ceiling."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.access import principals, role_bindings
from controlplane.access.authentication import caller_by_header, caller_for
from controlplane.access.models import CustomRole, Principal
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, make_principal

pytestmark = pytest.mark.django_db
ADS = Scope(project="ads")


@pytest.fixture
def ada():
    make_principal("admin")
    return make_principal(name="ada")


def bind(holder, role, scope=Scope(), **terms):
    return role_bindings.bind_role(holder, role, scope, actor=ACTOR, terms=BindingTerms(**terms))


def grants_of(principal: Principal) -> set[str]:
    return {str(grant) for grant in caller_for(principal).grants}


def test_a_caller_has_its_own_roles_and_those_of_its_teams(ada):
    ml, ops = create_team("ml", actor=ACTOR), create_team("ops", actor=ACTOR)
    bind(ada, Role.VIEWER, ADS)
    bind(ml, Role.EDITOR, owned_by=ml)
    bind(ops, Role.ADMIN)
    add_member(ml, ada, actor=ACTOR)

    assert grants_of(ada) == {"viewer at project=ads", "editor at global for team ml"}

    add_member(ops, ada, actor=ACTOR)
    assert "admin at global" in grants_of(ada)
    remove_member(ops, ada, actor=ACTOR)
    assert "admin at global" not in grants_of(ada)


def test_a_role_that_two_memberships_give_counts_once(ada):
    ml = create_team("ml", actor=ACTOR)
    bind(ml, Role.VIEWER)
    for via in ("manual", "claim", "scim"):
        add_member(ml, ada, actor=ACTOR, via=via)

    assert [str(grant) for grant in caller_for(ada).grants] == ["viewer at global"]


def test_a_role_has_no_effect_after_its_end_and_the_caller_knows_the_first_end(ada):
    now = timezone.now()
    ml = create_team("ml", actor=ACTOR)
    add_member(ml, ada, actor=ACTOR)
    bind(ada, Role.ADMIN, expires_at=now - timedelta(seconds=1))
    bind(ada, Role.VIEWER, expires_at=now + timedelta(hours=2))
    bind(ml, Role.OPERATOR, expires_at=now + timedelta(hours=1))

    caller = caller_for(ada)

    assert {grant.role for grant in caller.grants} == {"viewer", "operator"}
    assert caller.grants_end_at == now + timedelta(hours=1)
    assert caller_for(make_principal("viewer")).grants_end_at is None


def test_an_own_role_allows_its_actions_and_unknown_ones_allow_nothing(ada):
    role = CustomRole.objects.create(name="janitor", actions=["agent.write", "agent.explode"])
    bind(ada, role)

    caller = caller_for(ada)

    assert caller.verdict(Action.AGENT_WRITE).allowed
    assert not caller.verdict(Action.AGENT_READ).allowed
    assert caller.grants[0].actions == {Action.AGENT_WRITE}


def test_a_role_for_a_team_reaches_no_other_teams_objects(ada):
    ml, ads = create_team("ml", actor=ACTOR), create_team("ads", actor=ACTOR)
    bind(ada, Role.OPERATOR, owned_by=ml)

    caller = caller_for(ada)

    assert caller.verdict(Action.AGENT_WRITE, owner=ml.id).allowed
    assert not caller.verdict(Action.AGENT_WRITE, owner=ads.id).allowed
    assert not caller.verdict(Action.AGENT_WRITE).allowed


def test_the_scopes_of_a_token_cut_what_teams_give(ada):
    ml = create_team("ml", actor=ACTOR)
    bind(ml, Role.ADMIN)
    add_member(ml, ada, actor=ACTOR)
    _, secret = principals.create_token(
        ada, name="ci", expires_at=None, actor=ACTOR, scopes=["read", "publish:ml", "publish:gone"]
    )

    caller, _ = caller_by_header(f"Bearer {secret}")

    assert caller.verdict(Action.AUDIT_READ).allowed
    assert not caller.verdict(Action.ACCESS_WRITE).allowed
    assert caller.verdict(Action.AGENT_CONFIG_PUBLISH, owner=ml.id).allowed
    assert not caller.verdict(Action.AGENT_CONFIG_PUBLISH).allowed
    assert not caller.verdict(Action.SELF_WRITE).allowed


def test_the_grants_of_a_caller_are_one_query(ada):
    for slug in ("a", "b", "c"):
        team = create_team(slug, actor=ACTOR)
        add_member(team, ada, actor=ACTOR)
        bind(team, Role.VIEWER, owned_by=team)
        bind(team, CustomRole.objects.create(name=f"own-{slug}", actions=["audit.read"]))

    with CaptureQueriesContext(
        connection,
    ) as queries:
        caller = caller_for(ada)

    assert len(caller.grants) == 6
    assert len(queries) == 1
