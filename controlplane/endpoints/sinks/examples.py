"""OpenAPI examples of sinks."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-22T09:30:00Z"
_ID = "019a9f5e-7c00-7000-8000-000000000061"
_WRITE: dict[str, Any] = {
    "name": "incidents",
    "config": {"url": "https://hooks.example.com/controlplane"},
    "filter": {"types": ["agent.*"], "expression": "data.environment = 'prod'"},
}
_SINK: dict[str, Any] = {
    "id": _ID,
    "name": "incidents",
    "kind": "webhook",
    "team": None,
    "config": {"url": "https://hooks.example.com/controlplane"},
    "filter": {"types": ["agent.*"], "expression": "data.environment = 'prod'"},
    "flavour": "native",
    "ordering": "object",
    "max_in_flight": 8,
    "per_second": 50,
    "state": "active",
    "reason": "",
    "created_by": "ada",
    "cursor_seq": 4711,
    "failures": 0,
    "last_success_at": _WHEN,
    "last_failure_at": None,
    "last_error": "",
    "version": 1,
    "created_at": _WHEN,
}
_DELIVERY: dict[str, Any] = {
    "id": "019a9f5e-7c00-7000-8000-000000000071",
    "sink_id": _ID,
    "event_id": "019a9f5e-7c00-7000-8000-000000000021",
    "seq": 4712,
    "type": "agent.unavailable",
    "key": "agent/eu-1",
    "is_replay": False,
    "state": "dead",
    "reason": "",
    "attempt": 10,
    "created_at": _WHEN,
    "first_tried_at": _WHEN,
    "settled_at": _WHEN,
    "last_status": 500,
    "last_error": "The receiver answered with 500.",
    "response_ms": 31,
}
_ATTEMPT = {
    "number": 1,
    "at": _WHEN,
    "result": "server_error",
    "status": 500,
    "milliseconds": 31,
    "request_headers": {"webhook-id": "019a9f5e-7c00-7000-8000-000000000021", "webhook-signature": "v1,…"},
    "response": "out of memory",
    "error": "The receiver answered with 500.",
}


def _response(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True)


def _request(name: str, value: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


WRITE = _request("A webhook for incidents", _WRITE)
SINK = _response("A sink", _SINK)
CREATED = _response("A new sink", {**_SINK, "secret": "whsec_…"})
SINKS = _response("A page", {"items": [_SINK], "next_cursor": None})
PAUSED = _response("A paused sink", {**_SINK, "state": "paused", "reason": "person", "version": 2})
ROTATE = _request("A day of overlap", {"overlap_hours": 24})
SECRET = _response("A new secret", {"secret": "whsec_…"})
REPLAY = _request("All events after a number", {"after_seq": 4000})
REPLAYED = OpenApiExample(
    "A replay",
    value={"id": 3, "after_seq": 4000, "until_seq": 4711, "created_at": _WHEN},
    response_only=True,
    status_codes=["202"],
)
TEST = _response(
    "A receiver that answers",
    {
        "result": "delivered",
        "status": 204,
        "milliseconds": 18,
        "error": "",
        "tls": "TLSv1.3 TLS_AES_256_GCM_SHA384",
        "headers": {"webhook-signature": "v1,…"},
    },
)
PREVIEW_WRITE = _request("A filter", {"filter": {"types": ["agent.*"]}})
PREVIEW = _response(
    "What passes",
    {
        "looked_at": 1000,
        "matching": 1,
        "events": [{"seq": 4711, "type": "agent.unavailable", "subject": "agent/eu-1", "at": _WHEN}],
    },
)
DELIVERIES = _response("A page", {"items": [_DELIVERY], "next_cursor": None})
DELIVERY = _response("A dead delivery", {**_DELIVERY, "attempts": [_ATTEMPT]})
