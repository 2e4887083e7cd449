"""Requests of resources that end in several states. The demo's agents answer them: see `provisioning`."""

from __future__ import annotations

from typing import Any

from controlplane.demo.cast import PLATFORM, Cast
from controlplane.demo.provisioning import FAILS, NEVER_READY

# Id, service type, agent, project, spec.
_REQUESTS: tuple[tuple[str, str, str, str, dict[str, Any]], ...] = (
    ("basket-cache", "container", "prod-eu-3", "storefront", {"image": "valkey:9", "replicas": 2}),
    ("search-index", "vm", "prod-eu-3", "storefront", {"vcpu": {"count": 8}, "memory": {"size": "32GB"}}),
    ("risk-features", "cluster", "prod-us-2", "fraud-detection", {"nodes": 3}),
    (FAILS, "cluster", "prod-us-2", "fraud-detection", {"nodes": 60}),
    (NEVER_READY, "container", "staging-1", "forecasting", {"image": "notebook:7"}),
    ("old-report", "container", "staging-1", "forecasting", {"image": "report:2"}),
    ("tpu-trial", "tpu", "", "forecasting", {"cores": 8}),
)


def tell(cast: Cast) -> None:
    for name, service_type, agent, project, spec in _REQUESTS:
        body = {
            "service_type": service_type,
            "spec": spec,
            "project": project,
            "domain": "production",
            "labels": {"app": name},
            "placement": {"agent": agent} if agent else {},
        }
        cast.act(PLATFORM, "POST", f"resources?id={name}", body)
    cast.act(PLATFORM, "DELETE", "resources/old-report?change_message=Replaced+by+a+dashboard")
