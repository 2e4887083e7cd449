"""Grants of a tenant are confined to its organisation's projects and teams."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from controlplane.identity.grants import Grant, TeamRef, decide
from controlplane.identity.roles import Action, Role
from controlplane.identity.tenancy import Tenancy, confine, organisation_actions
from controlplane.scopes import Scope

OURS, THEIRS = TeamRef(UUID(int=1), "ours"), TeamRef(UUID(int=2), "theirs")
TENANCY = Tenancy(UUID(int=9), "acme", frozenset({"p", "q"}), (OURS,))
SCOPES = [Scope(), Scope(domain="d"), Scope(project="p"), Scope(project="foreign"), Scope("d", "foreign")]
_grants = st.lists(
    st.builds(
        Grant,
        st.sampled_from([role.value for role in Role]),
        st.sampled_from(SCOPES),
        st.sampled_from([None, OURS, THEIRS]),
    ),
    max_size=3,
)


@given(_grants, st.sampled_from(list(Action)), st.sampled_from([*SCOPES, Scope("d", "p")]))
def test_confinement_gives_nothing_new_and_reaches_nothing_foreign(grants, action, scope):
    confined = confine(grants, TENANCY)
    for owner in (None, OURS.id, THEIRS.id):
        allowed = decide(confined, action, scope, owner).allowed
        assert not allowed or decide(grants, action, scope, owner).allowed
        foreign = scope.project not in TENANCY.projects
        is_of_everyone = decide((), action, scope).allowed
        assert not (allowed and foreign and owner != OURS.id and not is_of_everyone)
        assert not (allowed and owner == THEIRS.id and foreign and not is_of_everyone)


def test_a_global_role_becomes_one_at_each_project_and_for_each_team():
    confined = confine([Grant(Role.EDITOR)], TENANCY)

    assert decide(confined, Action.OVERRIDE_WRITE, Scope("production", "p")).allowed
    assert not decide(confined, Action.OVERRIDE_WRITE, Scope()).allowed
    assert not decide(confined, Action.OVERRIDE_READ, Scope(project="foreign")).allowed
    assert decide(confined, Action.AGENT_WRITE, Scope(), OURS.id).allowed
    assert not decide(confined, Action.AGENT_READ, Scope(), None).allowed
    assert not decide(confined, Action.AGENT_CONFIG_READ, Scope(), THEIRS.id).allowed


def test_a_role_at_a_domain_keeps_its_domain():
    confined = confine([Grant(Role.EDITOR, Scope(domain="staging"))], TENANCY)

    assert decide(confined, Action.OVERRIDE_WRITE, Scope("staging", "p")).allowed
    assert not decide(confined, Action.OVERRIDE_WRITE, Scope("production", "p")).allowed


def test_only_an_unlimited_role_creates_projects():
    assert organisation_actions([Grant(Role.EDITOR)]) == {Action.PROJECT_WRITE}
    assert organisation_actions([Grant(Role.EDITOR, Scope(project="p"))]) == frozenset()
    assert organisation_actions([Grant(Role.ADMIN, Scope(), OURS)]) == frozenset()
    assert organisation_actions([Grant(Role.VIEWER)]) == frozenset()
