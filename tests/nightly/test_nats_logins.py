"""How soon NATS admits an approved agent, and disconnects a revoked one; `-s` prints it."""

from __future__ import annotations

import asyncio
import time

import pytest

from registry import lifecycle
from registry.dispatch.nats_logins.issue import revoke_login
from tests.integration.registry.dispatch.nats_logins.desk import (
    ACTOR,
    ANSWERS,
    REQUESTS,
    admitted_in_the_end,
    connected,
    in_thread,
    make_agent,
    password_of,
    running_desk,
)

ROUNDS = 20
# The promise of docs: without a restart of NATS.
MOST_SECONDS = 5.0


@pytest.mark.django_db(transaction=True)
def test_approvals_and_revocations_reach_nats_within_five_seconds() -> None:
    with running_desk() as desk:
        for stream in (REQUESTS, ANSWERS):
            desk.ensure_stream(stream)
        waits = [_approve_and_revoke(number) for number in range(ROUNDS)]
    approvals, revocations = zip(*waits, strict=True)
    print(
        f"\nseconds until connected {max(approvals):.2f}, until disconnected {max(revocations):.2f} (at most)"
    )
    assert max(approvals) < MOST_SECONDS
    assert max(revocations) < MOST_SECONDS


def _approve_and_revoke(number: int) -> tuple[float, float]:
    agent = make_agent(f"agent-{number}", state="registered")
    password = password_of(agent)
    approved_at = time.monotonic()
    lifecycle.approve(agent.id, actor=ACTOR)

    async def work() -> tuple[float, float]:
        await admitted_in_the_end(agent, password)
        admitted_at = time.monotonic()
        async with connected(agent, password) as mine:
            revoked_at = time.monotonic()
            await in_thread(revoke_login)(agent, actor=ACTOR)
            await asyncio.wait_for(mine.ended.wait(), 4 * MOST_SECONDS)
        return admitted_at - approved_at, time.monotonic() - revoked_at

    return asyncio.run(work())
