"""Two neighbours for a minute: the waiting times of the one at most double while the other does its worst."""

from __future__ import annotations

import pytest

from registry.agent_configs.part_models import AgentConfigPart
from tests.support.api_client import Api, token_for
from tests.support.neighbour_calls import MALICE, Records
from tests.support.neighbours import Installation, play, settle

_QUIET_SECONDS, _SECONDS = 30, 60
_KINDS = ("publish", "read", "beat", "livez")


@pytest.fixture
def installation(live) -> Installation:
    return Installation(live.port, Api(token_for("admin")))


def test_the_p99_of_a_neighbour_at_most_doubles_while_a_team_does_its_worst(installation):
    quiet, _ = play(installation, _QUIET_SECONDS, malice=())

    good, bad = play(installation, _SECONDS)

    _print(quiet, good, bad)
    assert good.refused == []
    assert settle(installation) == []
    assert not AgentConfigPart.objects.filter(team="good").exclude(held=None).exists()
    assert {kind for kind, _ in bad.statuses} == {step.__name__ for step in MALICE}
    assert good.p99() <= 2 * quiet.p99()


def _print(quiet: Records, good: Records, bad: Records) -> None:
    print("\ncall      calls  p99 alone  p99 beside")
    for kind in (*_KINDS, ""):
        calls = len(good.seconds[kind]) if kind else sum(map(len, good.seconds.values()))
        print(f"{kind or 'all':9} {calls:5} {quiet.p99(kind):9.3f}s {good.p99(kind):10.3f}s")
    for (kind, status), count in sorted(bad.statuses.items()):
        print(f"the other team: {kind} {status or 'no answer'}: {count}")
