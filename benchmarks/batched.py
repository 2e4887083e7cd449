"""What the batched statement does without HTTP: our own connections, driven from this process."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence

from benchmarks.fleet import Beating

SIZE = 100
CONNECTIONS = 2


def rate(fleet: Sequence[Beating], seconds: float) -> float:
    """Leases renewed a second, in batches of 100."""
    return asyncio.run(_rate(fleet, seconds))


async def _rate(fleet: Sequence[Beating], seconds: float) -> float:
    from registry.api.heartbeats.fast_connection import LeaseConnection  # Django must be set up

    opened = [await LeaseConnection.open() for _ in range(CONNECTIONS)]
    began = time.perf_counter()
    done = await asyncio.gather(*(_renew(connection, fleet, began + seconds) for connection in opened))
    elapsed = time.perf_counter() - began
    for connection in opened:
        await connection.close()
    return sum(done) / elapsed


async def _renew(connection: object, fleet: Sequence[Beating], until: float) -> int:
    from registry.agents.policies import scaled_policy
    from registry.agents.states import State
    from registry.api.heartbeats.fast_connection import BinaryHeartbeat, LeaseConnection

    assert isinstance(connection, LeaseConnection)
    policy, renewed = scaled_policy(0), 0
    while time.perf_counter() < until:
        some = sorted(random.sample(range(len(fleet)), SIZE), key=lambda n: fleet[n].agent.bytes)
        heartbeats = [BinaryHeartbeat(fleet[n].agent.bytes, fleet[n].digest, State.READY, 0, 0) for n in some]
        result = await connection.renew(heartbeats, policy)
        renewed += len(result.leases)
    return renewed
