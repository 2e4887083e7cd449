"""Examples of pools for the API reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-24T09:30:00Z"
_LATER = "2026-11-24T09:35:00Z"
_ID = "019a9f5e-7c00-7000-8000-000000000031"
_GLOBAL = {"level": "global", "project": "", "domain": "", "workflow": "", "launch_plan": ""}
_PROJECT = {"level": "project", "project": "flytesnacks", "domain": "", "workflow": "", "launch_plan": ""}
_PLACE = {**_PROJECT, "level": "project_domain", "domain": "development"}
_WRITE = {"capacity": 20, "title": "Connections to Snowflake", "unit": "connection"}
_POOL: dict[str, Any] = {
    "name": "snowflake",
    "kind": "pool",
    "title": "Connections to Snowflake",
    "unit": "connection",
    "team": None,
    "labels": {},
    "capacity": 20,
    "used": 12,
    "waiting": 0,
    "over_capacity": False,
    "exhausted_since": None,
    "max_units_per_lease": 1_000_000,
    "lease_seconds": 300,
    "max_hold_seconds": 86_400,
    "grant_mode": "fair",
    "fair_level": "project",
    "queue_limit": 10_000,
    "is_open": True,
    "version": 1,
    "created_at": _WHEN,
}
_LEASE = {
    "id": _ID,
    "pool": "snowflake",
    "token": "nightly-report",
    "scope": _PLACE,
    "units": 1,
    "state": "granted",
    "epoch": 4711,
    "priority": 0,
    "holder": "reporting",
    "door": "rest",
    "lease_seconds": 300,
    "attributes": {"job": "nightly-report"},
    "requested_at": _WHEN,
    "granted_at": _WHEN,
    "expires_at": _LATER,
    "ended_at": None,
}
_OBSTACLE = {"scope": _GLOBAL, "reason": "capacity", "cap": 20, "used": 20}
_RESULT = {**_LEASE, "position": None, "estimate_seconds": None, "limited_by": []}
_WAITING = {
    **_RESULT,
    "state": "waiting",
    "epoch": 0,
    "granted_at": None,
    "position": 3,
    "estimate_seconds": 40,
    "limited_by": [_OBSTACLE],
}
_LIMIT_WRITE = {"cap": 10, "guaranteed": 2, "weight": 300}
_LIMIT = {
    "scope": _PROJECT,
    **_LIMIT_WRITE,
    "override_cap": None,
    "used": 4,
    "waiting": 0,
    "is_exceeded": False,
}
_USAGE = {"scope": _PROJECT, "used": 4, "waiting": 0}
_SCOPE = {"project": "flytesnacks", "domain": "development"}


def _response(name: str, value: Any, *statuses: str) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(statuses) or None)


def _request(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


WRITE = _request("Twenty connections", _WRITE)
POOL = _response("A pool", _POOL)
CREATED = _response("A new pool", {**_POOL, "used": 0}, "201")
POOLS = _response("A page", {"items": [_POOL], "next_cursor": None})
LIMIT_WRITE = _request("At most half of it", _LIMIT_WRITE)
LIMIT = _response("A limit", _LIMIT)
LIMITS = _response("A page", {"items": [_LIMIT], "next_cursor": None})
USAGE = _response("A page", {"items": [_USAGE], "next_cursor": None})
EXPLAIN = _request("Two units", {"scope": _SCOPE, "units": 2})
EXPLANATION = _response(
    "A full pool",
    {
        "would_be_granted": False,
        "obstacles": [_OBSTACLE],
        "ladder": [
            {
                "scope": _GLOBAL,
                "cap": None,
                "guaranteed": 0,
                "weight": 100,
                "used": 20,
                "waiting": 1,
                "leaves_room": True,
            }
        ],
        "holders": [_USAGE],
        "namespace_quotas": [{"name": "projectQuotaCpu", "value": "1000", "scope": _PROJECT}],
    },
)
ACQUIRE = _request("Wait for half a minute", {"token": "nightly-report", "scope": _SCOPE, "wait_seconds": 30})
GRANTED = _response("A new lease", _RESULT, "201")
HELD = _response("The lease that the token has", _RESULT, "200")
QUEUED = _response("A place in the queue", _WAITING, "202")
LEASE = _response("A lease", _RESULT)
LEASES = _response("A page", {"items": [_LEASE], "next_cursor": None})
RENEW = _request("Another five minutes", {"epoch": 4711})
RELEASE = _request("By token", {"token": "nightly-report", "scope": _SCOPE})
REVOKED = _response("A revoked lease", {**_LEASE, "state": "revoked", "ended_at": _LATER})
BATCH = _request(
    "One of each",
    {
        "operations": [
            {"acquire": {"token": "nightly-report", "scope": _SCOPE}},
            {"renew": {"lease": _ID, "epoch": 4711}},
            {"release": {"lease": _ID}},
        ]
    },
)
BATCH_RESULTS = _response(
    "Each by itself",
    {
        "results": [
            {"status": 201, "code": None, "detail": None, "lease": _LEASE, "limits": []},
            {
                "status": 409,
                "code": "lease_lost",
                "detail": "The lease ended, or was granted again.",
                "lease": None,
                "limits": [],
            },
            {"status": 204, "code": None, "detail": None, "lease": None, "limits": []},
        ]
    },
)
