"""A promise to a fleet, on real processes: while nobody can be heard, nobody is given up.

The nightly lane of this name has wild clocks, mass silence and an outage of everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from registry.environments.models import Environment
from tests.conftest import QUICK_LIVENESS
from tests.support.api_client import token_for
from tests.support.fleet import Fleet, events_told, in_state, register, swept_for, until
from tests.support.launcher import Web

LEASE = timedelta(seconds=int(QUICK_LIVENESS["LEASE_SECONDS"]))


@pytest.fixture
def web(live, tmp_path) -> Iterator[Web]:
    """A web server that can be killed. Worker and beat are those of the running system."""
    running = Web(live.environment, tmp_path, workers=1)
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.kill()


def test_while_the_web_servers_are_away_longer_than_a_lease_nobody_becomes_unavailable(web):
    """R3; P6: database, worker and beat go on, so the sweep sees nothing but silent agents."""
    token = token_for("agent")
    agents, silent = register(token, 3), set[str]()
    fleet = Fleet(web.port, token, agents, silent)
    fleet.start()
    until(lambda: swept_for(LEASE.total_seconds() + 1) and fleet.answers[200] > 2 * len(agents))

    web.kill()
    until(lambda: in_state("unknown", agents))  # the sweep does run
    silent.update(agents)
    web.start()
    web.wait_until_ready()
    silent.clear()
    until(lambda: in_state("ready", agents))
    until(lambda: not Environment.objects.exclude(guard_engaged_at=None).exists())
    fleet.stopping.set()
    fleet.join(60)

    assert {kind for kind, _ in events_told()} == {"agent.unknown", "agent.ready"}
