"""The fleet registers; one agent is drained, one waits for approval, one left, and one has providers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from controlplane.demo.calls import Caller, Refused
from controlplane.demo.cast import PLATFORM, Cast
from controlplane.demo.roster import DRAINING, PROVISIONING, RETIRED, registrations

_PROVIDERS = (
    ("prod-eu-3", "kubevirt", "vm", "ready"),
    ("prod-us-2", "cluster-api", "cluster", "ready"),
    ("site-5", "libvirt", "vm", "unhealthy"),
)


def tell(cast: Cast, agents: Caller) -> None:
    for body in registrations():
        agents("POST", "agents", body)
    ids = agent_ids(cast)
    # What fetches requests once can be given some.
    for name in PROVISIONING:
        agents("GET", f"agents/{ids[name]}/requests")
    for name, provider, service_type, status in _PROVIDERS:
        _offer(agents, ids[name], provider, service_type, status)
    drain = {"reason": "Kernel update", "until": (cast.now + timedelta(days=2)).isoformat()}
    cast.act(PLATFORM, "POST", f"agents/{ids[DRAINING]}:drain", drain)
    cast.act(PLATFORM, "POST", f"agents/{ids[RETIRED]}:retire")


def agent_ids(cast: Cast) -> dict[str, str]:
    """Return the ids of all agents by name."""
    return {
        agent["name"]: agent["agent_id"] for agent in cast.act(PLATFORM, "GET", "agents?limit=200")["items"]
    }


def _offer(agents: Caller, agent_id: str, name: str, service_type: str, status: str) -> None:
    body: dict[str, Any] = {
        "name": name,
        "endpoint": f"http://{name}.providers.svc:8081",
        "service_type": service_type,
        "schema_version": "v1alpha1",
        "status": status,
    }
    try:
        agents("POST", f"agents/{agent_id}/providers", body)
    except Refused as error:
        # An agent of the user has the provider now.
        if error.status != 409:
            raise
