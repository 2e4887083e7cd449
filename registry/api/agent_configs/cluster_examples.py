"""Examples of registered clusters and of their reports."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_TIMESTAMP = "2026-11-21T09:30:00Z"
_SHA = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def _ask(value: Any) -> OpenApiExample:
    return OpenApiExample("Request", value=value, request_only=True)


def _answer(value: Any, name: str = "Response", **more: Any) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, **more)


_CLUSTER = {
    "name": "eu-prod",
    "principal": "cluster-eu-prod",
    "namespaces": ["acme", "sensors"],
    "version": 1,
    "state": "current",
    "documents": 12,
    "collector": "agent-config-collector-6f7c",
    "collector_version": "0.2.0",
    "checked_at": _TIMESTAMP,
    "loaded_at": _TIMESTAMP,
    "created_at": _TIMESTAMP,
}
CLUSTERS = [_answer({"items": [_CLUSTER], "next_cursor": None}, "Page")]
CLUSTER = [_answer(_CLUSTER, status_codes=["200", "201"])]
CLUSTER_PUT = [
    _ask({"principal": "cluster-eu-prod", "namespaces": ["acme", "sensors"]}),
    *CLUSTER,
]
_PLACE = {"namespace": "acme", "name": "flyteplugins-agentservice-sensors"}
CLUSTER_REPORT = [
    _ask(
        {
            "collector": {
                "id": "01934c1e-7a8e-7c3b-9c1d-2f6f1c0a9b7d",
                "name": "agent-config-collector-6f7c",
                "version": "0.2.0",
                "counts": {"config_maps": 1, "lists": 3},
            },
            "documents": [{**_PLACE, "sha256": _SHA, "size": 640, "created_at": _TIMESTAMP}],
        }
    ),
    _answer(
        {
            "state": "current",
            "missing": [_PLACE],
            "problems": [],
            "pending": None,
            "again_after": None,
            "outcomes_version": _SHA,
            "outcomes": [
                {**_PLACE, "notices": [{"reason": "Accepted", "type": "Normal", "note": "eu-1: accepted."}]}
            ],
        }
    ),
]
