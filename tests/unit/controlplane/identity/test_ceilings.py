"""A token's scopes only ever take away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.ceilings import allows_for_everyone, cut, is_ceiling, teams_named
from controlplane.identity.grants import Grant, decide, missing_rights
from controlplane.identity.roles import FOR_EVERYONE, Action, Role
from controlplane.scopes import Scope
from tests.unit.controlplane.identity.test_team_roles import (
    ADS,
    ML,
    actions,
    grant_lists,
    owners,
    scopes,
)

TEAMS = {"ml": ML, "ads": ADS}
NAMES = [
    "all",
    "read",
    "overrides",
    "agents",
    "resources",
    "publish:ml",
    "publish:ads",
    "publish:gone",
    "run-input:shop",
    "run-input:no/project",
    "openid",
]
names = st.lists(st.sampled_from(NAMES), max_size=3).map(tuple)


@given(grant_lists, names, actions, scopes, owners)
def test_a_ceiling_adds_nothing(grants, ceiling, action, scope, owner):
    left = cut(grants, ceiling, TEAMS)

    if decide(left, action, scope, owner).allowed:
        assert decide(grants, action, scope, owner).allowed
    assert missing_rights(left, grants) == []


@given(grant_lists, names, names)
def test_a_second_ceiling_adds_nothing_to_the_first(grants, first, second):
    once = cut(grants, first, TEAMS)

    assert missing_rights(cut(once, second, TEAMS), once) == []


@given(grant_lists)
def test_the_scope_all_leaves_everything(grants):
    assert cut(grants, ("openid", "all")) == grants


@given(grant_lists, st.sampled_from([(), ("openid",), ("offline_access", "profile"), ("publish:gone",)]))
def test_without_a_scope_that_allows_anything_nothing_is_left(grants, ceiling):
    assert cut(grants, ceiling, TEAMS) == ()


@pytest.mark.parametrize(
    ("ceiling", "allowed", "denied"),
    [
        ("read", {Action.OVERRIDE_READ, Action.AUDIT_READ}, {Action.OVERRIDE_WRITE, Action.AGENT_HEARTBEAT}),
        ("overrides", {Action.OVERRIDE_FORCE, Action.PROJECT_WRITE}, {Action.AGENT_READ, Action.TYPE_WRITE}),
        ("read", {Action.RESOURCE_READ}, {Action.RESOURCE_WRITE, Action.DISPATCH_OPERATE}),
        (
            "resources",
            {Action.RESOURCE_READ, Action.RESOURCE_WRITE, Action.PROJECT_READ},
            {Action.DISPATCH_OPERATE, Action.AGENT_READ, Action.OVERRIDE_READ, Action.PROJECT_WRITE},
        ),
        ("agents", {Action.AGENT_WRITE, Action.DATA_PLANE_FOLLOW}, {Action.AGENT_CONFIG_PUBLISH}),
    ],
)
def test_each_scope_leaves_its_part_of_an_administrator(ceiling, allowed, denied):
    left = cut([Grant(Role.ADMIN)], [ceiling])

    assert all(decide(left, action, Scope()).allowed for action in allowed)
    assert not any(decide(left, action, Scope()).allowed for action in denied)


def test_publishing_for_a_team_is_limited_to_its_objects():
    left = cut([Grant(Role.PUBLISHER)], ["publish:ml"], TEAMS)

    assert decide(left, Action.AGENT_CONFIG_PUBLISH, Scope(), ML.id).allowed
    assert not decide(left, Action.AGENT_CONFIG_PUBLISH, Scope(), ADS.id).allowed
    assert not decide(left, Action.AGENT_CONFIG_PUBLISH, Scope(), None).allowed
    assert not decide(left, Action.AGENT_WRITE, Scope(), ML.id).allowed
    assert cut([Grant(Role.PUBLISHER, Scope(), ADS)], ["publish:ml"], TEAMS) == ()


@given(actions)
def test_a_token_with_a_ceiling_makes_no_token_without_one(action):
    limited = Caller(None, "ci", "service", (), ("read",))

    assert limited.verdict(action).allowed == (action in FOR_EVERYONE - {Action.SELF_WRITE})
    with pytest.raises(PermissionDenied, match="scope all"):
        limited.require(Action.SELF_WRITE)
    assert Caller(None, "ci", "service", (), ("all",)).verdict(Action.SELF_WRITE).allowed


def test_a_refusal_names_the_scopes_of_the_token():
    limited = Caller(None, "ci", "service", cut([Grant(Role.EDITOR)], ["read"]), ("read", "openid"))

    assert limited.verdict(Action.OVERRIDE_READ).allowed
    assert "read openid" in limited.verdict(Action.OVERRIDE_WRITE).reason


def test_which_scopes_are_ceilings():
    assert [name for name in (*NAMES, "publish:", "email") if not is_ceiling(name)] == [
        "openid",
        "publish:",
        "email",
    ]
    assert teams_named(NAMES) == {"ml", "ads", "gone"}
    assert not allows_for_everyone(Action.SELF_WRITE, ["read", "overrides"])


def test_a_scope_for_inputs_is_of_its_project_and_of_nothing_else():
    everything = [Grant(Role.ADMIN)]
    left = cut(everything, ("run-input:shop",))

    assert decide(left, Action.RUN_INPUT_READ, Scope(project="shop")).allowed
    assert not decide(left, Action.RUN_INPUT_READ, Scope(project="other")).allowed
    assert not decide(left, Action.JOB_READ, Scope(project="shop")).allowed
    assert not decide(cut(everything, ("read",)), Action.RUN_INPUT_READ, Scope(project="shop")).allowed
