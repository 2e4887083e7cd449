"""Laws of roles that are limited to teams: what decides, lists and grants agrees."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.identity.grants import Grant, TeamRef, decide, missing_rights, owners_where, scopes_where
from controlplane.identity.roles import DELEGATED, FOR_EVERYONE, INSTALLATION_WIDE, TEAM_OWNED, Action, Role
from controlplane.scopes import Scope

ML, ADS = TeamRef(UUID(int=1), "ml"), TeamRef(UUID(int=2), "ads")
OWNERS = [None, ML.id, ADS.id]
SCOPES = [Scope(), Scope(domain="d"), Scope(project="p"), Scope("d", "p"), Scope(project="q")]
# Documents have no scope: a role at a project reaches them all.
WITHOUT_SCOPE = {Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH}

_built_in = st.builds(Grant, st.sampled_from(Role), st.sampled_from(SCOPES), st.sampled_from([None, ML, ADS]))
_custom = st.builds(
    Grant,
    st.just("own"),
    st.sampled_from(SCOPES),
    st.sampled_from([None, ML, ADS]),
    st.frozensets(st.sampled_from(Action), max_size=4),
)
grant_lists = st.lists(st.one_of(_built_in, _custom), max_size=4).map(tuple)
actions = st.sampled_from(Action)
scopes = st.sampled_from(SCOPES)
owners = st.sampled_from(OWNERS)


@given(grant_lists, grant_lists, actions, scopes, owners)
def test_more_grants_never_take_anything_away(grants, more, action, scope, owner):
    if decide(grants, action, scope, owner).allowed:
        assert decide(grants + more, action, scope, owner).allowed
        assert decide(more + grants, action, scope, owner).allowed


@given(grant_lists, actions, scopes, owners)
def test_what_is_allowed_on_the_platforms_objects_is_allowed_on_every_teams(grants, action, scope, owner):
    if decide(grants, action, scope, None).allowed:
        assert decide(grants, action, scope, owner).allowed


@given(grant_lists, st.sampled_from(sorted(TEAM_OWNED - WITHOUT_SCOPE)), owners)
def test_lists_by_owner_show_what_single_decisions_allow(grants, action, owner):
    assert owners_where(grants, action).include(owner) == decide(grants, action, Scope(), owner).allowed


@given(grant_lists, st.sampled_from(sorted(frozenset(Action) - FOR_EVERYONE - INSTALLATION_WIDE)), scopes)
def test_lists_by_scope_show_what_single_decisions_allow(grants, action, scope):
    listed = any(above.covers(scope) for above in scopes_where(grants, action))

    assert listed == decide(grants, action, scope).allowed


@given(grant_lists, grant_lists, actions, scopes, owners)
def test_who_lacks_no_right_of_a_grant_may_do_all_that_it_allows(required, held, action, scope, owner):
    if missing_rights(required, held):
        return
    if decide(required, action, scope, owner).allowed:
        assert decide(held, action, scope, owner).allowed
    assert owners_where(required, action).team_ids <= owners_where(held, action).team_ids or (
        owners_where(held, action).everything
    )


@given(grant_lists)
def test_nobody_lacks_a_right_of_ones_own(grants):
    assert missing_rights(grants, grants) == []


@given(grant_lists)
def test_an_administrator_of_everything_lacks_nothing(grants):
    assert missing_rights(grants, [Grant(Role.ADMIN)]) == []


@pytest.mark.parametrize("action", sorted(frozenset(Action) - FOR_EVERYONE))
def test_an_administrator_of_a_team_decides_on_its_objects_alone(action):
    grants = [Grant(Role.ADMIN, Scope(), ML)]

    assert decide(grants, action, Scope(), ML.id).allowed == (action in TEAM_OWNED)
    assert not decide(grants, action, Scope(), ADS.id).allowed
    assert not decide(grants, action, Scope(), None).allowed


@pytest.mark.parametrize("action", sorted(frozenset(Action) - TEAM_OWNED - FOR_EVERYONE))
def test_a_teams_role_lists_no_team_for_objects_that_no_team_owns(action):
    assert not owners_where([Grant(Role.ADMIN, Scope(), ML)], action)


def test_what_a_grant_would_add_is_named_with_its_place():
    missing = missing_rights([Grant(Role.PUBLISHER, Scope(), ADS)], [Grant(Role.ADMIN, Scope(), ML)])

    assert "agent_config.publish at global for team ads" in missing


def test_delegated_administration_is_decided_by_scope_and_team():
    assert DELEGATED <= TEAM_OWNED
    assert not DELEGATED & INSTALLATION_WIDE


def test_a_refusal_names_the_built_in_roles_that_would_do():
    assert "operator" in decide([], Action.AGENT_WRITE, Scope()).reason
    assert "auditor" in decide([], Action.AUDIT_READ, Scope()).reason
    assert "publisher" in decide([], Action.AGENT_CONFIG_PUBLISH, Scope()).reason


def test_a_grant_is_described_with_its_team():
    assert str(Grant(Role.OPERATOR, Scope(), ML)) == "operator at global for team ml"
