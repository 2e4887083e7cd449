"""Health of a service provider: three states with thresholds, and the end of its lease. Pure.

The agent probes its providers and reports the results. A provider that reports an error is unhealthy at once.
One that does not respond is unavailable after several failures in a row, and ready after several successes in
a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Health(StrEnum):
    """Result of one probe, and state of a provider."""

    READY = "ready"
    UNHEALTHY = "unhealthy"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """Failures in a row that make a provider unavailable, and successes in a row that make it ready."""

    failures: int
    recoveries: int


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """The state, and the number of consecutive probes that contradict it."""

    state: Health
    failures: int = 0
    recoveries: int = 0

    @property
    def pending(self) -> bool:
        """Whether another probe with the same result can change the state."""
        failing = self.failures > 0 and self.state is not Health.UNAVAILABLE
        return failing or (self.recoveries > 0 and self.state is not Health.READY)


def unknown(policy: HealthPolicy) -> HealthRecord:
    """Return the record of a provider that was never probed at its endpoint: one success makes it ready."""
    return HealthRecord(Health.UNHEALTHY, recoveries=policy.recoveries - 1)


def after_probes(
    record: HealthRecord, result: Health, *, probes: int = 1, policy: HealthPolicy
) -> HealthRecord:
    """Return the record after `probes` consecutive probes with this result."""
    if result is Health.READY:
        return _after_success(record, probes, policy)
    if result is Health.UNAVAILABLE:
        return _after_failure(record, probes, policy)
    return HealthRecord(Health.UNHEALTHY)


def _after_success(record: HealthRecord, probes: int, policy: HealthPolicy) -> HealthRecord:
    successes = max(record.recoveries + 1, probes)
    if record.state is Health.READY or successes >= policy.recoveries:
        return HealthRecord(Health.READY)
    return HealthRecord(record.state, recoveries=successes)


def _after_failure(record: HealthRecord, probes: int, policy: HealthPolicy) -> HealthRecord:
    failures = max(record.failures + 1, probes)
    if record.state is Health.UNAVAILABLE or failures >= policy.failures:
        return HealthRecord(Health.UNAVAILABLE)
    return HealthRecord(record.state, failures=failures)


def lease_end(expires_at: datetime, vouched_at: datetime | None, *, lease: timedelta) -> datetime:
    """Return the time until which a provider holds its service type.

    expires_at: from its own registration. vouched_at: time of the last report that names the provider.
    """
    return expires_at if vouched_at is None else max(expires_at, vouched_at + lease)
