"""One team does its worst on real processes, and nothing of its neighbour is refused or held."""

from __future__ import annotations

import pytest

from registry.agent_configs.part_models import AgentConfigPart
from tests.support.api_client import Api, token_for
from tests.support.neighbour_calls import MALICE
from tests.support.neighbours import Installation, play, settle

SECONDS = 4


@pytest.fixture
def installation(live) -> Installation:
    return Installation(live.port, Api(token_for("admin")))


def test_nothing_of_a_neighbour_is_refused_or_held_while_a_team_does_its_worst(installation):
    good, bad = play(installation, SECONDS)

    assert good.refused == []
    assert settle(installation) == []
    assert not AgentConfigPart.objects.filter(team="good").exclude(held=None).exists()
    assert {kind for kind, _ in good.statuses} == {"publish", "read", "beat", "livez"}
    assert {kind for kind, _ in bad.statuses} == {step.__name__ for step in MALICE}
