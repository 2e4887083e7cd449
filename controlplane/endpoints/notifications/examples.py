"""OpenAPI examples of notifications."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-22T09:30:00Z"
_RULE_ID = "019a9f5e-7c00-7000-8000-000000000081"
_CHANNEL_ID = "019a9f5e-7c00-7000-8000-000000000082"
_RULE_WRITE: dict[str, Any] = {
    "name": "production agents",
    "when": {"types": ["agent.unavailable"], "expression": "data.environment = 'prod'"},
    "to": [_CHANNEL_ID],
    "mode": "digest",
    "severity": "critical",
}
_RULE: dict[str, Any] = {
    "id": _RULE_ID,
    "team": None,
    "digest_seconds": 60,
    "quiet_hours": {},
    "dedupe_key": "",
    "retract": True,
    "escalate_seconds": None,
    "max_per_hour": 60,
    "subject": "",
    "body": "",
    "is_active": True,
    "created_by": "ada",
    "version": 1,
    "created_at": _WHEN,
    **_RULE_WRITE,
}
_CHANNEL_WRITE: dict[str, Any] = {
    "name": "on call",
    "kind": "slack",
    "config": {"conversation": "#on-call"},
    "credentials": {"bot_token": "xoxb-…", "signing_secret": "…"},
}
_CHANNEL: dict[str, Any] = {
    "id": _CHANNEL_ID,
    "name": "on call",
    "kind": "slack",
    "team": None,
    "config": {"conversation": "#on-call"},
    "state": "active",
    "reason": "",
    "created_by": "ada",
    "failures": 0,
    "last_success_at": _WHEN,
    "last_failure_at": None,
    "last_error": "",
    "version": 1,
    "created_at": _WHEN,
}
_ALERT: dict[str, Any] = {
    "id": "019a9f5e-7c00-7000-8000-000000000083",
    "rule_id": _RULE_ID,
    "rule": "production agents",
    "team": None,
    "state": "firing",
    "severity": "critical",
    "title": "agent unavailable: eu-1",
    "text": "An agent's lease expired without a heartbeat.",
    "event_type": "agent.unavailable",
    "event_seq": 4711,
    "object_type": "agent",
    "object_id": "019a9f5e-7c00-7000-8000-000000000011",
    "count": 1,
    "is_sent": True,
    "first_at": _WHEN,
    "last_at": _WHEN,
    "acknowledged_by": "",
    "acknowledged_at": None,
    "resolved_at": None,
}


def _response(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True)


def _accepted(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=["202"])


def _request(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


RULE_WRITE = _request("A digest of silent agents", _RULE_WRITE)
RULE = _response("A rule", _RULE)
RULES = _response("A page", {"items": [_RULE], "next_cursor": None})
RULE_PREVIEW = _response(
    "What it would have done",
    {
        "looked_at": 812,
        "matching": 3,
        "alerts": 3,
        "messages": 1,
        "suppressed": 2,
        "examples": [
            {
                "seq": 4711,
                "type": "agent.unavailable",
                "at": _WHEN,
                "title": "agent unavailable: eu-1",
                "text": "An agent's lease expired without a heartbeat.",
            }
        ],
    },
)
CHANNEL_WRITE = _request("A bot of Slack", _CHANNEL_WRITE)
CHANNEL = _response("A channel", _CHANNEL)
CHANNEL_CREATED = _response("A new channel", {**_CHANNEL, "secret": ""})
CHANNELS = _response("A page", {"items": [_CHANNEL], "next_cursor": None})
CHANNEL_TEST = _response(
    "A receiver that answers",
    {"results": [{"recipient": "", "result": "delivered", "status": 200, "milliseconds": 84, "error": ""}]},
)
ALERT = _response("A firing alert", _ALERT)
ALERTS = _response("A page", {"items": [_ALERT], "next_cursor": None})
ACKNOWLEDGED = _response(
    "An acknowledged alert",
    {**_ALERT, "state": "acknowledged", "acknowledged_by": "ada", "acknowledged_at": _WHEN},
)
NOTE_WRITE = _request(
    "The end of a pipeline", {"channel": _CHANNEL_ID, "subject": "Training is done", "text": "Loss 0.03"}
)
NOTE = _accepted("Queued", {"key": "019a9f5e-7c00-7000-8000-000000000084"})
ALERTMANAGER = _request(
    "An alert",
    {
        "version": "4",
        "alerts": [
            {
                "status": "firing",
                "labels": {"alertname": "DiskFull", "severity": "critical"},
                "annotations": {"summary": "The disk of db-1 is full"},
                "startsAt": _WHEN,
                "endsAt": "",
                "generatorURL": "https://prometheus.example.com/graph",
                "fingerprint": "0123456789abcdef",
            }
        ],
    },
)
ALERTMANAGER_ACCEPTED = _accepted("Accepted", {"accepted": 1, "news": 1})
