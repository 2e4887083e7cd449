"""Overrides by several authors, a guard rail, a freeze to come, and changes that are scheduled or expire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from controlplane.demo.cast import COMMERCE, PLATFORM, RISK, Cast

_FRIDAY = 4
_PROJECTS = {
    "storefront": "Search, basket and checkout of the shop.",
    "fraud-detection": "Scores payments within a second.",
    "forecasting": "Demand of the next eight weeks.",
}


def tell(cast: Cast) -> None:
    for project, description in _PROJECTS.items():
        cast.act(PLATFORM, "POST", "scopes/projects", {"id": project, "description": description})
    _resources_of_the_shop(cast)
    _parallelism_of_the_shop(cast)
    _fraud_detection(cast)
    _rail_and_freeze(cast)
    _scheduled(cast)


def next_friday(now: datetime) -> datetime:
    """Return six in the evening (UTC) of the next Friday that is more than a day away."""
    day = (now + timedelta(days=1)).replace(hour=18, minute=0, second=0, microsecond=0)
    return day + timedelta(days=(_FRIDAY - day.weekday()) % 7)


@dataclass(frozen=True, slots=True)
class _Override:
    """One override, which several people change."""

    cast: Cast
    resource_type: str
    scope: dict[str, str]

    def put(self, who: str, attributes: dict[str, Any], message: str) -> None:
        self._change(who, "PUT", attributes, message)

    def patch(self, who: str, attributes: dict[str, Any], message: str) -> None:
        self._change(who, "PATCH", attributes, message)

    def roll_back(self, who: str, version: int, message: str) -> None:
        query = urlencode({**self.scope, "change_message": message})
        self.cast.act(
            who, "POST", f"overrides/{self.resource_type}:rollback?{query}", {"to_version": version}
        )

    def _change(self, who: str, method: str, attributes: dict[str, Any], message: str) -> None:
        query = urlencode({**self.scope, "change_message": message})
        self.cast.act(who, method, f"overrides/{self.resource_type}?{query}", {"attributes": attributes})


def _resources_of_the_shop(cast: Cast) -> None:
    shop = _Override(cast, "task_resource", {"project": "storefront"})
    base = {"defaults": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "8", "memory": "16Gi"}}
    shop.put(PLATFORM, base, "Baseline of the shop")
    shop.patch(COMMERCE, {"limits": {"memory": "32Gi"}}, "The basket model needs more memory")
    shop.patch(COMMERCE, {"limits": {"cpu": "16"}}, "Load test before the sale")
    shop.patch(PLATFORM, {"limits": {"cpu": "12"}}, "Cost review: 16 cores were never used")
    where = {"project": "storefront", "domain": "production", "workflow": "rank_products"}
    ranking = {"defaults": {"cpu": "4", "memory": "8Gi"}, "limits": {"gpu": "1"}}
    _Override(cast, "task_resource", where).put(COMMERCE, ranking, "Ranking runs on one GPU")


def _parallelism_of_the_shop(cast: Cast) -> None:
    where = {"project": "storefront", "domain": "production"}
    parallelism = _Override(cast, "workflow_execution_config", where)
    parallelism.put(COMMERCE, {"max_parallelism": 40}, "First figure")
    parallelism.patch(COMMERCE, {"max_parallelism": 90}, "For the sale")
    parallelism.roll_back(PLATFORM, 1, "The sale is over")


def _fraud_detection(cast: Cast) -> None:
    where = {"project": "fraud-detection", "domain": "production"}
    tier = _Override(cast, "quality_of_service_specification", where)
    tier.put(RISK, {"tier": "HIGH"}, "Payments wait for it")
    label = _Override(cast, "execution_cluster_label", where)
    label.put(RISK, {"value": "production-us"}, "Near the payments")
    resources = _Override(cast, "task_resource", {"project": "fraud-detection"})
    resources.put(RISK, {"limits": {"cpu": "24", "memory": "64Gi"}}, "New model")
    quota = _Override(cast, "cluster_resource", {"project": "forecasting"})
    values = {"projectQuotaCpu": "400", "projectQuotaMemory": "2Ti"}
    quota.put(PLATFORM, {"attributes": values}, "Budget of the quarter")


def _rail_and_freeze(cast: Cast) -> None:
    rail = {
        "name": "production-cpu-ceiling",
        "scope": {"domain": "production"},
        "resource_type": "task_resource",
        "pointer": "/limits/cpu",
        "rule": {"maximum": "64"},
        "reason": "No node has more than 64 cores. Ask the platform team.",
    }
    cast.act(PLATFORM, "PUT", "guard-rails/production-cpu-ceiling", rail, If_None_Match="*")
    starts_at = next_friday(cast.now) + timedelta(days=7)
    freeze = {
        "scope": {"project": "fraud-detection", "domain": "production"},
        "starts_at": starts_at.isoformat(),
        "ends_at": (starts_at + timedelta(days=3)).isoformat(),
        "reason": "Close of the quarter",
    }
    declared = cast.act(PLATFORM, "GET", "override-freezes")["items"]
    if not any(other["reason"] == freeze["reason"] for other in declared):
        cast.act(PLATFORM, "POST", "override-freezes", freeze)


def _scheduled(cast: Cast) -> None:
    gpus = {
        "scope": {"project": "forecasting", "domain": "development"},
        "resource_type": "task_resource",
        "patch": {"limits": {"gpu": "8"}},
        "until": next_friday(cast.now).isoformat(),
        "message": "8 GPUs until Friday",
    }
    cast.act(RISK, "POST", "override-changes", gpus)
    later = {
        "scope": {"project": "storefront", "domain": "production"},
        "resource_type": "workflow_execution_config",
        "patch": {"max_parallelism": 80},
        "at": (next_friday(cast.now) - timedelta(hours=10)).isoformat(),
        "until": (next_friday(cast.now) + timedelta(days=3)).isoformat(),
        "message": "Weekend sale",
    }
    cast.act(COMMERCE, "POST", "override-changes", later)
