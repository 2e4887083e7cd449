"""What readers of some teams are told, and which roles publish."""

from __future__ import annotations

from uuid import UUID

import pytest

from controlplane.identity.ceilings import cut
from controlplane.identity.grants import Grant, TeamRef, decide, missing_rights
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope
from registry.agent_configs.claims.redaction import redact_conditions, redact_conflict
from registry.agent_configs.models import DataPlane
from registry.agent_configs.owners import reader_of
from registry.agent_configs.publishing.hidden_teams import HiddenTeams, names_only

TEAM = TeamRef(UUID(int=1), "acme")
OTHER = TeamRef(UUID(int=2), "rival")
PUBLISH = Action.AGENT_CONFIG_PUBLISH


@pytest.mark.parametrize(
    ("grant", "own", "others", "platforms"),
    [
        (Grant(Role.PUBLISHER, team=TEAM), True, False, False),
        (Grant(Role.PUBLISHER), True, True, True),
        (Grant(Role.EDITOR, team=TEAM), True, False, False),
        (Grant(Role.EDITOR), False, False, False),
        (Grant(Role.ADMIN, team=TEAM), True, False, False),
        (Grant(Role.ADMIN, Scope(project="p")), False, False, False),
        (Grant(Role.VIEWER, team=TEAM), False, False, False),
        (Grant("robot", team=TEAM, custom_actions=frozenset({PUBLISH})), True, False, False),
    ],
)
def test_who_publishes_for_whom(grant, own, others, platforms):
    owners = (TEAM.id, OTHER.id, None)
    assert [decide([grant], PUBLISH, Scope(), owner).allowed for owner in owners] == [own, others, platforms]


def test_a_token_to_publish_for_a_team_makes_no_publisher_of_an_editor():
    for editor in (Grant(Role.EDITOR), Grant(Role.EDITOR, team=OTHER)):
        grants = cut([editor], ["publish:acme"], {"acme": TEAM})
        assert not decide(grants, PUBLISH, Scope(), TEAM.id).allowed
    assert missing_rights([Grant(Role.EDITOR, team=TEAM)], [Grant(Role.EDITOR)]) == [
        "agent_config.publish at global for team acme",
        "plugin.release at global for team acme",
        "plugin.write at global for team acme",
    ]


def test_teams_are_hidden_by_name_or_all_but_some():
    some, only = HiddenTeams(frozenset({"rival"})), HiddenTeams(all_but=frozenset({"acme"}))

    assert [team in some for team in ("acme", "rival", "new")] == [False, True, False]
    assert [team in only for team in ("acme", "rival", "new")] == [False, True, True]
    assert (bool(HiddenTeams()), bool(some), bool(only)) == (False, True, True)
    assert bool(HiddenTeams(all_but=frozenset()))


@pytest.mark.parametrize(
    ("teams", "is_own"),
    [(["acme"], True), ([], False), (["*"], False), (["acme*"], False), (["acme", "rival"], False)],
)
def test_a_data_plane_gets_named_teams_alone(teams, is_own):
    assert names_only(teams, HiddenTeams(all_but=frozenset({"acme", "acme*"}))) is is_own
    assert not names_only(["[a-z]cme"], HiddenTeams(frozenset({"rival"})))


def _conflict(message: str = "It belongs to api/rival/doc of rival.", **winner: str) -> dict[str, object]:
    place = {"kind": "task_type", "name": "t", "version": 0, "pin": ""}
    return {**place, "message": message, "winner": {"team": "rival", "message": message, **winner}}


def test_a_stored_message_is_replaced_only_if_it_names_a_hidden_winner():
    hidden = HiddenTeams(all_but=frozenset({"acme"}))

    assert redact_conflict(_conflict(), hidden) == "The task type t belongs to another team's document."
    assert "rival" in redact_conflict(_conflict(), HiddenTeams())
    already = _conflict("It belongs to another organisation's document.") | {
        "winner": {"team": "rival", "message": "It belongs to api/rival/doc of rival."}
    }
    assert redact_conflict(already, hidden) == already["message"]
    conditions = [
        {"type": "Accepted", "message": "It belongs to rival."},
        {"type": "Conflicted", "message": ""},
        {"type": "Programmed", "message": "The active bundle does not include this document."},
    ]
    redacted = redact_conditions(conditions, [_conflict()], hidden)
    assert [row["message"] for row in redacted[1:]] == ["", conditions[2]["message"]]
    assert "rival" not in redacted[0]["message"]
    assert redact_conditions(conditions, [already], hidden) == conditions


def test_a_team_reads_of_its_documents_but_not_in_another_teams_data_plane():
    planes = [None, DataPlane(team_id=None), DataPlane(team_id=TEAM.id), DataPlane(team_id=OTHER.id)]
    assert [reader_of(TEAM.id, plane) for plane in planes] == [TEAM.id, TEAM.id, TEAM.id, None]
    assert reader_of(None, DataPlane(team_id=OTHER.id)) is None
