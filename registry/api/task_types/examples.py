"""OpenAPI examples of task types."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_LISTED = {
    "name": "acme_sensor",
    "versions": ["v1", "v2"],
    "agents": 3,
    "live_agents": 2,
    "teams": ["acme"],
    "data_planes": 4,
}
_SERVED = {
    "agent_id": "019a9f5e-7c00-7000-8000-000000000031",
    "agent": "prod-eu-1",
    "environment": "prod-eu-west-1",
    "version": "v1",
    "health_status": "ready",
    "since": "2026-11-21T09:30:00Z",
}
_PUBLISHED = {
    "data_plane": "eu-1",
    "revision": 7,
    "version": 0,
    "pin": "",
    "mapped": True,
    "team": "acme",
    "document": "api/acme/sensors",
    "generation": 3,
    "agent": "acme-sensor",
    "endpoint": "acme-sensor.acme.svc.cluster.local:8000",
    "insecure": True,
    "since": "2026-11-21T09:30:00Z",
    "conditions": [
        {
            "type": "Reachable",
            "status": "True",
            "reason": "Reachable",
            "message": "",
            "observed_generation": 3,
            "last_transition_at": "2026-11-21T09:30:00Z",
        }
    ],
    "losers": [
        {
            "team": "sensors",
            "document": "api/sensors/agents",
            "reason": "TaskTypeConflict",
            "because": "established",
            "message": "The task type acme_sensor is with api/acme/sensors of acme: it is established there.",
        }
    ],
}
TASK_TYPES = [OpenApiExample("A page", value={"items": [_LISTED], "next_cursor": None}, response_only=True)]
TASK_TYPE = [
    OpenApiExample(
        "A published task type",
        value={
            "name": "acme_sensor",
            "published": [_PUBLISHED],
            "items": [_SERVED],
            "next_cursor": None,
        },
        response_only=True,
    )
]
