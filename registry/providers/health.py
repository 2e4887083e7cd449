"""Health of a service provider: three states, thresholds both ways, and until when its lease holds. Pure.

The agent probes; we count what it says. A provider that answers badly is unhealthy at once. One that does
not answer is unavailable after some failures in a row, and ready again only after some good answers in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Health(StrEnum):
    """As the agent says it of one probe, and as we judge the provider."""

    READY = "ready"
    UNHEALTHY = "unhealthy"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """How many probes in a row must fail until a provider is unavailable, or be good until it is ready."""

    failures: int
    recoveries: int


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """The state, and how many probes in a row speak against it."""

    state: Health
    failures: int = 0
    recoveries: int = 0

    @property
    def pending(self) -> bool:
        """True while the next probe may change the state although it says the same again."""
        doubted = self.failures > 0 and self.state is not Health.UNAVAILABLE
        return doubted or (self.recoveries > 0 and self.state is not Health.READY)


def unknown(policy: HealthPolicy) -> HealthRecord:
    """Of a provider that was never probed, or lies elsewhere now: one good answer makes it ready."""
    return HealthRecord(Health.UNHEALTHY, recoveries=policy.recoveries - 1)


def after_probes(
    record: HealthRecord, said: Health, *, probes: int = 1, policy: HealthPolicy
) -> HealthRecord:
    """The record once `probes` probes in a row have said so."""
    if said is Health.READY:
        return _answered_well(record, probes, policy)
    if said is Health.UNAVAILABLE:
        return _answered_not(record, probes, policy)
    return HealthRecord(Health.UNHEALTHY)


def _answered_well(record: HealthRecord, probes: int, policy: HealthPolicy) -> HealthRecord:
    good = max(record.recoveries + 1, probes)
    if record.state is Health.READY or good >= policy.recoveries:
        return HealthRecord(Health.READY)
    return HealthRecord(record.state, recoveries=good)


def _answered_not(record: HealthRecord, probes: int, policy: HealthPolicy) -> HealthRecord:
    failed = max(record.failures + 1, probes)
    if record.state is Health.UNAVAILABLE or failed >= policy.failures:
        return HealthRecord(Health.UNAVAILABLE)
    return HealthRecord(record.state, failures=failed)


def lease_end(expires_at: datetime, vouched_at: datetime | None, *, lease: timedelta) -> datetime:
    """Until when a provider has its service type.

    expires_at: by its own registration. vouched_at: when the agent last named it in a report.
    """
    return expires_at if vouched_at is None else max(expires_at, vouched_at + lease)
