"""Fleet guards that are engaged, as the state of the installation shows them."""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.installation.facts import EngagedGuard
from registry.environments.models import Environment


def engaged_guards() -> Iterator[EngagedGuard]:
    """Yield the guards that hold agents back now."""
    for row in Environment.objects.exclude(guard_engaged_at=None).order_by("name"):
        assert row.guard_engaged_at is not None
        yield EngagedGuard(
            environment=row.name,
            engaged_at=row.guard_engaged_at,
            silent=row.guard_due_count,
            agents=row.guard_agent_count,
            reason=row.guard_reason,
        )
