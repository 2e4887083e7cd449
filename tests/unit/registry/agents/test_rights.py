"""Whose agents a caller may act for, and which exist for it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant, TeamRef
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope
from registry.agents.rights import ANY_AGENT, AgentRights, agent_rights

OURS, OTHER = TeamRef(uuid4(), "ours"), TeamRef(uuid4(), "other")
SELF, SOMEBODY = uuid4(), uuid4()


@dataclass(frozen=True)
class Owned:
    team_id: UUID | None
    registered_by: UUID | None


def rights(*grants: Grant) -> AgentRights:
    return agent_rights(Caller(SELF, "me", "service", grants), Action.AGENT_HEARTBEAT)


@pytest.mark.parametrize(
    ("grants", "allowed", "shown"),
    [
        ([], "", ""),
        ([Grant(Role.AGENT)], "own ours, own other, own platform", "every"),
        ([Grant(Role.AGENT, team=OURS)], "own ours", "own ours, ours"),
        ([Grant(Role.EDITOR, team=OURS)], "own ours, ours", "own ours, ours"),
        ([Grant(Role.EDITOR)], "every", "every"),
        ([Grant(Role.VIEWER)], "", "every"),
        ([Grant(Role.VIEWER), Grant(Role.AGENT, team=OTHER)], "own other", "every"),
        ([Grant(Role.EDITOR, Scope(project="p"))], "", ""),
        ([Grant("writer", team=OURS, custom_actions=frozenset({Action.AGENT_WRITE}))], "", ""),
    ],
)
def test_rights_follow_the_grants(grants, allowed, shown):
    agents = {
        f"{whose}{name}": Owned(team, by)
        for name, team in (("ours", OURS.id), ("other", OTHER.id), ("platform", None))
        for whose, by in (("own ", SELF), ("", SOMEBODY))
    }

    def named(text: str) -> set[str]:
        return set(agents) if text == "every" else set(filter(None, text.split(", ")))

    assert {name for name, agent in agents.items() if rights(*grants).allow(agent)} == named(allowed)
    assert {name for name, agent in agents.items() if rights(*grants).show(agent)} == named(shown)


def test_without_a_token_only_agents_of_the_platform_that_registered_without_one():
    anonymous = AgentRights(None)

    assert anonymous.allow(Owned(None, None))
    assert not anonymous.allow(Owned(None, SOMEBODY))
    assert not anonymous.allow(Owned(OURS.id, None))
    assert not anonymous.show(Owned(OURS.id, None))


def test_the_control_plane_acts_for_every_agent():
    assert ANY_AGENT.allow(Owned(OURS.id, SOMEBODY))
    assert ANY_AGENT.allow(Owned(None, None))
