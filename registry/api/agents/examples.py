"""OpenAPI examples of agents."""

from drf_spectacular.utils import OpenApiExample

WHEN = "2026-11-21T09:30:00Z"
REGISTRATION = {
    "name": "prod-eu-1",
    "environment": "prod-eu-west-1",
    "service_types": ["vm", "container"],
    "cost": "medium",
    "topic_name": "dcm.agent.prod-eu-1",
    "resources_available": {
        "total_cpu": 200,
        "total_memory": "1TB",
        "total_storage": "2TB",
        "total_node": 100,
    },
    "labels": {"team": "ml"},
    "capacity": 50,
    "task_types": [{"name": "spark", "version": "v1"}],
}
AGENT = {
    "agent_id": "019a9f5e-7c00-7000-8000-000000000031",
    **REGISTRATION,
    "team": "ml",
    "advertised_service_types": ["vm", "container"],
    "service_type_conditions": [
        {
            "service_type": "vm",
            "status": "ready",
            "provider": "kubevirt",
            "reason": "Reported by the agent: ready.",
            "since": WHEN,
        }
    ],
    "drain_reason": "",
    "drain_until": None,
    "state_reason": "Heartbeats arrive.",
    "state_since": WHEN,
    "health_status": "ready",
    "late": False,
    "last_heartbeat": WHEN,
    "lease_expires_at": "2026-11-21T09:31:30Z",
    "lease_seconds": 90,
    "lease_set_for": "default",
    "consumer_lag": 0,
    "clock_skew_ms": -12,
    "heartbeat_interval": 30,
    "next_heartbeat_in_seconds": 27.4,
    "generation": 1,
    "configuration_etag": "",
    "conditions": [{"type": "ClockSynced", "status": "true"}],
    "versions": {"agent": "1.4.2"},
    "providers": [{"name": "kubevirt", "service_type": "vm", "status": "ready"}],
    "create_time": WHEN,
    "update_time": WHEN,
}
AGENT_READ = OpenApiExample("An agent", value=AGENT, response_only=True, status_codes=["200", "201"])
