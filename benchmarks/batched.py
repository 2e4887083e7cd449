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
    from registry.api.heartbeats.fast_connection import RenewingConnection  # Django must be set up

    opened = [await RenewingConnection.open() for _ in range(CONNECTIONS)]
    began = time.perf_counter()
    done = await asyncio.gather(*(_renew(connection, fleet, began + seconds) for connection in opened))
    elapsed = time.perf_counter() - began
    for connection in opened:
        await connection.close()
    return sum(done) / elapsed


async def _renew(connection: object, fleet: Sequence[Beating], until: float) -> int:
    from registry.api.heartbeats.fast_connection import Beat, RenewingConnection

    assert isinstance(connection, RenewingConnection)
    renewed = 0
    while time.perf_counter() < until:
        some = sorted(random.sample(range(len(fleet)), SIZE), key=lambda n: fleet[n].agent.bytes)
        beats = [Beat(fleet[n].agent.bytes, fleet[n].digest, 0, 0, None) for n in some]
        renewal = await connection.renew(beats, lease=86_400_000_000, shortest=90_000_000, congestion_lag=100)
        renewed += len(renewal.leases)
    return renewed
