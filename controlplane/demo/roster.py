"""The demo's fleet: six agents of the seed, 54 that register later, and how each behaves. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VERSION, OLD_VERSION = "1.4.2", "1.1.0"
FLAPPING = "staging-flaky"
DRAINING = "prod-eu-6"
SKEWED = "site-3"
OUTDATED = "site-4"
CONGESTED = "prod-us-5"
SILENT, LATE = "edge-silent", "staging-late"
# Falls silent for good soon after the start, so that there is an alert.
LOST = "dev-6"
RETIRED = "dev-8"
# These fetch requests of resources and answer them.
PROVISIONING = ("prod-eu-3", "prod-us-2", "staging-1")

_SKEW_SECONDS = -185.0
_LAG = 340


@dataclass(frozen=True, slots=True)
class Group:
    """Agents of one environment that differ only by name. names: in order."""

    environment: str
    names: tuple[str, ...]
    service_types: tuple[str, ...]
    cost: str
    region: str
    task_types: tuple[str, ...] = ()


def _numbered(prefix: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"{prefix}-{number}" for number in range(first, last + 1))


GROUPS = (
    Group(
        "production-eu", _numbered("prod-eu", 3, 14), ("container", "vm"), "medium", "eu", ("spark", "ray")
    ),
    Group(
        "production-us",
        _numbered("prod-us", 2, 11),
        ("cluster", "container"),
        "medium-high",
        "us",
        ("spark",),
    ),
    Group("staging", (FLAPPING, *_numbered("staging", 1, 9)), ("container",), "medium-low", "eu", ("ray",)),
    Group("development", _numbered("dev", 1, 8), ("container",), "low", "eu"),
    Group("edge", _numbered("site", 1, 10), ("vm",), "low", "apac"),
    Group("gpu-cluster", _numbered("gpu", 1, 4), ("container",), "high", "us", ("ray", "pytorch")),
)


_SEEDED = ("dev-laptop-1", "prod-eu-1", "prod-eu-2", "prod-us-1", LATE, SILENT)
BEATING = frozenset([*_SEEDED, *(name for group in GROUPS for name in group.names)]) - {SILENT, LOST}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What an agent reports. skew: seconds that its clock is ahead."""

    consumer_lag: int = 0
    skew: float = 0.0
    version: str = VERSION
    conditions: tuple[Mapping[str, str], ...] = field(default=())


_DISK = {
    "type": "DiskPressure",
    "status": "true",
    "reason": "LowSpace",
    "message": "4 GiB of 200 GiB are free.",
}
_BEHAVIOURS = {
    CONGESTED: Behaviour(consumer_lag=_LAG),
    SKEWED: Behaviour(skew=_SKEW_SECONDS),
    OUTDATED: Behaviour(version=OLD_VERSION),
    "gpu-2": Behaviour(conditions=(_DISK,)),
}


def behaviour_of(name: str) -> Behaviour:
    return _BEHAVIOURS.get(name, Behaviour())


def registrations() -> list[dict[str, Any]]:
    """Return the bodies with which the agents register, in order."""
    return [_registration(group, name) for group in GROUPS for name in group.names]


def _registration(group: Group, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "environment": group.environment,
        "service_types": list(group.service_types),
        "cost": group.cost,
        "topic_name": f"dcm.agent.{name}",
        "labels": {"region": group.region},
        "capacity": 20,
        "task_types": [{"name": task_type, "version": "v1"} for task_type in group.task_types],
    }
